"""Labelled figures: lines such as `Area, total: 12 sq km`, rows of tables, and results of queries; and claims about them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate, groupby, islice, pairwise, product
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from research._util.glossary import chinese_places, english_labels, terms
from research._util.sentences import sentences_of
from research.citations.language import listed, pattern, says, spoken, unnamed, words
from research.citations.ranked_rows import Kind, Rank, kind_said, rows, without_ranks
from research.quantities import CURRENCIES, Quantity, hedged, quantities
from research.quantities.units import SCALES
from research.text import has_cjk
from research.types import Source

ITEM = re.compile(r"[;；]|[,，、](?=\s*[^\d\s]|\s+\d[\d.,]*\s+[^\W\d])")
BRACKETS = re.compile(r"[(（]([^()（）]{0,300})[)）]")
_BULLET = re.compile(r"^[\s#>*+•-]+")
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_MONTH = re.compile(r"(?<!\d)\d{4}-\d\d(?!\d)")
_CALLED = {
    "sum": ("", ""),
    "max": ("Highest ", "最高"),
    "min": ("Lowest ", "最低"),
    "avg": ("Average ", "平均"),
    "median": ("Median ", "中位"),
}
"""What is said of a column, in English and Chinese, of which a query calculates the sum, the mean and so on."""
_DAY = re.compile(r"[-']\d\d-\d\d$")
"""Matches the day at the end of a date, as a query has it."""
_OF_MONTH = re.compile(r"(?<!\d)1?\d月")
_BULLETS = "-•· "
_AGGREGATE = re.compile(r"\b(?:SUM|AVG|COUNT|MEDIAN|MIN|MAX|TOTAL)\s*\(|[-+*/]", re.I)
_SHARE = re.compile(r"\b100(?:\.0+)?\s*\*|\*\s*100\b")
"""How a query calculates a percentage."""
_UNIT = re.compile(r"[(（](?:[Ii]n )?([^()（）,]++)[^()（）]*+[)）](?=[^()（）]*$)|([$€£¥](?:bn|[mk])?)$")
_RATE = re.compile(r"(?:\bper|/|[每/])\s*$")
"""Matches the words before the 1,000 of `births per 1,000 people`, which is a unit."""
_PER = re.compile(r"\bper (1,?000|100,?000)\b")
_OF_RATE = re.compile(r" [a-z]+(?: [a-z]+)? ?(?:/| per )(?:1,?000|100,?000|100) [a-z]+(?: [a-z]+)?")
"""The unit of a rate behind its figure: `deaths/1,000 live births`."""
_WORDS = sorted((word for word in SCALES if len(word) > 3 or has_cjk(word)), key=len, reverse=True)
_PER_WORD = re.compile(rf"(?:\bper |[每/])({'|'.join(_WORDS)})(?![a-z米克瓦卡分])", re.I)
_PER_TIME = {"/日": "per day", "/天": "per day", "/月": "per month", "/年": "per year"}
"""The English of rates whose unit is Chinese: 桶/日."""
_EACH = re.compile(r"\b(?:per|every)\s[\d,]+$")
"""Matches the words before the people of `per 100 people`."""
_SCALE = re.compile(r"\b(thousand|million|billion)s?\b|单位[:：]\s?(\w+)", re.I)
"""What the corner of a table, or a row of its head, says of all figures among other words."""
_PEOPLE = " population"
"""What a claim has in place of the noun after the figure of a population."""
_THAN = re.compile(r"(?<![占相对分])比([^比最，。；]{1,40}?)更?([高多大长低少小短])(?=[。！]?\s*$)")
"""How a Chinese comparison ends, `比法国大`, which says the same as `大于法国`."""
_LOSS = re.compile(r"[^\w(（]*[(（][^\w)）]*\d")
_PLAIN = re.compile(r"[a-z\d]")
_LABEL = re.compile(r"([^:：.!?。]{2,110}?)[:：]\s*\S")
_OF = re.compile(r" of [\w ]{1,40}?(?=\s*(?:[,;.()]|and\b|$))")
"""Matches behind a percentage what it is of: `% of GDP`."""
_LEAD = 60
"""Characters before a figure in which the words that lead to it are looked for."""
_LONG, _PROSE = 400, 16
"""Characters of a cell, and words of a sentence, that is prose."""


class Cell(Struct, frozen=True):
    """A figure of a source, and all that its line says it is of."""

    n: int
    line: str
    names: tuple[str, ...]
    """Whose figure it is; a claim has the first of them, and no others."""
    label: frozenset[str]
    """Words that a claim must have."""
    around: str
    """Texts whose words it may have."""
    quantity: Quantity
    year: int = 0
    written: str = ""
    """The label as its line or column has it."""
    topic: frozenset[str] = frozenset()
    """Words of a title that is not the name of whose figures they are; a claim must have one of them.

    Of a ranking: the place that it is of, which a claim of a rank must have.
    """
    how: str = ""
    """The query that returned it."""
    rank: Rank | None = None
    kind: Kind | None = None
    """What it is of all those ranked."""
    item: str = ""
    """What a list calls it: the Spain of `Spain 646 km; Italy 476 km`."""

    @property
    def short(self) -> frozenset[str]:
        """The label without the ending that a claim may omit, if at least two words remain."""
        parts = self.written.split(",")
        head = words(" ".join(pattern("where").split(part)[0] for part in parts))
        return own if len(own := self.label & head) > 1 and not self.how else self.label

    @property
    def made(self) -> bool:
        """Whether a query calculated it."""
        return _AGGREGATE.search(re.sub(r"'[^']*'|SELECT \*", "", self.how)) is not None

    @property
    def per(self) -> int:
        """The base of a rate: 100 for a percentage, 1,000 for `deaths/1,000 population`; 1 for an amount."""
        rate = _PER.search(self.around)
        return 100 if self.quantity.unit == "%" else int(rate[1].replace(",", "")) if rate else 1

    def states(self, claimed: Quantity) -> bool:
        """Return whether this is the figure that a claim states, to its written precision."""
        own, points = self.quantity, ("point", "百分点")
        same_sign, same_hedge = (claimed.value < 0) == (own.value < 0), own.hedge in ("", claimed.hedge)
        same_points = all((word in claimed.written) == (word in own.written) for word in points)
        # `about 85 million` is not 84.0 million, but `about 220 million` is 221.4 million
        digits = re.sub(r"\D", "", claimed.written)
        round_ = digits.endswith("0") and len(digits.rstrip("0")) > 1 and "." not in claimed.written
        exact = replace(claimed, hedge="") if claimed.hedge == "about" and not round_ else claimed
        share = claimed.unit == "%" and not own.unit and bool(_SHARE.search(self.how))
        same_unit = claimed.unit in ("", own.unit) or share  # `a median age of 40.8`
        if claimed.limit and not own.hedge:
            return same_points and same_unit and claimed.bounds(own) is True
        return same_sign and same_hedge and same_points and same_unit and exact.states(own)


def _rates(text: str) -> str:
    """Return a text with `per 1,000` where it says `per thousand` or `每千`."""
    return _PER_WORD.sub(lambda each: f" per {SCALES[each[1].casefold()]:,.0f} ", text)


def cells_of(source: Source) -> list[Cell]:
    """Return the labelled figures of a source."""
    lines = source.quote.splitlines()
    if source.url.startswith("library://") and "#" in source.url and source.quote.startswith("Result of "):
        return list(_results(source, lines))
    found: list[Cell] = []
    ranked = {row.line: row for row in rows(source.title, lines)}
    for row in ranked.values():
        for cell in _line(replace(source, title=f"{row.name} · {row.measure}"), f"{row.measure}: {row.value}"):
            around = f"{cell.around} {row.around}"
            found.append(replace(cell, line=row.line, around=around, topic=row.place, rank=row.rank, kind=row.kind))
    lines = [line for line in lines if line not in ranked]
    for table, block in groupby(lines, key=lambda line: line.lstrip().startswith("|")):
        if table:
            found += _table(source, [split(line) for line in block if set(line) - set("|-: \t")])
            continue
        for line in block:
            for sentence in sentences_of(_BULLET.sub("", line)):
                found += _line(source, sentence)
    short = Counter(cell.short for cell in found)
    return [replace(cell, label=cell.short) if short[cell.short] == 1 else cell for cell in found]


def _table(source: Source, rows: Sequence[tuple[str, ...]]) -> Iterator[Cell]:
    """Yield the figures of a table, or of an infobox: two columns without a head, some rows in groups."""
    top = next((at for at, row in enumerate(rows) if at and _measures(row)), len(rows))
    head, group = _head(rows[:top]), ""
    for row in rows[top:]:
        if len(row) != 2 or head[-1]:
            yield from _row(source, head, row)
            continue
        group = f"{row[0]}, " if not row[1] else group if row[0][:1] in _BULLETS else ""
        yield from _line(source, f"{group}{row[0].lstrip(_BULLETS)}: {row[1]}")


def _measures(row: Sequence[str]) -> bool:
    """Return whether a row is none of the head, which has texts, years, and the scale of all figures in its corner."""
    corner = row[0] and not _scale(row[0])
    return bool(corner) or any(_figure(cell) and not _YEAR.fullmatch(cell) for cell in row)


def _head(heads: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the head of each column: the words of all rows; of several rows, one without years spans empty columns."""
    of_all = [own[0] for row in heads if (own := [cell for cell in row if cell]) and (row[0] or len(own) == 1)]
    scale = next(filter(None, map(_scale, of_all)), "")
    rows = [row if len(heads) == 1 or _YEAR.search(" ".join(row)) else _spread(row) for row in heads]
    head = (" ".join(dict.fromkeys(filter(None, column))) for column in zip(*rows, strict=False))
    return tuple(f"{name} ({scale})" if name and scale and not _UNIT.search(name) else name for name in head)


def _scale(text: str) -> str:
    """Return what a text says of all figures: the whole of `USD million`, the million of `In millions, 2019`; else empty."""
    unit = _unit(text) or text
    found = None if re.search(r"\d", unit) else _read("1", unit)
    if found and not found[1] and (found[0].unit in CURRENCIES or (found[0].value > 1 and not found[0].unit)):
        return unit
    match = _SCALE.search(text)
    return match[match.lastindex or 0] if match else ""


def _spread(row: Sequence[str]) -> tuple[str, ...]:
    """Return a row with each text in the empty cells behind it, and the first of the columns in those before it."""
    first, *others = row
    filled = accumulate(others, lambda left, own: own or left, initial=next(filter(None, others), ""))
    return (first, *islice(filled, 1, None))


def label_of(line: str) -> str:
    """Return the text before the colon of a line such as `Median age, total: 42.7 years`; else empty."""
    match = _LABEL.match(line)
    return match[1] if match and len(match[1].split()) <= 16 else ""


def _line(source: Source, line: str) -> Iterator[Cell]:
    """Yield the figure of a line, or those of its items: `Spain 646 km; Italy 476 km`."""
    said = _rates(line)
    label = label_of(said)
    prose = line.endswith(("。", ".")) and len(line.split()) > _PROSE
    if not label or prose or len(line) > 4 * _LONG:
        return
    subject, *section = source.title.split(" · ")
    written, dated = _undated(label), _YEAR.findall(label)
    named = BRACKETS.sub(" ", written)
    parts = [part for part in named.split(",") if not words(part) & listed("whole")] or [named]
    must = words(" ".join(parts)) - unnamed()
    names, topic = ((subject,), frozenset[str]()) if section else ((), words(source.title) - unnamed())
    value = BRACKETS.sub(lambda bracket: re.sub("[,，、;；]", " ", bracket.group()), said[len(label) + 1 :])
    items = [
        (item, plain, found)
        for item in ITEM.split(value)
        if (plain := BRACKETS.sub(" ", item)) and (found := only(plain))
    ]
    for at, (item, plain, figure) in enumerate(items):
        years = _YEAR.findall(" ".join(BRACKETS.findall(item) or BRACKETS.findall(value)[-1:]))
        year = next(iter(dated or years), 0)
        called = plain[: figure.start] + (plain[figure.end :] if len(items) > 1 else "")
        own = words(called) - unnamed()
        if at and not own:
            continue  # the same again, of a part: `643,801 sq km; 551,500 sq km (metropolitan France)`
        around = f"{label} {source.title} {item.replace('/', ' per ')}"
        listed_as = called.strip() if len(items) > 1 or called.strip()[:1].isupper() else ""
        yield Cell(source.n, line, names, must | own, around, figure, int(year), written, topic, item=listed_as)


def only(text: str) -> Quantity | None:
    """Return the figure of a text that has only one, apart from the 1,000 of `births/1,000 population`."""
    found = _numbers(text, quantities(text))
    return found[0] if len(found) == 1 and not found[0].weak else None


def _numbers(text: str, found: Iterable[Quantity]) -> tuple[Quantity, ...]:
    """Return the numbers of a text that are not part of the unit of another."""
    return tuple(each for each in found if each.kind == "number" and not _RATE.search(text, each.start - 9, each.start))


def _row(source: Source, head: Sequence[str], row: Sequence[str]) -> Iterator[Cell]:
    """Yield the figures of a row of a table; its texts say whose they are."""
    names = tuple(cell for cell in row if 1 < len(cell) <= _LONG and re.search(r"[^\W\d_]", cell) and not _figure(cell))
    pairs = list(zip(head, row, strict=False))
    heads = [name for name, cell in pairs if cell in names]  # `the North region`
    dated = [(name, _figure(cell, name)) for name, cell in pairs if re.fullmatch(_YEAR, cell)]
    own = {name: int(year.value) for name, year in dated if year and not year.unit}  # 1685 kg are no year
    quote = "; ".join(f"{name}: {cell}" for name, cell in pairs if cell)
    for name, cell in pairs:
        if name.casefold() != "row" and len(cell) <= _LONG and (found := _figure(cell, name)):
            years = {int(year) for year in _YEAR.findall(name)} or {own[each] for each in own if each != name}
            label = words(_undated(_UNIT.sub(" ", _rates(name).replace("_", " ")))) - unnamed()
            around = f"{_rates(name).replace('/', ' per ')} {source.title} {' '.join((*names, *heads))}"
            yield Cell(source.n, quote, names, label, around, found, min(years) if len(years) == 1 else 0, name)


def _undated(head: str) -> str:
    """Return a label without its date or year."""
    for each in reversed(quantities(head)):
        if each.kind in ("date", "year"):
            head = f"{head[: each.start]} {head[each.end :]}"
    return head.strip(" ,")


def _figure(cell: str, head: str = "") -> Quantity | None:
    """Return the figure of a cell, with the unit of its column; None if it is no figure, or in brackets, as losses are."""
    if _LOSS.match(cell):
        return None
    unit = _unit(head)
    found, rest = _read(cell, unit) or _read(cell, "") or (None, "")
    if found is None or (rest and not unit.endswith(rest)):
        return None
    return Quantity("number", found.written, found.value, found.half, found.unit, 0, len(cell))


def _unit(head: str) -> str:
    """Return the unit that a head names in brackets or at its end: the million of `Sales (in millions)`; else empty."""
    named = _UNIT.search(head)
    return re.sub(r"(?<=illion|ousand)s\b(?: of\b)?", "", named[1] or named[2]) if named else ""


def _read(cell: str, unit: str) -> tuple[Quantity, str] | None:
    """Return the only figure of a cell in a unit, before or behind it or around it, and what words are left over."""
    parts, best = unit.split(), None
    for at in range(len(parts) + 2):
        split = (*parts[:at], cell, *parts[at:]) if at <= len(parts) else (f"{unit[:1]}{cell}{unit[1:]}",)
        text = " ".join(split)
        found = quantities(text)
        if len(found) == 1 and found[0].kind in ("number", "year"):
            rest = " ".join(re.findall(r"\w\S*", f"{text[: found[0].start]} {text[found[0].end :]}"))
            best = min(best or (found[0], rest), (found[0], rest), key=lambda each: len(each[1]))
        if best and not best[1]:
            break
    return best


_SAYS_IN_SQL = {
    "sum": "SUM(",
    "mean": "AVG(",
    "difference": "-",
    "share": "/",
    "after": " > ",
    "since": " >= ",
    "before": " < ",
    "until": " <= ",
}
"""Kinds of words that a claim about a result may have if its query has this."""


def _results(source: Source, lines: Sequence[str]) -> Iterator[Cell]:
    """Yield the figures that a query returned: what it says of them are the query, and the columns and cells that it used."""
    place = next((at for at, line in enumerate(lines) if line.startswith("Rows used: ")), len(lines))
    table, used = ([split(line) for line in part if line.startswith("|")] for part in (lines[1:place], lines[place:]))
    if len(table) < 3:
        return
    head, _, *rows = table
    titled = " ".join(line for line in lines[place:] if not line.startswith("|"))
    sql = lines[0].removeprefix("Result of ")
    columns = used[0][1:] if used else ()
    texts = {cell for row in [*used[2:], *rows] for cell in row if not _figure(cell)}
    around = " ".join([sql, *head, *columns, titled, source.title, *texts]).replace("_", " ")
    units = {named.group() for name in columns if (named := _UNIT.search(name))}
    unit = units.pop() if len(units) == 1 else ""
    for kind, call in _SAYS_IN_SQL.items():
        around += f" {' '.join(listed(kind))}" if call in sql.upper() else ""
    for word, many in product(("row", "行"), (len(used) - 2, len(rows))):
        yield Cell(source.n, titled, (), frozenset([word]), around, _count(many), how=sql)
    with_unit = [any(_figure(row[at]) for row in rows) and "percent" not in name for at, name in enumerate(head)]
    own = [_UNIT.sub("", each).strip() for each in columns]
    head = tuple(_called(name, own) for name in head)
    for row in rows:
        heads = [f"{name} {unit}".strip() if united else name for name, united in zip(head, with_unit, strict=True)]
        line = f"{_told(heads, row, own)}\n{titled}"
        yield from (replace(c, line=line, label=frozenset(), around=around, how=sql) for c in _row(source, heads, row))
    told = [] if any(_figure(row[0]) for row in rows) else [(head[0], tuple(row[0] for row in rows), len(rows))]
    if not any(_figure(cell) for row in rows for cell in row):
        told += [(name, (row[0], cell), 1) for row in rows for name, cell in zip(head[1:], row[1:], strict=False)]
    for name, names, many in told:  # a list, and the texts beside the first one of each row
        line, label = f"{name}: {'; '.join(names)}\n{titled}", words(name.replace("_", " ")) - unnamed()
        yield Cell(source.n, line, names, label, around, _count(many), how=sql)


def _told(head: Sequence[str], row: Sequence[str], columns: Sequence[str]) -> str:
    """Return a row of a result as people say it: where columns side by side were made rows, `12月: 3300`.

    `columns` are the names of those that the query used, without their units.
    """
    held = {cell for cell in row if cell in columns}
    (of,) = held if len(held) == 1 else ("",)
    pairs = [(of if of and _figure(cell) else name, cell) for name, cell in zip(head, row, strict=False) if cell]
    return "; ".join(f"{name}: {cell}" for name, cell in pairs if not of or cell != of)


def _called(name: str, columns: Sequence[str]) -> str:
    """Return what people call a column of a result, by its name in the file: `Average units sold` for `avg_units_sold`.

    `columns` are the names of those that the query used, without their units.
    """
    how, _, column = name.partition("_") if name.partition("_")[0] in _CALLED else ("", "", name)
    files = {_plain(own): own for own in columns}
    found = files.get(_plain(column)) or files.get(_plain(column.removeprefix("y_")))  # 2024 is `y_2024` in SQL
    if not how:
        return found or name
    called = _CALLED[how][has_cjk(column)] + (found or column.replace("_", " "))
    return f"{called[:1].upper()}{called[1:]}"


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", " ", name.casefold()).strip()


def _count(many: int) -> Quantity:
    return Quantity("number", f"{many}", many, 0.0, "", 0, 0)


def split(line: str) -> tuple[str, ...]:
    """Return the cells of a row of a table."""
    return tuple(cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|"))


class Told(Struct, frozen=True):
    """What a claim says: its text in the language of the labels, its figures, years and names."""

    text: str
    figures: tuple[Quantity, ...]
    years: tuple[int, ...]
    spans: tuple[Quantity, ...] = ()
    """All figures, dates and years that it has; `figures` may be some of them."""
    dates: tuple[Quantity, ...] = ()
    ordinal: bool = False
    ranks: tuple[int, ...] = ()
    """The ranks that it states of figures of a ranking."""


def told(claim: str, cells: Sequence[Cell], titles: Iterable[str] = ()) -> Told:
    """Read a claim.  In a Chinese claim, terms of the glossary and names of places are those of English labels."""
    text = _THAN.sub(r"\2于\1", re.sub(r"`[^`]*`", " ", claim))
    if any("population" in cell.label for cell in cells):
        text = _people().sub(lambda noun: noun.group() if _EACH.search(text[: noun.start()][-20:]) else _PEOPLE, text)
    parts = [part for title in titles for part in re.split(" · |, ", title)]
    names = tuple(dict.fromkeys([*parts, *(name for cell in cells for name in cell.names)]))
    if has_cjk(text) and any(not has_cjk(name) for name in names):
        text = _in_english(text, (*names, *dict.fromkeys(cell.item for cell in cells)))
    text, ranks = without_ranks(_rates(text)) if any(cell.rank for cell in cells) else (_rates(text), ())
    found = quantities(text)
    figures = _numbers(text, found)
    restated = {b for a, b in pairwise(figures) if b.hedge == "about" and b.states(a)}  # 1,234,567（约123万）
    for each in restated:
        end = _end(text, each)
        text = f"{text[: each.start]}{' ' * (end - each.start)}{text[end:]}"
    figures = tuple(each for each in figures if each not in restated)
    fixed = _figures_in(cell.written for cell in cells if cell.label <= words(text))
    for each in figures:
        if each.limit and not words(each.written) & fixed:  # not the 65 of `Aged over 65`
            _, start, end = hedged(text, each.start, each.end)
            text = "".join(
                [text[:start].ljust(each.start), text[each.start : each.end], " " * (end - each.end), text[end:]]
            )
    years = tuple(int(each.value) for each in found if each.kind == "year")
    dates = tuple(each for each in found if each.kind == "date")
    spans = (*figures, *dates, *(each for each in found if each.kind == "year"))
    return Told(text, figures, years, spans, dates, any(each.kind == "ordinal" for each in found), ranks)


def _figures_in(names: Iterable[str]) -> frozenset[str]:
    """Return the numbers that are part of names or labels."""
    return frozenset(word for word in words(" ".join(names)) if word[0].isdigit())


@lru_cache(maxsize=4_096)
def _in_english(text: str, names: tuple[str, ...]) -> str:
    """Return a Chinese claim with English labels, names and cities in place of the Chinese ones, the longest first."""
    english, known = _english(names)
    return known.sub(lambda term: f" {english[term[0]]} ", text)


@lru_cache(maxsize=256)
def _english(names: tuple[str, ...]) -> tuple[dict[str, str], re.Pattern[str]]:
    """Return the English of Chinese labels, cities and names, and a pattern that prefers the longest: 罗马尼亚 to 罗马."""
    found = {term: name for name, term in terms("city").items()} | english_labels()
    found |= _PER_TIME
    found |= {term: term for term in listed("per") if len(term) > 2 and has_cjk(term)}  # not the 人口 of 人口密度
    found |= {term: "border" for term in listed("borders") if has_cjk(term)}
    found |= {term: name for name in names for term in chinese_places(name)}
    return found, re.compile("|".join(map(re.escape, sorted(found, key=len, reverse=True))))


@cache
def _people() -> re.Pattern[str]:
    """Return a pattern of the noun of a population: `68 million people`, `more people than`."""
    nouns, more = "|".join(listed("population")), "|".join(f"(?<={each} )" for each in listed("high") | listed("low"))
    return re.compile(
        rf"(?:(?<=\d)|(?<=illion)|(?<=thousand)|(?<=[万亿])|{more})\s?(?:{nouns})(?![a-z口均民类次])", re.I
    )


@cache
def _toward() -> re.Pattern[str]:
    """Return a pattern of the words at the end of a text that lead to the figure behind it: `from about`."""
    return re.compile(rf"(?:(?:{pattern('toward').pattern})\s{{0,9}})+\W{{0,9}}$", re.I)


def mentioned(text: str, cells: Iterable[Cell]) -> list[str]:
    """Return whose figures a text may be about, in order of mention; a name inside a longer one does not count."""
    lower, found, taken = text.casefold(), [], bytearray(len(text) + 1)
    for name in sorted({name for cell in cells for name in cell.names}, key=len, reverse=True):
        plain = name.casefold().removeprefix("the ")
        if plain not in lower:
            continue
        ends = (r"(?<![a-z\d])" if _PLAIN.match(plain) else "", r"(?![a-z\d])" if _PLAIN.match(plain[-1]) else "")
        for match in re.finditer(re.escape(plain).join(ends), lower):
            if not any(taken[match.start() : match.end()]):
                taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
                found.append((match.start(), name))
    return list(dict.fromkeys(name for _, name in sorted(found)))


class Match(Struct, frozen=True):
    """The figures of a claim, the cell that each is compared with, and whether it states the figure."""

    figures: tuple[Quantity, ...]
    cells: tuple[Cell, ...]
    held: tuple[bool, ...]


def listed_for(cell: Cell, text: str) -> Cell:
    """Return an item of a list as a figure of two names if a text says whose list it is, else as it is.

    Whoever has the list is told from the item: `Norway's border with Sweden`, `39% of Chile's exports go to China`.
    """
    said = (cell.label - words(cell.item)) & words(text)
    if not (cell.item and said and cell.names and words(cell.item) & words(text)) or cell.label <= words(text):
        return cell
    owner, item = re.escape(cell.names[0]), re.escape(cell.item)
    both = re.search(rf"\bbetween (?:the )?(?:{owner} and (?:the )?{item}|{item} and (?:the )?{owner})\b", text, re.I)
    has = [re.search(rf"\bof (?:the )?{name}\b|\b{name}(?:['’]|\s+has\b)", text, re.I) for name in (owner, item)]
    way = re.search(rf"\b(from|to)\s+(?:the )?{item}\b", text, re.I)
    wrong = way is not None and (way[1].casefold() == "from") != says("origin", cell.written)
    if not both and (wrong or has[1] or not has[0]):
        return cell
    return replace(cell, label=said, names=(cell.names[0], cell.item))


def ending_so(cells: Sequence[Cell], claim: Told) -> list[Cell]:
    """Return the cells whose label a claim gives by its last part alone: `wind` of its heading.

    No other label of a figure in its units has the words.
    """
    said, units = words(claim.text), {each.unit for each in claim.figures}
    alike = [cell for cell in cells if cell.quantity.unit in units]
    written = {cell.label: cell.written for cell in alike}
    last = {label: words(text.rpartition(",")[2]) for label, text in written.items() if not label <= said}
    ends = {
        label: end
        for label, end in last.items()
        if end < label and end <= said and sum(end <= each for each in written) == 1
    }
    return [replace(cell, label=ends[cell.label]) for cell in alike if cell.label in ends]


def match(claim: Told, cells: Sequence[Cell], context: str = "", extra: frozenset[str] = frozenset()) -> Match | None:
    """Return the labelled figures that a claim is about; None if it says anything else, or if they are ambiguous.

    `context` is the heading above the claim, which may name the subject; `extra` are further words allowed in the claim.
    """
    # Square kilometres are of an area, and a percentage is a rate: `Unemployment in Greece is 10.2%`.
    measured = {"rate" if each.unit == "%" else each.unit for each in claim.figures if len(claim.figures) == 1}
    own_words, kinds = words(claim.text) | measured, (None, kind_said(claim.text))
    scope = [cell for cell in cells if cell.kind in kinds and cell.label <= own_words]
    names = mentioned(claim.text, scope) or [
        name for name in mentioned(context, scope) if words(name) >= words(context)
    ]
    fixed = _figures_in([*names, *(cell.written for cell in scope)])
    figures = [each for each in claim.figures if not words(each.written) & fixed]
    if claim.ordinal or not scope:
        return None
    if any(cell.how for cell in scope):
        if any(cell.label and cell.names for cell in scope):
            names = mentioned(claim.text, cells)
            scope = [cell for cell in scope if not (cell.label and cell.names) or set(cell.names) == set(names)]
        return _returned(claim, figures, names, [cell for cell in scope if cell.how], extra)
    if claim.dates or not figures:
        return None
    owners = _owners(names, len(figures))
    years = _paired(claim.years, len(figures))
    said, near = words(f"{claim.text}\n{context}"), frozenset[str]()
    named = frozenset(word for cell in scope for word in cell.label)
    heads = frozenset(word for cell in scope for word in words(cell.written))
    chosen: list[Cell] = []
    held: list[bool] = []
    for at, figure in enumerate(figures):
        new = _near(claim.text, figures, at) & named
        if new:  # what is said of the first item of a list is said of the others
            near = new if new & heads else new | near & heads
        own = [
            cell
            for cell in scope
            if (cell.label or cell.year in claim.years)
            and (years[at] in (None, cell.year) or not (cell.year or len(figures) == 1))
            and (len(figures) == 1 or cell.label <= near)
        ]
        mine = [cell for cell in own if _is_of(cell, owners[at], said) and _in_order(cell, claim.text.casefold())]
        mine = _closest(mine, claim.text)
        right = [cell for cell in mine if cell.states(figure)]
        if not mine or len({each.label for each in mine}) > 1 or 0 < len(right) < len(mine):
            return None
        chosen.append((right or mine)[0])
        held.append(bool(right))
    extra |= spoken("high", "low", "compared")
    return Match(tuple(figures), tuple(chosen), tuple(held)) if accounted(claim, chosen, extra, fixed) else None


def labelled_figures(claim: str, cells: Sequence[Cell]) -> tuple[tuple[Quantity, Cell], ...]:
    """Return the figures of a claim with the labelled ones that they state; empty if the claim says anything else."""
    found = match(told(claim, cells), cells)
    return tuple(zip(found.figures, found.cells, strict=False)) if found and all(found.held) else ()


def _is_of(cell: Cell, owner: Sequence[str], said: frozenset[str]) -> bool:
    """Return whether a figure is of all that a claim names, or of what its title is about."""
    if cell.names:
        return cell.names[0] in owner and set(owner) <= set(cell.names)
    return not cell.topic or bool(cell.topic & said)


def _in_order(cell: Cell, text: str) -> bool:
    """Return whether a text in lower case has a name before the item of its list: exports of France to Spain are of France."""
    item = text.rfind(cell.item.casefold()) if cell.item else -1
    return item < 0 or not cell.names or text.find(cell.names[0].casefold()) <= item


def _returned(
    claim: Told, figures: Sequence[Quantity], names: Sequence[str], cells: Sequence[Cell], extra: frozenset[str]
) -> Match | None:
    """Return the figures of a query's result that a claim states, in rows with the names that it has."""
    chosen = [] if figures else [cell for cell in cells if cell.label and cell.names]
    owners = _owners(names, len(figures))
    for owner, figure in zip(owners, figures, strict=True):
        row = [cell for cell in cells if _is_of(cell, owner, frozenset())]
        chosen += [cell for cell in row if cell.states(figure)][:1]
    months = [_written_in(each.date, each.written) for each in claim.dates]
    dated = [cell.year for cell in chosen if cell.year]
    if len(chosen) < len(figures) or (dated and claim.years and dated != list(claim.years)):
        return None
    for cell in chosen:
        own = cell.line if _MONTH.search(cell.line) else cell.around  # a row with a month is of no other one
        others = set(_OF_MONTH.findall(cell.written)) - set(months)
        days = f"{cell.line} {cell.how}"  # the rows that a query used have others
        held = all(month in (days if _DAY.search(month) else own) for month in months)
        if others or not held or not set(map(str, claim.years)) <= words(cell.around):
            return None
    accepted = accounted(claim, chosen, extra | spoken("query", "rise", "high", "low", "compared"))
    return Match(tuple(figures), tuple(chosen), (True,) * len(chosen)) if chosen and accepted else None


def _written_in(date: tuple[int, int, int], written: str) -> str:
    """Return how a query has a date that a claim states: `2024-03-01`, `2024-03`, `'03-01`; a month alone as it is written."""
    year, month, day = date
    if not (year or day):
        return written
    return (f"{year}-" if year else "'") + f"{month:02}" + (f"-{day:02}" if day else "")


def _paired(found: Sequence[Any], count: int) -> list[Any]:
    """Return what belongs to each figure: the only one to all, as many as there are in their order, else nothing."""
    if len(set(found)) <= 1:
        return [found[0] if found else None] * count
    return list(found) if len(found) == count else [()] * count


def _owners(names: Sequence[str], count: int) -> list[tuple[str, ...]]:
    """Return the names that each figure is of: all of them for a single one, else one of each."""
    return [tuple(names)] if count == 1 else [(each,) for each in _paired(names, count)]


def _near(text: str, figures: Sequence[Quantity], at: int) -> frozenset[str]:
    """Return the words between a figure and the one before it, and the noun of a population behind it."""
    own = figures[at]
    start = _end(text, figures[at - 1]) if at else 0
    if at and figures[at - 1].unit == "%" and (of := _OF.match(text, start)):
        start = of.end()
    return words(f"{text[start : own.start]} {text[own.end : own.end + _people_behind(text, own)]}")


def _end(text: str, figure: Quantity) -> int:
    """Return where a figure ends with its unit, if that is the noun of a population or a rate: `births/1,000 population`."""
    rate = _OF_RATE.match(text, figure.end)
    return rate.end() if rate else figure.end + _people_behind(text, figure)


def _people_behind(text: str, figure: Quantity) -> int:
    """Return the length of the noun of a population behind a figure; 0 without one."""
    return len(_PEOPLE) * text.startswith(_PEOPLE, figure.end)


def _closest(cells: Sequence[Cell], text: str) -> list[Cell]:
    """Return the cells with the most exact label, as it is written if there is one, and of these the latest year."""
    whole = [words(cell.written) if cell.written.casefold() in text.casefold() else frozenset() for cell in cells]
    exact = [(len(cell.label | said), len(said), bool(cell.names)) for cell, said in zip(cells, whole, strict=True)]
    best = max(exact, default=(0, 0, False))
    same = [cell for cell, each in zip(cells, exact, strict=True) if each == best]
    latest = max((cell.year for cell in same), default=0)
    return [cell for cell in same if cell.year == latest]


def accounted(claim: Told, cells: Sequence[Cell], extra: frozenset[str], fixed: frozenset[str] = frozenset()) -> bool:
    """Return whether all that a claim says are names, labels, units and years of cells, figures, and words between them.

    `fixed` are numbers that are no figures, because they belong to labels.
    """
    text = list(pattern("phrase").sub(lambda phrase: " " * len(phrase[0]), claim.text))
    for each in claim.spans:
        lead = _toward().search(claim.text, max(0, each.start - _LEAD), each.start)
        rate = lead and each.kind == "year" and "per" in words(lead[0])  # `per year (2023)` is no year's number
        start = lead.start() if lead and not rate else each.start
        end = each.start if each.kind == "year" or words(each.written) & fixed else each.end
        text[start:end] = " " * (end - start)
    known = spoken("link", "whole") | extra | {str(year) for year in claim.years}
    for cell in cells:
        known |= cell.label | words(f"{cell.around} {' '.join(cell.names)}")
        known |= spoken("population") if cell.per > 100 else frozenset()
        known |= spoken("toward") if cell.item in cell.names else frozenset()
        known |= spoken("rank", "ranked", "bottom") if cell.rank else frozenset()
    return words("".join(text)) <= known
