"""Comparisons of countries by each measure of the World Factbook: a list of all figures, sorted, and one for each part of it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from statistics import median

from msgspec import Struct

from research._util.amounts import Amount, amount, written
from research.search.library.country_groups import groups

TITLE = "Country comparison"
"""The subject of all comparisons, before ` · ` and the measure."""
PAGE = 3_600
"""Longest text of a comparison in characters, so that `visit` shows all of it."""
FEWEST = 30
"""Fewest countries with a figure in the same unit."""

_SERIES = re.compile(r"(?P<label>.+?)(?:,? (?P<year>(?:1[5-9]|20)\d\d))?")
_NAMED = "Elevation, "
"""Start of the labels of heights, whose figure follows a name."""
_STARTS = frozenset("0123456789$€£-−")
_HEDGES = ("about ", "approximately ", "less than ", "over ", "up to ")
_HEAD = re.compile(r"[^;()]*(?:\([^()\d][^()]*\))?[^;()]*(?:\([^()]*\d{4}[^()]*\))?")
"""A figure and the year after it, without the remarks that follow."""
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_LIST = re.compile(r",(?!\d)")
_NOT_COMPARED = re.compile(
    r"\bdates?\b|telephone$|\bFAX\b|coordinates|comparative|Exchange rates|mailing address|milestones|prefix|"
    r"administrative divisions|time difference|note|suffrage|term in office|naturalization|service age",
    re.IGNORECASE,
)
_NOT_ADDED = re.compile(
    r"rate\b|ratio|per capita|density|expectancy|\bage\b|index|dependency|percent|growth|elevation|per 100|years|"
    r"claims|fertility|term in office",
    re.IGNORECASE,
)
"""Measures whose figures cannot be added up over countries."""


class Country(Struct, frozen=True):
    """An entity of the Factbook with all its lines, and where it belongs."""

    name: str
    region: str
    territory: bool
    lines: tuple[str, ...]


class Entry(Struct, frozen=True):
    """A country's figure."""

    country: Country
    text: str
    amount: Amount
    year: int


class Comparison(Struct, frozen=True):
    """A document: its measure, the last parts of its address, its title and text, and how much of the text is searched."""

    label: str
    path: tuple[str, ...]
    title: str
    text: str
    searched: int


REGIONS = {
    "africa": "Africa",
    "antarctica": "Antarctica",
    "australia-oceania": "Australia and Oceania",
    "central-america-n-caribbean": "Central America and the Caribbean",
    "central-asia": "Central Asia",
    "east-n-southeast-asia": "East and Southeast Asia",
    "europe": "Europe",
    "middle-east": "Middle East",
    "north-america": "North America",
    "south-america": "South America",
    "south-asia": "South Asia",
}
"""The regions by the names of the package's folders."""
_ASIA = ("Central Asia", "East and Southeast Asia", "Middle East", "South Asia")
"""The regions that Asia consists of."""


def slug(name: str) -> str:
    """Return a name as a part of an address: small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


PLACES = {region: folder for folder, region in REGIONS.items()} | {
    name: slug(name.removeprefix("the ")) for name in ("Asia", *(group.name for group in groups()))
}
"""What has lists of its own, regions and groups of countries, each with the part of the address that means it."""


def address(label: str, *path: str) -> str:
    """Return the address of a measure's comparison; `path` as in `Comparison.path`."""
    return "/".join(("library://factbook/comparison", slug(label), *path))


def comparisons(countries: Sequence[Country]) -> Iterator[Comparison]:
    """Yield the documents of each measure that at least `FEWEST` countries have in one unit."""
    inside: dict[str, set[str]] = {group.name: set(group.names) for group in groups()}
    for country in countries:
        for place in (country.region, *(["Asia"] if country.region in _ASIA else [])):
            inside.setdefault(place, set()).add(country.name)
    states = {country.name for country in countries if not country.territory}
    for label, entries in _measures(countries).items():
        units: dict[str, int] = {}
        for entry in entries:
            units[entry.amount.base] = units.get(entry.amount.base, 0) + 1
        base = max(units, key=units.__getitem__)
        kept = sorted((e for e in entries if e.amount.base == base), key=lambda e: -e.amount.value)
        if len(kept) < FEWEST or len(kept) < 0.6 * len(entries):
            continue
        other = [entry.country.name for entry in entries if entry.amount.base != base]
        yield _world(label, kept, other, len(states))
        for place, names in inside.items():
            entries = [entry for entry in kept if entry.country.name in names]
            if len(entries) > 1:
                yield from _part(label, place, entries, len(states & names))


def _measures(countries: Sequence[Country]) -> dict[str, list[Entry]]:
    """Return the latest figure of each country for each label that enough countries have."""
    stated: dict[str, dict[str, list[tuple[Country, str, str]]]] = {}
    parsed: dict[str, tuple[str, str] | None] = {}
    for country in countries:
        for line in country.lines:
            label, _, value = line.partition(": ")
            if label not in parsed:
                match = None if _NOT_COMPARED.search(label) else _SERIES.fullmatch(label)
                parsed[label] = (match["label"], match["year"] or "") if match else None
            series = parsed[label]
            if series and (starts_with_figure(value) or label.startswith(_NAMED)):
                stated.setdefault(series[0], {}).setdefault(country.name, []).append((country, series[1], value))
    found = {}
    for label, of in stated.items():
        if len(of) >= FEWEST:
            latest = (max(rows, key=lambda row: row[1]) for rows in of.values())
            found[label] = list(filter(None, (_entry(*row, named=label.startswith(_NAMED)) for row in latest)))
    return {label: entries for label, entries in found.items() if len(entries) >= FEWEST}


def starts_with_figure(value: str) -> bool:
    """Return whether a value begins with a figure, or with a word such as `about` before one."""
    return value[:1] in _STARTS or value.startswith(_HEDGES)


def _entry(country: Country, year: str, value: str, *, named: bool) -> Entry | None:
    """Return the figure at the start of a value, or after a height's name; None if there is none."""
    head = None if named else _HEAD.match(value)
    text = head[0].strip() if head else value
    stated = amount(text, last=named)
    if stated is None or len(text) > 90 or _LIST.search(stated.unit) or len(stated.unit) > 40:
        return None
    if named and not stated.unit:
        stated = amount(f"{stated.value} m")
    years = [year] if year else _YEAR.findall(text)
    return Entry(country, text, stated, max(map(int, years), default=0)) if stated else None


def _world(label: str, entries: Sequence[Entry], other: Sequence[str], total: int) -> Comparison:
    head = _head(label, "the world", entries, total)
    if other:
        head.append(f"In another unit, not ranked: {', '.join(other[:12])}{' …' if len(other) > 12 else ''}.")
    head.append(f"All figures of a region: append one of these to this address: {', '.join(f'/{r}' for r in REGIONS)}")
    lines = _lines(entries)
    room, first, last = PAGE - sum(len(line) + 1 for line in head), 0, len(lines)
    while first < last and (room := room - len(lines[first if first <= len(lines) - last else last - 1]) - 1) > 0:
        if first <= len(lines) - last:
            first += 1
        else:
            last -= 1
    gap = [f"Figures between these: {last - first}, in the lists of the regions"] if last > first else []
    text = "\n".join([*head, *lines[:first], *gap, *lines[last:]])
    return Comparison(label, (), label, text, len(head[0]))


def _part(label: str, place: str, entries: Sequence[Entry], total: int) -> Iterator[Comparison]:
    """Yield the pages of the list of a region or a group."""
    head = _head(label, place, entries, total)
    pages: list[list[str]] = [[]]
    room = PAGE - sum(len(line) + 1 for line in head) - 60
    used = 0
    for line in _lines(entries):
        if used + len(line) + 1 > room:
            pages.append([])
            used = 0
        pages[-1].append(line)
        used += len(line) + 1
    for n, lines in enumerate(pages, 1):
        path = (PLACES[place],) if n == 1 else (PLACES[place], str(n))
        more = [f"Page {n} of {len(pages)}; the next: append /{n + 1} to the first page's address"] if pages[n:] else []
        yield Comparison(label, path, f"{label}, {place}", "\n".join([*head, *lines, *more]), 0)


def _head(label: str, place: str, entries: Sequence[Entry], total: int) -> list[str]:
    """Return a description of the list, then the sum, mean and median of its countries."""
    states = [entry for entry in entries if not entry.country.territory]
    years = sorted({entry.year for entry in entries if entry.year})
    of = f", {years[0]} to {years[-1]}" if len(years) > 1 else f", {years[0]}" if years else ""
    without = len(entries) - len(states)
    lines = [
        f"{label} in {place}: {len(states)} of {total} countries have a figure{of}; "
        f"{without} territor{'y' if without == 1 else 'ies'}, listed without a rank"
    ]
    if len(states) < 2:
        return lines
    values = [entry.amount.value for entry in states]
    total_value = sum(values, Decimal(0))
    like = [states[0].amount, states[-1].amount]
    if adds_up(label, like[0]):
        lines.append(f"Sum of {len(states)} countries in {place}: {written(total_value, like)}")
    lines.append(f"Mean of {len(states)} countries in {place}, unweighted: {_rounded(total_value / len(values), like)}")
    lines.append(f"Median of {len(states)} countries in {place}: {_rounded(median(values), like)}")
    return lines


def adds_up(label: str, figure: Amount) -> bool:
    """Return whether figures of a measure can be added up over countries."""
    return not (_NOT_ADDED.search(label) or "%" in figure.unit or "/" in figure.unit.replace("/day", ""))


def _rounded(value: Decimal, like: Sequence[Amount]) -> str:
    """Write a mean with one more decimal than its figures, at most two."""
    power = max(each.power for each in like)
    return written(round(value, (1 if abs(value) < 10_000 else 0) - power if abs(value) >= 10 else 2 - power), like)


def _lines(entries: Sequence[Entry]) -> list[str]:
    """Return one line per figure, highest first; countries have a rank, which equal figures share."""
    states = [entry.amount.value for entry in entries if not entry.country.territory]
    lines = []
    number = rank = 0
    before: Decimal | None = None
    for entry in entries:
        if entry.country.territory:
            lines.append(f"{entry.country.name} (territory): {_dated(entry)}")
            continue
        number += 1
        value = entry.amount.value
        rank, before = (rank if value == before else number), value
        end = ", highest" if rank == 1 else ", lowest" if value == states[-1] else ""
        lines.append(f"{entry.country.name} (rank {rank}{end}): {_dated(entry)}")
    return lines


def _dated(entry: Entry) -> str:
    """Return the figure as in its source, with the year of its label."""
    return entry.text if not entry.year or str(entry.year) in entry.text else f"{entry.text} ({entry.year})"


def country(name: str, folder: str, fields: Mapping[str, Mapping[str, object]], lines: Sequence[str]) -> Country | None:
    """Return an entity as a country to compare; None for the world and for unions.

    Entities that depend on a country or have no capital are territories, such as Antarctica.
    """
    if folder not in REGIONS or name == "European Union":
        return None
    government = fields.get("Government", {})
    territory = "Dependency status" in government or "Capital" not in government
    return Country(name, REGIONS[folder], territory, tuple(lines))
