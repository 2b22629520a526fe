"""Match the words of a question with the columns and values of a table, by their letters and by meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from research.models.extractive.places import home_of, mentions
from research.models.extractive.similarity import cosine
from research.models.extractive.table_reading import PColumn, PTable
from research.models.extractive.table_units import is_money
from research.text import STOP_WORDS, has_cjk, tokens

_CONNECTING = STOP_WORDS | frozenset(tokens(" ".join(STOP_WORDS)))
"""Words that name no column, as a text has them and as `tokens` gives them."""
NEAR = 0.45
"""Least cosine of a word and the name of a column that means the same; `wind` and `rainfall` have .33."""
EQUAL = 0.8
"""Least cosine of two words that mean the same, forms and languages included; `buyer` and `seller` have .78."""
APART = 0.15
"""Least difference of two cosines that tells two columns apart which have the same words of a question."""
_PREFIX = 4
"""Letters that two forms of a word share: `rain` and `rainfall`."""
_LETTER = r"[^\W\u4e00-\u9fff]"
"""What a word may not go on with; a Chinese character may follow an English name."""
_YES = ("yes", "y", "true", "ja", "oui", "sí", "sì", "sim", "是", "有", "✓")
_NO = ("no", "n", "false", "nein", "non", "nee", "não", "否", "无", "✗")
_MONEY = ("money", "钱")
_NOT = re.compile(r"\b(?:not|never|without|un(?=cancel|paid))\b|n['’]t\b|没有?|未|非", re.I)
_DENIED = re.compile(r"\b(?:not|never|no|without)\s(?:(?:an?|been|yet|have|has|any)\s)*$|n['’]t\s(?:\w+\s)?$", re.I)
_SAID = 0.75
"""Least cosine of a word and the name of a column whose empty cells it denies."""
_WHERE_FROM = re.compile(r"\b(?:from|leaving|out of)\s+(?:the\s+)?$|从\s*$", re.I)
_WHERE_TO = re.compile(r"\b(?:to|into|for|reach(?:ed|ing)?)\s+(?:the\s+)?$|[到至往]\s*$", re.I)
_ORIGIN = re.compile(r"origin|from|source|depart|sender|start|出发|始发|起", re.I)
_GOAL = re.compile(r"destin|\bto\b|arriv|target|receiver|end|目的|到达|终", re.I)
GENERIC = frozenset(
    "row rows item items entry entries record records case cases thing things number amount figure value data table file "
    "year month day week quarter monthly annual yearly daily weekly quarterly overall total individual single whole per each "
    "every across recorded measured according given over time period average mean median sum combined together rate level "
    "between during while within since until after before above below under than did does has had get got go went come came "
    "people person much many most least highest lowest percent percentage part show list name give compare largest biggest "
    "greatest top best maximum max minimum min fewest smallest fastest slowest more higher larger bigger less lower smaller "
    "fewer grow grew grown growing growth increase increased rise rose change changed decline declined fall drop dropped "
    "最高 最低 最多 最少 最大 最小 最快 最慢 增长 增加 上升 下降 减少 变化 "
    "记录 数据 表 表格 年 月 日 季度 每月 每年 平均 总 合计 百分比 占 一共 所有 全部 分别 情况".split()
)
_APART = (
    re.compile(r"profit|margin|利润|毛利", re.I),
    re.compile(r"revenue|sales|turnover|营业额|销售额|营收", re.I),
    re.compile(r"cost|expens|spend|成本|支出|费用", re.I),
    re.compile(r"price|单价|价格", re.I),
    re.compile(r"loss|亏损", re.I),
    re.compile(r"tax|税", re.I),
    re.compile(r"quantit|数量|销量", re.I),
)
"""Measures that vectors confuse: a question for one of them is not answered with another."""


_BEYOND = re.compile(r"(?:over|under)(?=[a-z]{4})")
"""Matches a word for what is more or less than a figure, not the figure: `overspend`."""


class Match(Struct, frozen=True):
    """A column that a word means."""

    column: PColumn
    score: float
    """1 for the same word, else the cosine."""
    word: str


class Filter(Struct, frozen=True):
    """A value of a column that a question names."""

    column: PColumn
    value: str
    """Empty for cells without one."""
    start: int
    end: int


def words_of(text: str) -> list[str]:
    """Return the words of a text that may name a column, in order."""
    return [word for word in tokens(text) if word not in _CONNECTING and not word[0].isdigit()]


def same(word: str, other: str) -> bool:
    """Return whether two words have the same stem, or one begins with the other."""
    if word == other:
        return True
    if has_cjk(word) or has_cjk(other):
        return (
            min(len(word), len(other)) > 0
            and (other.startswith(word) or word.startswith(other))
            and word[0] == other[0]
        )
    short, long = sorted((word, other), key=len)
    if len(short) < _PREFIX:
        return False
    return long.startswith(short) or (len(short) > 5 and long[: len(short) - 2] == short[:-2])


def likeness(word: str, column: PColumn) -> float:
    """Return how well a word names a column: 1 for a word of its name, a cosine for one with its meaning, or 0."""
    if any(same(word, each) for each in column.words) or (word in _MONEY and is_money(column.unit)):
        return 1.0
    if apart(word, column.name) or _BEYOND.match(word):
        return 0.0
    near = max(cosine(word, column.name.replace("_", " ")), *(cosine(word, each) for each in column.words or (word,)))
    if not column.words:
        return 0.0
    return near if near >= NEAR else 0.0


def apart(words: str, name: str) -> bool:
    """Return whether words ask for another measure than the one that a column has."""
    asked = [pattern for pattern in _APART if pattern.search(words)]
    return bool(asked) and not any(pattern.search(name) for pattern in asked) and any(p.search(name) for p in _APART)


def best(words: Sequence[str], columns: Sequence[PColumn], beside: int | None = None) -> Match | None:
    """Return the column that the words mean: the one that most of them name, then the one that is nearest in meaning.

    `beside` is the position of the word next to a superlative, which counts more.
    """
    if not words or not columns:
        return None
    phrase = " ".join(words)
    weight = [0.4 / (1 + abs(i - beside)) if beside is not None else 0.0 for i in range(len(words))]
    scored = []
    for column in columns:
        each = [likeness(word, column) for word in words]
        top = max(range(len(words)), key=lambda i: each[i])
        if each[top]:
            named = len({own for own in column.words if any(same(word, own) for word in words)})
            beside_it = max(extra for extra, score in zip(weight, each, strict=True) if score)
            total = named + 0.5 * named / max(1, len(column.words)) + (0 if named else each[top])
            scored.append((total + 0.3 * cosine(phrase, column.name) + beside_it, each[top], column, words[top]))
    if not scored:
        whole = [(cosine(phrase, column.name), column) for column in columns if not apart(phrase, column.name)]
        near, column = max(whole, key=lambda pair: pair[0], default=(0.0, columns[0]))
        return Match(column, near, words[-1]) if near >= NEAR else None
    scored.sort(key=lambda item: -item[0])
    if (len(scored) > 1 and scored[0][0] - scored[1][0] < 0.02) or len(rivals(words, columns)) > 1:
        return None  # two columns are equally likely
    _, score, column, word = scored[0]
    return Match(column, score, word)


def rivals(words: Sequence[str], columns: Sequence[PColumn]) -> list[PColumn]:
    """Return the columns that words name best; several if the words do not tell them apart: `goals for`, `goals against`."""
    phrase = " ".join(words)
    counted = [(len({own for own in each.words if any(same(word, own) for word in words)}), each) for each in columns]
    scores = [(named + named / max(1, len(each.words)), each) for named, each in counted]
    most = max((score for score, _ in scores), default=0.0)
    equal = [each for score, each in scores if score == most > 0]
    near = [cosine(phrase, each.name.replace("_", " ")) for each in equal]
    return [each for each, score in zip(equal, near, strict=True) if max(near) - score < APART]


def filters(text: str, table: PTable) -> list[Filter] | None:
    """Return the values of the table that a question names; None if one may be in either of two columns."""
    found: list[Filter] = []
    for column in table.of_type("text"):
        for value in column.values:
            found += [Filter(column, value, *place) for place in _places(text, value, column)]
    found.sort(key=lambda each: (each.start - each.end, each.start))
    kept: list[Filter] = []
    for each in found:
        rivals = [other for other in kept if each.start < other.end and other.start < each.end]
        alike = [other for other in rivals if (other.start, other.end) == (each.start, each.end)]
        if alike and alike[0].column is not each.column:
            chosen = _told_apart(text, each, alike[0])
            if chosen is None:
                return None
            kept[kept.index(alike[0])] = chosen
        elif not rivals:
            kept.append(each)
    kept += [each for column in table.of_type("text") for each in _in_part(text, column, kept, table)]
    kept += [*_flags(text, table, kept), *_of_number(text, table, kept)]
    return [*kept, *_empty(text, table, kept)]


def _in_part(text: str, column: PColumn, kept: Sequence[Filter], table: PTable) -> list[Filter]:
    """Return the values of a column of which a question has a part.

    Those of which it has two words and half, at least, and apart from each other: *cold store unit*.  Or those that begin
    with a name of it, if no other does: *Venlo* of `Venlo Trade Port`; in the column that names the rows, with any word
    that names no column: *diesel* of `Diesel sales`.
    """
    if any(each.column is column for each in kept) or has_cjk(text):
        return []
    words = [(match, tokens(match.group())) for match in re.finditer(r"[^\W\d_]+", text)]
    held: dict[str, list[re.Match[str]]] = {}
    for value in column.values:
        own = set(words_of(value))
        named = own.intersection(word for _, said in words for word in said)
        if len(named) > 1 and 2 * len(named) >= len(own):
            held[value] = [match for match, said in words if own.intersection(said)]
    best = [value for value in held if len(held[value]) == max(map(len, held.values()))]
    if best:  # *the acacia or the linden jar*: each has a word that no other one has
        alone = [[match for match in held[each] if sum(match in held[other] for other in best) == 1] for each in best]
        return [Filter(column, each, *at[0].span()) for each, at in zip(best, alone, strict=True)] if all(alone) else []
    found = []
    heads = {word for each in table.columns for word in each.words}.union(words_of(f"{table.title} {table.file}"))
    rows = table.unique(column) or table.by_month
    for match, stems in words:
        word = match.group()
        tells = (word.istitle() and len(word) > 2) or (rows and len(word) > _PREFIX and heads.isdisjoint(stems))
        free = match.start() and not any(each.start < match.end() and match.start() < each.end for each in kept)
        if not (tells and free):
            continue
        begins = re.compile(rf"{word}(?!{_LETTER})", re.I if rows else 0)
        begun = [each for each in column.values if begins.match(each)]
        if len(begun) == 1:
            found.append(Filter(column, begun[0], *match.span()))
    return found


def _of_number(text: str, table: PTable, kept: Sequence[Filter]) -> Iterator[Filter]:
    """Yield the filter on the figure by which a table is ordered, beside its name: `10 years` of *Years of service*."""
    first = table.columns[0]
    if first.type != "number" or not first.low:
        return
    name = first.name if has_cjk(first.name) else rf"(?:{'|'.join(map(re.escape, first.words))})[a-z]{{0,2}}"
    figure = re.compile(rf"(?<![\d.])(?:(?P<a>\d[\d.]*)\s?{name}|{name}\s?(?P<b>\d[\d.]*))(?![\d.]*\d)", re.I)
    for match in figure.finditer(text):
        if not any(each.start < match.end() and match.start() < each.end for each in kept):
            yield Filter(first, match["a"] or match["b"], *match.span())


def is_flag(value: str) -> bool:
    """Return whether a value says yes or no."""
    return value.casefold() in (*_YES, *_NO)


def says_whether(column: PColumn) -> bool:
    """Return whether a column holds yes and no."""
    return bool(column.values) and all(map(is_flag, column.values))


def _places(text: str, value: str, column: PColumn) -> list[tuple[int, int]]:
    if is_flag(value):
        return []
    if has_cjk(value):
        forms = [form for form in (value, value.removesuffix(column.name)) if len(form) > 1]
        found = ([match.span() for match in re.finditer(re.escape(form), text)] for form in forms)
        return next(filter(None, found), []) or _abroad(text, value)
    plural = "(?:(?:n|an|ian)?s?|e?s|['’]s)?" if len(value) > 2 and not value[-1].isdigit() else ""
    pattern = re.compile(rf"(?<!{_LETTER}){re.escape(value)}{plural}(?!{_LETTER})", re.IGNORECASE)
    places = [match.span() for match in pattern.finditer(text)]
    if len(value) > 2 and not value.isdigit():
        return places or _folded(text, value) or _abroad(text, value)
    if value.isupper() and not text.isupper():  # *IT* is no pronoun
        return [(a, b) for a, b in places if text[a : a + len(value)] == value]
    heads = column.words
    return [
        (a, b)
        for a, b in places
        if any(same(word, head) for word in words_of(text[max(0, a - 25) : a])[-2:] for head in heads)
        or (has_cjk(text) and (column.name in text or likeness(text[:a].rstrip()[-2:], column) >= _SAID))
    ]


def _abroad(text: str, value: str) -> list[tuple[int, int]]:
    """Return where a country is named in another way than in its cell: `German` for `Deutschland`."""
    country = home_of(value)
    return [each.place for each in mentions(text) if each.names == (country,)] if country else []


def _folded(text: str, value: str) -> list[tuple[int, int]]:
    """Return where another number of the value's word is: `desk` for `Desks`, `libraries` for `Library`."""
    wanted = tokens(value)
    if len(wanted) != 1:
        return []
    return [match.span() for match in re.finditer(r"[^\W\d_]+", text) if tokens(match.group()) == wanted]


def _told_apart(text: str, one: Filter, other: Filter) -> Filter | None:
    before = text[: one.start]
    for here, there in ((_WHERE_FROM, _ORIGIN), (_WHERE_TO, _GOAL)):
        if here.search(before):
            fitting = [each for each in (one, other) if there.search(each.column.name)]
            if len(fitting) == 1:
                return fitting[0]
    near = text[max(0, one.start - 30) : one.end + 20]
    named = [each for each in (one, other) if any(same(w, own) for w in words_of(near) for own in each.column.words)]
    return named[0] if len(named) == 1 else None


def _empty(text: str, table: PTable, kept: Sequence[Filter]) -> Iterator[Filter]:
    """Yield filters on the empty cells of columns that the question denies: `unpaid` where `paid on` is empty."""
    columns = [each for each in table.columns if each.blank and not any(each is other.column for other in kept)]
    if not columns:
        return
    for match in re.finditer(r"(?:still )?([^\W\d_]+)", text):
        word = match[1].lower()
        bare = word.removeprefix("un")
        denied = bare != word or _DENIED.search(text[: match.start()])
        for column in columns:
            if denied and len(bare) > 3 and likeness(bare, column) >= _SAID:
                yield Filter(column, "", *match.span())
                return


def _flags(text: str, table: PTable, kept: Sequence[Filter]) -> list[Filter]:
    """Return filters on columns of yes and no whose name the question has: `cancelled`."""
    found = []
    head = words_of(f"{table.title} {table.file}")
    for column in table.of_type("text"):
        values = {value.casefold(): value for value in column.values}
        if not says_whether(column) or any(each.column is column for each in kept):
            continue
        if has_cjk(column.name):
            own = [column.name.removeprefix("是否")]
        else:  # not the warehouse of `bonded warehouse`
            others = [word for each in table.columns if each is not column for word in each.words]
            own = [word for word in column.words if word not in (*others, *head)]
        places = [_place_of(word, text) for word in own]
        if not places or not all(places):
            continue
        start, end = min(place[0] for place in places), max(place[-1] for place in places)
        before = text[:start]
        wanted = _NO if _NOT.search(before[-12:]) or _DENIED.search(before) else _YES
        value = next((values[each] for each in wanted if each in values), None)
        if value is not None:
            found.append(Filter(column, value, start, end))
    return found


def _place_of(word: str, text: str) -> tuple[int, ...]:
    """Return where a text has a word in some form or language; empty if it has not."""
    if has_cjk(word):
        at = text.find(word)
        return (at, at + len(word)) if at >= 0 else ()
    for match in re.finditer(r"[^\W\d_]+", text):
        said = tokens(match.group())
        if any(same(each, word) or (len(each) > _PREFIX and cosine(each, word) >= EQUAL) for each in said):
            return match.span()
    return ()
