"""Write what was found over all countries of a place."""

from __future__ import annotations

import re

from research._util import glossary
from research._util.amounts import Amount
from research.models.extractive import chinese
from research.models.extractive.evidence import Fact
from research.models.extractive.rankings import ALL, Bound
from research.models.extractive.verdict import Ranked

TIED = 8
"""Most names of countries with the same figure to list."""
NAMED = 60
"""Most names of countries past a threshold to list."""
_DIVIDED = {"Asia", "Central Asia", "Europe"}
"""Places that readers may expect to have other countries."""
_COUNTRIES = re.compile(r"(?:countries|republics|国家?)$")
"""Matches a place whose name says that it is several countries."""
_DATED = re.compile(r"([(（])(?:([^()（）]*)[,，] ?)?((?:1[5-9]|20)\d\d[^()（）,，]*)([)）])$")
"""The year behind a figure, with the remark before it."""
_WHOLE = re.compile(r": (\d+) of \1 countries")
"""Matches the head of a list in which no country is missing, which nobody needs to be told."""


def over_all(found: Ranked, w: dict[str, str]) -> list[str]:
    """Return the paragraphs of the answer: the countries or the value, then what the figures cover."""
    ranking = found.ranking
    place = _named(ranking.place, w)
    whole = _COUNTRIES.search(place) is not None
    if ranking.within:
        place = w["within" if whole else "both"].format(place=place, within=_named(ranking.within, w))
    if ranking.excluded:
        place = w["apart"].format(
            place=place, names=chinese.listed([_named(name, w) for name in sorted(ranking.excluded)], w)
        )
    which = chinese.superlative(w, found.label, most=ranking.most, rank=ranking.rank)
    label = chinese.measure(w, found.label)
    named = {"label": label, "a_label": chinese.a_measure(w, found.label), "place": place, "which": which}
    named["inside"] = w["among" if whole else "in"].format(place=place)
    named["Inside"] = f"{named['inside'][:1].upper()}{named['inside'][1:]}"
    named["countries"] = place if whole else w["countries"].format(place=place)
    lines = []
    if ranking.kind == "top":
        lines.append(_top(found, named, w))
        if ranking.first > 1 or found.after:
            lines.append(_table(found, named, w))
        if len(found.rows) > ranking.first > 1:
            lines.append(w["last_tied"])
        if found.territories:
            lines.append(w["not_ranked"].format(rows=_territories(found, label, w)))
    elif ranking.kind == "count":
        said = past(ranking.limit, found.label, w) if ranking.limit else ""
        if ranking.stands and ranking.limit:
            own = found.heads[0]
            rank, name = found.count + 1, _named(ranking.limit.name, w)
            lines.append(w["stands"].format(name=name, rank=rank, value=_bold(own.value), n=own.n, **named))
        names = chinese.listed([row.name for row in found.rows[:NAMED]], w) + (" …" if len(found.rows) > NAMED else "")
        if names or not ranking.stands:
            marks = "".join(f" [{n}]" for n in dict.fromkeys(row.fact.n for row in found.rows))
            lines.append(w["passing"].format(count=len(found.rows), limit=said, names=names or "–", n=marks, **named))
        lines += [_table(found, named, w)] if found.rows and not ranking.stands else []
    elif ranking.kind == "members":
        names, n = chinese.listed([row.name for row in found.rows], w), found.rows[0].fact.n
        said = w["all_of_them" if whole else "all_members"]
        lines.append(said.format(count=found.count, names=names, n=n, bare=place.removeprefix("the "), **named))
        lines.append(_table(found, named, w))
    elif ranking.kind == "share":
        part = found.rows[0]
        marks = "] [".join(map(str, dict.fromkeys(fact.n for fact in (part.fact, *(found.heads or found.covered)))))
        lines.append(w["share"].format(name=part.name, value=found.value, own=part.fact.value, n=marks, **named))
    else:
        cited = found.heads or (tuple(row.fact for row in found.rows) or found.covered)
        marks = "] [".join(str(n) for n in dict.fromkeys(fact.n for fact in cited))
        lines.append(w[f"total_{ranking.kind}"].format(value=found.value, n=marks, **named))
        lines += [_table(found, named, w)] if found.rows else []
    if ranking.members or ranking.within:
        if found.without:
            lines.append(w["without"].format(names=chinese.listed([_named(name, w) for name in found.without], w)))
        return lines
    covered = [_covered(each, w) for each in found.covered if not _WHOLE.search(each.line)]
    places = " ".join([f" in {ranking.place}:", *(each.line for each in found.covered)])
    divided = [w["regions"]] if any(f" in {name}:" in places for name in _DIVIDED) else []
    return [*lines, *filter(None, [" ".join([*covered, *divided])])]


def _top(found: Ranked, named: dict[str, str], w: dict[str, str]) -> str:
    rows, first = found.rows, found.rows[0]
    marks = "] [".join(str(n) for n in dict.fromkeys(row.fact.n for row in rows))
    if found.ranking.first > 1:
        said = w["ordered" if found.ranking.first == ALL else "tops"]
        return said.format(names=chinese.listed([f"**{row.name}**" for row in rows], w), n=marks, **named)
    if found.count > 1:
        names = ", ".join(f"**{row.name}**" for row in rows[:TIED]) + (" …" if found.count > len(rows[:TIED]) else "")
        return w["tied"].format(count=found.count, value=first.fact.value, names=names, n=first.fact.n, **named)
    return w["top"].format(name=first.name, value=_bold(first.fact.value), n=first.fact.n, **named)


def _table(found: Ranked, named: dict[str, str], w: dict[str, str]) -> str:
    """Return a table of the countries in order; equal figures have the same rank."""
    rows = (*found.before, *found.rows[:NAMED], *found.after)
    figures = [row.amount.value for row in rows]
    label = named["label"][:1].upper() + named["label"][1:]
    heads = w["ranks" if found.ranking.most else "from_last"].format(**{**named, "label": label})
    # No list states the rank among the countries of several lists.
    some = found.ranking.excluded or found.ranking.within
    one = len(found.covered) == 1 and found.ranking.kind == "top" and not some
    heads = heads if one else f"|{heads.split('|', 2)[2]}"
    lines = [heads, re.sub(r"[^|]+", "---", heads)]
    for row in rows:
        dated = _DATED.search(row.fact.value)
        rest = f"{dated[1]}{dated[2]}{dated[4]}" if dated and dated[2] else ""
        value = f"{row.fact.value[: dated.start()]}{rest}" if dated else row.fact.value
        rank, year = 1 + figures.index(row.amount.value), dated[3] if dated else "–"
        lines.append(f"{f'| {rank} ' if one else ''}| {row.name} | {value.strip()} | {year} [{row.fact.n}] |")
    return "\n".join(lines)


def _territories(found: Ranked, label: str, w: dict[str, str]) -> str:
    """Return a sentence for each territory that would have been among the countries."""
    told = ((row.name, row.fact) for row in found.territories)
    rows = [w["territory"].format(name=name, value=fact.value, n=fact.n, label=label) for name, fact in told]
    return ("" if w["language"] == "zh" else " ").join(rows)


def past(limit: Bound, label: str, w: dict[str, str]) -> str:
    """Return what figures are past: `above 30,000,000`, `below 5.5 % (Spain)`."""
    said = _limit(limit.amount, label, w) if limit.amount else ""
    name = _named(limit.name, w)
    said += (f"（{name}）" if w["language"] == "zh" else f" ({name})") if name else ""
    if limit.upto:
        return w["between"].format(low=said, high=_limit(limit.upto, label, w))
    return w["above" if limit.above else "below"].format(limit=said)


def _limit(limit: Amount, label: str, w: dict[str, str]) -> str:
    """Return a threshold as it is written."""
    value, unit = f"{limit.value:,f}", limit.base if limit.base == "$" else limit.unit
    text = value.rstrip("0").rstrip(".") if "." in value else value
    joined = (
        f"{unit}{text}" if unit in ("$", "€", "£") else f"{text}{'' if unit.startswith('%') else ' '}{unit}".rstrip()
    )
    return chinese.limit(joined, w, label)


def _covered(line: Fact, w: dict[str, str]) -> str:
    """Return how many countries of a region have a figure, and of which years, in the words of the list."""
    translated = glossary.coverage(line.line) if w["language"] == "zh" else ""
    return w["figures"].format(said=translated or line.line.partition(";")[0], n=line.n)


def _named(place: str, w: dict[str, str]) -> str:
    return chinese.subject(place) if w["language"] == "zh" else place


def _bold(value: str) -> str:
    """Set the figure of a value in bold, without the year and remarks after it."""
    figure, rest = re.fullmatch(r"(.*?)((?: \(|（).*)?", value, re.S).groups("")  # type: ignore[union-attr]
    return f"**{figure}**{rest}"
