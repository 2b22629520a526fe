"""Measure how well the citation checker tells true claims from false ones: python -m bench.citations [FILE] [--quiet]

The bench makes claims about the Factbook, half of them corrupted, for a development half and a held-out half with other
wordings and other countries.  It reads claims about invented prose from tests/data/claims_prose*.jsonl, or from FILE.
With --quiet it prints only totals and counts by kind, as a file that must stay unseen requires.  The table of
docs/citations.md comes last, with a row for each set: how often a tick (`supported`, `calculated`) is right and how many
true claims get one, and the same of a cross (`contradicted`, `dead`) and false claims.  --fever and --wice read the
development halves of these public sets.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from babel import Locale
from msgspec import Struct

from bench.printing import table
from research.citations import check
from research.search.embedders import create
from research.search.library.factbook import Document, documents
from research.types import Embedder, Source

DATA = Path(__file__).parents[1] / "tests/data"
SEEN = ("dev", "prose", "prose2", "fever_symmetric_dev", "wice_dev_oracle")
"""Sets that the authors of the rules have looked at."""
TICKS, CROSSES = ("supported", "calculated"), ("contradicted", "dead")
STATUSES = ("dead", "contradicted", "unverified", "calculated", "supported")
"""From worst to best: of a statement with several numbers, the worst counts."""
PAGE = 4_000
"""Characters of a page that a tool shows."""


class Claim(Struct, frozen=True):
    """A sentence with its marks, the sources of the run, and how the sentence was corrupted (empty if it is true)."""

    text: str
    sources: tuple[Source, ...]
    corruption: str = ""
    kind: str = ""
    """For a true claim: the ability that it requires of the checker."""


class Asserted(Struct, frozen=True):
    """A claim of a prose file; `kind` names the corruption of a false claim, or the ability that a true one requires."""

    text: str
    true: bool
    kind: str = ""


class Told(Struct, frozen=True):
    """A line of a prose file: an invented source and the claims about it."""

    id: str
    title: str
    text: str
    claims: tuple[Asserted, ...]


class Pair(Struct, frozen=True):
    """A row of FEVER-symmetric (`true`) or WiCE (`label`)."""

    id: str
    claim: str
    text: str | list[str]
    true: bool | None = None
    label: str = ""


class Attribute(Struct, frozen=True):
    """A fact that many countries have, and the ways to state it: `{c}` country, `{v}` value, `{y}` year."""

    section: str
    line: str
    """Regular expression with the groups `v` (the value with its unit) and, optionally, `y`."""
    dev: tuple[str, ...]
    held: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    """Wordings that change the subject of the claim to one for which the page has another value."""


_Y = r" \((?P<y>20\d\d) est\.\)"
ATTRIBUTES = {
    "population": Attribute(
        "people-and-society",
        rf"Population, total: (?P<v>[\d,]+){_Y}",
        (
            "{c} has a population of {v}.",
            "As of {y}, {v} people live in {c}.",
            "{c}'s population stood at {v} in {y}.",
            "{c}{y}年的人口为{v}。",
        ),
        (
            "The population of {c} was put at {v} in {y}.",
            "{c} is home to {v} people.",
            "With {v} inhabitants, {c} is a country of note.",
            "{y}年，{c}总人口为{v}。",
        ),
        ("{c} has {v} male inhabitants.", "The female population of {c} is {v}."),
    ),
    "median age": Attribute(
        "people-and-society",
        rf"Median age, total: (?P<v>[\d.]+ years){_Y}",
        ("The median age in {c} is {v}.", "In {y}, {c}'s median age was {v}."),
        ("{c} had a median age of {v} in {y}.", "Half the people of {c} are older than the median age of {v}."),
        ("Life expectancy at birth in {c} is {v}.", "The median age of women in {c} is {v}."),
    ),
    "life expectancy": Attribute(
        "people-and-society",
        rf"Life expectancy at birth, total population: (?P<v>[\d.]+ years){_Y}",
        (
            "Life expectancy at birth in {c} is {v}.",
            "People in {c} have a life expectancy of {v}, according to {y} estimates.",
        ),
        ("A child born in {c} can expect to live {v}.", "In {y} life expectancy in {c} reached {v}."),
        ("The median age in {c} is {v}.", "Women in {c} have a life expectancy at birth of {v}."),
    ),
    "birth rate": Attribute(
        "people-and-society",
        rf"Birth rate: (?P<v>[\d.]+) births/1,000 population{_Y}",
        ("{c} records {v} births per 1,000 people a year.", "The birth rate of {c} was {v} per 1,000 in {y}."),
        ("{c}'s birth rate is {v} per thousand.", "For every 1,000 people in {c} there were {v} births in {y}."),
        ("{c} records {v} deaths per 1,000 people a year.", "The death rate of {c} is {v} per 1,000."),
    ),
    "area": Attribute(
        "geography",
        r"Area, total: (?P<v>[\d,]+ sq km)$",
        ("{c} covers {v}.", "The total area of {c} is {v}."),
        ("{c} has a total area of {v}.", "At {v}, {c} is neither the largest nor the smallest state."),
        ("Water covers {v} of {c}.", "{c} has a coastline of {v}."),
    ),
    "coastline": Attribute(
        "geography",
        r"Coastline: (?P<v>[\d,.]+ km)$",
        ("{c} has a coastline of {v}.", "The coast of {c} is {v} long."),
        ("{c}'s coastline stretches for {v}.", "The coastline of {c} measures {v}."),
        ("{c} has land boundaries of {v}.", "The total area of {c} is {v}."),
    ),
    "gdp": Attribute(
        "economy",
        rf"Real GDP \(purchasing power parity\) 20\d\d: (?P<v>\$[\d.]+ (?:billion|trillion)){_Y}",
        ("Real GDP of {c} at purchasing power parity was {v} in {y}.", "In {y}, {c}'s real GDP (PPP) came to {v}."),
        (
            "{c}'s economy was worth {v} in real GDP at purchasing power parity in {y}.",
            "In {y} the real GDP of {c} amounted to {v} (PPP).",
            "{y}年{c}的实际GDP（购买力平价）为{v}。",
        ),
        ("GDP of {c} at the official exchange rate was {v} in {y}.",),
    ),
    "growth": Attribute(
        "economy",
        rf"Real GDP growth rate 20\d\d: (?P<v>\d[\d.]*%){_Y}",
        (
            "Real GDP of {c} grew by {v} in {y}.",
            "{c}'s real GDP growth rate was {v} in {y}.",
            "{y}年{c}的实际GDP增长率为{v}。",
        ),
        ("The economy of {c} grew {v} in {y}.", "In {y} {c} recorded real GDP growth of {v}."),
        ("Consumer prices in {c} rose by {v} in {y}.", "Real GDP of {c} shrank by {v} in {y}."),
    ),
    "inflation": Attribute(
        "economy",
        rf"Inflation rate \(consumer prices\) 20\d\d: (?P<v>\d[\d.]*%){_Y}",
        ("Consumer price inflation in {c} was {v} in {y}.", "{c}'s inflation rate stood at {v} in {y}."),
        ("In {y} consumer prices in {c} rose {v}.", "Inflation in {c} averaged {v} in {y}."),
        ("The unemployment rate in {c} was {v} in {y}.", "Real GDP of {c} grew by {v} in {y}."),
    ),
    "unemployment": Attribute(
        "economy",
        rf"Unemployment rate 20\d\d: (?P<v>\d[\d.]*%){_Y}",
        (
            "{c}'s unemployment rate was {v} in {y}.",
            "In {y} {v} of the labour force of {c} had no job (unemployment rate).",
        ),
        ("Unemployment in {c} stood at {v} in {y}.", "The {y} unemployment rate of {c} was {v}."),
        ("The inflation rate of {c} was {v} in {y}.", "Youth unemployment in {c} was {v} in {y}."),
    ),
    "electricity exports": Attribute(
        "energy",
        rf"Electricity, exports: (?P<v>[\d.,]+ (?:million |billion )kWh){_Y}",
        ("{c} exported {v} of electricity in {y}.", "Electricity exports of {c} came to {v} in {y}."),
        ("In {y} {c} sold {v} of electricity abroad as exports.", "{c}'s exports of electricity reached {v} in {y}."),
        ("{c} imported {v} of electricity in {y}.", "Electricity consumption in {c} was {v} in {y}."),
    ),
    "electricity consumption": Attribute(
        "energy",
        rf"Electricity, consumption: (?P<v>[\d.,]+ (?:million |billion )kWh){_Y}",
        ("{c} consumed {v} of electricity in {y}.", "Electricity consumption in {c} was {v} in {y}."),
        ("In {y} {c} used {v} of electricity.", "Consumption of electricity in {c} amounted to {v} in {y}."),
        ("{c} imported {v} of electricity in {y}.", "Transmission losses of electricity in {c} came to {v} in {y}."),
    ),
    "internet": Attribute(
        "communications",
        rf"Internet users, percent of population: (?P<v>\d[\d.]*%){_Y}",
        ("{v} of the population of {c} use the internet.", "In {y} {v} of people in {c} were internet users."),
        (
            "Internet users made up {v} of {c}'s population in {y}.",
            "{v} of {c}'s people were online (internet users) in {y}.",
        ),
    ),
    "urban": Attribute(
        "environment",
        r"Urbanization, urban population: (?P<v>\d[\d.]*%) of total population \((?P<y>20\d\d)\)",
        ("{v} of the population of {c} is urban.", "In {y} {v} of {c}'s people lived in cities."),
        ("The urban population of {c} was {v} of the total in {y}.", "{c} had an urban share of {v} in {y}."),
        ("{v} of the population of {c} is rural.", "Forest covers {v} of {c}."),
    ),
    "forest": Attribute(
        "environment",
        rf"Land use, forest: (?P<v>\d[\d.]*%){_Y}",
        ("Forest covers {v} of the land of {c}.", "In {y} {v} of {c} was forest."),
        ("{c} is {v} forest, by a {y} estimate.", "Forests make up {v} of land use in {c}."),
        ("Agricultural land makes up {v} of {c}.", "Arable land covers {v} of {c}."),
    ),
    "railways": Attribute(
        "transportation",
        r"Railways, total: (?P<v>[\d,]+ km) \((?P<y>20\d\d)\)",
        ("{c} has {v} of railways.", "The railways of {c} total {v}."),
        ("{c}'s rail network is {v} long.", "There are {v} of railways in {c}."),
    ),
    "military": Attribute(
        "military-and-security",
        rf"Military Expenditures 20\d\d: (?P<v>\d[\d.]*%) of GDP{_Y}",
        ("{c} spent {v} of GDP on its military in {y}.", "Military expenditures of {c} were {v} of GDP in {y}."),
        (
            "In {y} {c}'s military expenditure was {v} of GDP.",
            "{c} devoted {v} of its GDP to military spending in {y}.",
        ),
    ),
}
CAPITALS = {
    False: ("The capital of {c} is {v}.", "{v} is the capital of {c}."),
    True: ("{c}'s capital is {v}.", "{v}, the capital, is the seat of {c}'s government."),
}
INVENTED = {
    False: (
        "{c} plans to host the next winter games.",
        "The national football team of {c} won the continental cup.",
        "{c} has introduced a tax on sugar in soft drinks.",
        "A new bridge was opened by the prime minister of {c}.",
        "Most households in {c} own at least one bicycle.",
    ),
    True: (
        "{c} has agreed to build a particle accelerator.",
        "Teachers in {c} went on strike over class sizes.",
        "The central bank of {c} issued a digital coin for pensioners.",
        "Museums in {c} no longer charge an entrance fee.",
        "Wolves have returned to the hills of {c}.",
    ),
}
INVENTED_VALUES = (
    "about 4,300 bookshops",
    "17.3 million bicycles",
    "212 cinemas",
    "38% of all fruit juice",
    "9,640 chess clubs",
)


class Score(Struct, frozen=True):
    """The results of a set."""

    name: str
    seen: bool
    """Whether the authors of the rules have looked at it."""
    ticked: tuple[int, int, int]
    """Ticks on true claims, all ticks, all true claims."""
    crossed: tuple[int, int, int]
    """Crosses on false claims, all crosses, all false claims."""


class Fact(Struct, frozen=True):
    country: str
    attribute: str
    value: str
    year: str
    source: Source


SETS: dict[str, Callable[[], list[Claim]]] = {
    "dev": lambda: factbook(held=False),
    "held": lambda: factbook(held=True),
    "prose": lambda: prose(DATA / "claims_prose.jsonl"),
    "prose2": lambda: prose(DATA / "claims_prose2.jsonl"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="claims about prose, one source a line, instead of the sets")
    parser.add_argument("--quiet", action="store_true", help="print only totals and counts by kind")
    parser.add_argument("--no-encoder", action="store_true")
    parser.add_argument("--only", choices=SETS)
    parser.add_argument("--fever", type=Path, help="fever_symmetric_dev.jsonl, instead of the sets")
    parser.add_argument("--wice", type=Path, help="wice_dev_oracle.jsonl, instead of the sets")
    parser.add_argument("--show", type=int, default=40, help="wrong verdicts printed for each set")
    parser.add_argument(
        "--least", type=float, default=0.0, help="exit with 1 if fewer ticks or crosses of dev or held are right"
    )
    arguments = parser.parse_args()
    embedder = None if arguments.no_encoder else create("universal")
    if embedder:
        embedder.encode(["loaded before the clock starts"])
    given: dict[str, Callable[[], list[Claim]]] = {}
    if arguments.file:
        given[arguments.file.stem] = lambda: prose(arguments.file)
    for path in (arguments.fever, arguments.wice):
        if path:
            given[path.stem] = lambda path=path: pairs(path)  # type: ignore[misc]
    scores = [
        report(name, make(), embedder, arguments.quiet or name == "held", arguments.show)
        for name, make in (given or SETS).items()
        if arguments.only in (None, name)
    ]
    print(f"\n{lines(scores)}")
    made = [n / max(m, 1) for each in scores if each.name in ("dev", "held") for n, m, _ in (each.ticked, each.crossed)]
    return 0 if min(made, default=1.0) >= arguments.least else 1


def lines(scores: Iterable[Score]) -> str:
    """Return the table of docs/citations.md."""
    head = ("set", "seen", "✓ right", "true claims with ✓", "✗ right", "false claims with ✗")
    return table(
        head,
        [
            [
                each.name,
                "yes" if each.seen else "no",
                *(cell for counts in (each.ticked, each.crossed) for cell in _cells(*counts)),
            ]
            for each in scores
        ],
    )


def _cells(right: int, said: int, whole: int) -> tuple[str, str]:
    return f"{right / said:.2f} ({right} of {said})" if said else "none", f"{right / max(whole, 1):.2f}"


def report(name: str, claims: list[Claim], embedder: Embedder | None, quiet: bool, show: int) -> Score:
    """Print a table of the corruptions; with `quiet`, no claim of the set is shown."""
    start = time.perf_counter()
    verdicts = [check(claim.text, claim.sources, embedder=embedder) for claim in claims]
    seconds = time.perf_counter() - start
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for claim, found in zip(claims, verdicts, strict=True):
        status = min((c.status for c in found), key=STATUSES.index)
        kinds[claim.corruption or f"true {claim.kind}".strip()][status] += 1
        wrong = status in TICKS if claim.corruption else status in CROSSES
        if not quiet and wrong and (show := show - 1) >= 0:
            print(
                f"{claim.corruption or f'TRUE {claim.kind}'}: {claim.text}\n"
                f"    {status}: {found[0].reason} «{found[0].quote[:120]}»"
            )
    print(f"\n## {name}: {len(claims)} claims, {1000 * seconds / len(claims):.1f} ms each\n")
    true = sum((counts for kind, counts in kinds.items() if kind.split()[0] == "true"), Counter[str]())
    lies = sum((counts for kind, counts in kinds.items() if kind.split()[0] != "true"), Counter[str]())
    rows = sorted(kinds.items(), key=lambda item: (item[0].split()[0] != "true", item[0]))
    print(
        table(
            ("done to it", "n", *STATUSES),
            [
                [kind, str(counts.total()), *(str(counts[status]) for status in STATUSES)]
                for kind, counts in [*rows, ("all true", true), ("all false", lies)]
            ],
        )
    )

    def counted(right: Counter[str], wrong: Counter[str], statuses: Sequence[str]) -> tuple[int, int, int]:
        good = sum(right[status] for status in statuses)
        return good, good + sum(wrong[status] for status in statuses), right.total()

    return Score(name, name in SEEN, counted(true, lies, TICKS), counted(lies, true, CROSSES))


def pairs(path: Path) -> list[Claim]:
    """Return the claims of FEVER-symmetric or WiCE; of several rows of one claim the best verdict counts."""
    rows: dict[str, list[Pair]] = defaultdict(list)
    for line in path.read_bytes().splitlines():
        pair = msgspec.json.decode(line, type=Pair)
        rows[pair.id].append(pair)
    found = []
    for same in rows.values():
        text = "\n".join(dict.fromkeys("\n".join(p.text) if isinstance(p.text, list) else p.text for p in same))
        true = any(p.true if p.true is not None else p.label == "supported" for p in same)
        claim = re.sub(r" (?=[.,])", "", same[0].claim).rstrip(".")
        source = Source(1, f"https://example.org/{same[0].id}", "", text)
        found.append(Claim(f"{claim} [1].", (source,), "" if true else "false"))
    return found


def prose(path: Path) -> list[Claim]:
    found = []
    for line in path.read_bytes().splitlines():
        item = msgspec.json.decode(line, type=Told)
        source = Source(1, f"https://example.org/{item.id}", item.title, item.text)
        for claim in item.claims:
            text = f"{claim.text[:-1]} [1]{claim.text[-1]}"
            found.append(Claim(text, (source,), *(("", claim.kind) if claim.true else (claim.kind or "false", ""))))
    return found


def factbook(held: bool, count: int = 240) -> list[Claim]:
    """Return true and corrupted claims in equal parts, the same at every call."""
    pages = [page for page in documents() if page.title.split(" · ")[0] not in ("World", "European Union")]
    countries = sorted({page.title.split(" · ")[0] for page in pages})
    mine = {name for i, name in enumerate(countries) if i % 2 == held}
    dice = random.Random(20 + held)
    facts = [fact for page in pages if page.title.split(" · ")[0] in mine for fact in read(page)]
    by_attribute: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        by_attribute[fact.attribute].append(fact)
    made: list[Claim] = []
    makers = list(CORRUPTIONS)
    while len(made) < 2 * count:
        fact = dice.choice(by_attribute[dice.choice(sorted(by_attribute))])
        if len(made) < count:
            maker = dice.choice((plain, plain, plain, two_facts, compared))
            claim = maker(fact, by_attribute, held, dice)
        else:
            claim = CORRUPTIONS[makers[len(made) % len(makers)]](fact, by_attribute, held, dice)
            claim = claim and msgspec.structs.replace(claim, corruption=makers[len(made) % len(makers)])
        if claim:
            made.append(claim)
    return made


def read(page: Document) -> Iterator[Fact]:
    country, slug = page.title.split(" · ")[0], page.url.rsplit("/", 1)[1]
    source = Source(1, page.url, page.title, page.text[:PAGE])
    for name, attribute in ATTRIBUTES.items():
        if attribute.section == slug:
            for match in re.finditer(f"^{attribute.line}", source.quote, re.M):
                yield Fact(country, name, match["v"], match.groupdict().get("y") or "", source)
    if slug == "government" and (named := re.search(r"^Capital, name: ([A-Z][\w' -]+)$", source.quote, re.M)):
        yield Fact(country, "capital", named[1], "", source)


def said(fact: Fact, held: bool, dice: random.Random, value: str = "", year: str = "", country: str = "") -> str:
    """Return a sentence that states a fact in one of its wordings, without mark and full stop."""
    forms: Sequence[str] = (
        CAPITALS[held]
        if fact.attribute == "capital"
        else getattr(ATTRIBUTES[fact.attribute], "held" if held else "dev")
    )
    forms = [form for form in forms if fact.year or "{y}" not in form]
    if year:
        forms = [form for form in forms if "{y}" in form] or forms
    if chinese(fact.country) is None or country:
        forms = [form for form in forms if form.isascii()]
    form = dice.choice(forms)
    if not form.isascii():
        country = chinese(fact.country) or ""
    text = form.format(c=country or fact.country, v=value or loosely(fact.value, dice), y=year or fact.year)
    return text.rstrip(".。")


def chinese(country: str) -> str | None:
    """Return the Chinese name of a country (CLDR), or None if it has none."""
    english, names = Locale("en").territories, Locale("zh").territories
    return next((names[code] for code, name in english.items() if name == country and code in names), None)


def loosely(value: str, dice: random.Random) -> str:
    """Return a value as a writer may state it: unchanged, or rounded with a scale word or `about`."""
    if re.fullmatch(r"[\d,]{9,}", value) and dice.random() < 0.6:
        number = int(value.replace(",", ""))
        return dice.choice(
            (
                f"{number / 1e6:.1f} million",
                f"about {number / 1e6:.0f} million" if number > 1e7 else f"{number / 1e6:.2f} million",
            )
        )
    if value.endswith("trillion") and dice.random() < 0.4:
        return f"${float(value[1:].split()[0]) * 1000:,.0f} billion"
    if re.fullmatch(r"\$[\d.]+ billion", value) and dice.random() < 0.4:
        return f"about ${float(value[1:].split()[0]):.1f} billion"
    if value.endswith("%") and dice.random() < 0.3:
        return value.replace("%", " percent")
    if value.endswith("sq km") and dice.random() < 0.3:
        return value.replace("sq km", "square kilometres")
    return value


def mark(text: str, *numbers: int) -> str:
    stop = "。" if re.search(r"[\u4e00-\u9fff]", text) else "."
    return f"{text} {''.join(f'[{n}]' for n in numbers)}{stop}"


Facts = dict[str, list[Fact]]


def plain(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    return Claim(mark(said(fact, held, dice), 1), (fact.source,))


def another(fact: Fact, pool: list[Fact], dice: random.Random, *, same_year: bool = True) -> Fact | None:
    others = [
        f
        for f in pool
        if f.country != fact.country and f.value != fact.value and (not same_year or f.year == fact.year)
    ]
    return dice.choice(others) if others else None


def two_facts(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    pool = [
        f
        for group in facts.values()
        for f in group
        if f.source.url == fact.source.url and f.attribute != fact.attribute
    ]
    if not pool:
        return None
    second = said(dice.choice(pool), held, dice)
    first = said(fact, held, dice)
    if re.search(r"[\u4e00-\u9fff]", first + second):
        return None
    return Claim(mark(f"{first}, and {_lower(second, fact.country)}", 1), (fact.source,))


def compared(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    other = another(fact, facts[fact.attribute], dice)
    first = said(fact, held, dice)
    if other is None or fact.attribute == "capital" or re.search(r"[\u4e00-\u9fff]", first):
        return None
    joined = "compared with {v} in {c}" if held else "against {v} for {c}"
    source = msgspec.structs.replace(other.source, n=2)
    return Claim(mark(f"{first}, {joined.format(v=other.value, c=other.country)}", 1, 2), (fact.source, source))


def _lower(text: str, country: str) -> str:
    return text if text.startswith(country) or text[:2].isupper() else text[0].lower() + text[1:]


def altered(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    """Change a digit, exchange two digits, or alter the value by a few percent."""
    if fact.attribute == "capital":
        return None
    written = re.search(r"\d[\d,.]*\d|\d", fact.value)
    assert written
    digits = written.group()
    places = [i for i, c in enumerate(digits) if c.isdigit()]
    i = places[dice.randrange(min(len(places), 4))]
    way = dice.randrange(3)
    if way == 0 and len(places) > 1 and digits[places[0]] != digits[places[1]] and digits[places[1]] != "0":
        a, b = places[:2]
        new = digits[:a] + digits[b] + digits[a + 1 : b] + digits[a] + digits[b + 1 :]
    else:
        new = digits[:i] + dice.choice([c for c in "123456789" if c != digits[i]]) + digits[i + 1 :]
    value = fact.value.replace(digits, new)
    return Claim(mark(said(fact, held, dice, value=value), 1), (fact.source,))


def shifted(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    """Move the decimal point, or replace million by billion."""
    swap = {"million": "billion", "billion": "million", "trillion": "billion"}
    for old, new in swap.items():
        if old in fact.value:
            return Claim(mark(said(fact, held, dice, value=fact.value.replace(old, new)), 1), (fact.source,))
    number = re.match(r"(\d+)\.(\d)(\d*)", fact.value)
    if not number or number[1] == "0":
        return None
    value = f"{number[1]}{number[2]}" + (f".{number[3]}" if number[3] else "") + fact.value[number.end() :]
    return Claim(mark(said(fact, held, dice, value=value), 1), (fact.source,))


def wrong_year(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    """Attribute the value of one year to another, of the same table if possible."""
    series = [
        f for f in facts[fact.attribute] if f.country == fact.country and f.year != fact.year and f.value != fact.value
    ]
    if not fact.year:
        return None
    year = dice.choice(series).year if series else str(int(fact.year) - dice.randint(2, 6))
    text = said(fact, held, dice, value=fact.value, year=year)
    return Claim(mark(text, 1), (fact.source,)) if year in text else None


def swapped_country(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    other = another(fact, facts[fact.attribute], dice, same_year=False)
    return None if other is None else Claim(mark(said(fact, held, dice, country=other.country), 1), (fact.source,))


def exchanged(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    """Cite two countries, each with the value of the other."""
    other = another(fact, facts[fact.attribute], dice)
    if other is None or fact.attribute == "capital":
        return None
    first = said(fact, held, dice, value=other.value)
    if re.search(r"[\u4e00-\u9fff]", first):
        return None
    source = msgspec.structs.replace(other.source, n=2)
    return Claim(mark(f"{first}, compared with {fact.value} in {other.country}", 1, 2), (fact.source, source))


def swapped_attribute(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    if fact.attribute == "capital" or not ATTRIBUTES[fact.attribute].wrong:
        return None
    form = dice.choice(ATTRIBUTES[fact.attribute].wrong)
    return Claim(mark(form.format(c=fact.country, v=fact.value, y=fact.year).rstrip("."), 1), (fact.source,))


def wrong_unit(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    swaps = {"sq km": "km", " years": " months", "%": " million", "kWh": "tonnes", "$": "€", " km": " miles"}
    for old, new in swaps.items():
        if old in fact.value:
            return Claim(mark(said(fact, held, dice, value=fact.value.replace(old, new)), 1), (fact.source,))
    return None


def denied(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    text = said(fact, held, dice, value=fact.value)
    new = re.sub(r"\b(is|was|were|are)\b(?! estimates)", r"\1 not", text, count=1)
    return Claim(mark(new, 1), (fact.source,)) if new != text else None


def wrong_source(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    """Cite the number of a page about another country."""
    other = another(fact, facts[fact.attribute], dice, same_year=False)
    return (
        None
        if other is None
        else Claim(
            mark(said(fact, held, dice, value=fact.value), 2), (fact.source, msgspec.structs.replace(other.source, n=2))
        )
    )


def no_source(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    return Claim(mark(said(fact, held, dice), dice.randint(2, 9)), (fact.source,))


def invented(fact: Fact, facts: Facts, held: bool, dice: random.Random) -> Claim | None:
    """Cite a plausible figure that is on no page."""
    text = dice.choice(INVENTED[held]).format(c=fact.country).rstrip(".")
    if dice.random() < 0.4:
        text = f"{fact.country} has {dice.choice(INVENTED_VALUES)}"
    return Claim(mark(text, 1), (fact.source,))


CORRUPTIONS: dict[str, Callable[[Fact, Facts, bool, random.Random], Claim | None]] = {
    "altered number": altered,
    "shifted magnitude": shifted,
    "wrong year": wrong_year,
    "swapped country": swapped_country,
    "exchanged countries": exchanged,
    "swapped attribute": swapped_attribute,
    "wrong unit": wrong_unit,
    "denied": denied,
    "wrong source": wrong_source,
    "no such source": no_source,
    "not in the source": invented,
}


if __name__ == "__main__":
    sys.exit(main())
