"""Answer a question that offers two things: which of them, or whether something holds for both.

Two things are compared by the dates or figures that their documents state; a choice is sure only if both state one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from research.models.extractive.evidence import Fact
from research.models.extractive.passages import Page, Wanted, keys, mentioned
from research.models.extractive.prose import Prose
from research.models.extractive.spans import tells_life
from research.quantities import Quantity, quantities
from research.text import has_cjk

_CUE = r"which|who|whose|whom|what|is|are|was|were|did|does|do|has|have|had"
_PAIR = (
    (
        re.compile(
            r"[,:：]\s{0,9}(?:either\s{1,9})?(?P<a>[^,:?]{1,300}?),?\s{1,9}or\s{1,9}(?P<b>[^,?]{1,300}?)"
            r"\W{0,9}$",
            re.I,
        ),
        False,
    ),
    (
        re.compile(
            r"^\W{0,9}(?:of|between)\s{1,9}(?P<a>[^,?]{1,300}?)\s{1,9}(?:and|or)\s{1,9}(?P<b>[^,?]{1,300}?),", re.I
        ),
        False,
    ),
    (
        re.compile(
            r"^\W{0,9}(?:which|who)(?: one)? (?:of|between)\s{1,9}(?P<a>[^,?]{1,300}?)"
            r"\s{1,9}(?:and|or)\s{1,9}(?P<b>[^,?]{1,300}?)\W{0,9}$",
            re.I,
        ),
        True,
    ),
    (
        re.compile(
            rf"^\W{{0,9}}(?:{_CUE})\b(?P<a>[^?]{{1,300}}?),?\s{{1,9}}or\s{{1,9}}(?P<b>[^?]{{1,300}}?)\W{{0,9}}$", re.I
        ),
        True,
    ),
    (
        re.compile(r"(?P<a>[^，。？是]{2,20}?)[和与跟](?P<b>[^，。？]{2,20}?)(?:相比)?，?(?:谁|哪一?[个座家所位])"),
        False,
    ),
    (re.compile(r"(?P<a>[^，。？是]{2,20}?)，?还是(?P<b>[^，。？]{2,20}?)(?:[，？?]|$)"), False),
)
"""Patterns of the two things in a question, the surest first, and whether other words may be next to them."""
_BOTH = re.compile(r"\bboth\b|\bin common\b|\bsame\b|都|相同|同一", re.I)
_MARKS = " \"“”'‘’,.;:?？"
_NAME = re.compile(r"[A-Z\d][\w.'’&!-]*(?:\s+(?:(?:of|the|and|in|on|for|de|von)\s+)*[A-Z\d][\w.'’&!-]*)*")
_EARLY = re.compile(r"\b(?:first|earlier|earliest|older|oldest|before|sooner)\b|[更最较]早|先|年长|年纪[更较]?大", re.I)
_LATE = re.compile(
    r"\b(?:later|latest|last|after|younger|youngest|newer|newest|more recent(?:ly)?)\b|[更最较]晚|年轻|年纪[更较]?小",
    re.I,
)
_AGED = re.compile(
    r"\b(?:greater|higher|older|younger|more advanced) age\b|\b(?:live|lived) (?:longer|to be older)\b|享年|长寿", re.I
)
_MORE = re.compile(
    r"\b(?:more|most|greater|greatest|larger|largest|bigger|biggest|higher|highest|taller|tallest|longer|longest|deeper|"
    r"deepest|wider|heavier)\b|[更最较][多大高长深宽重]",
    re.I,
)
_LESS = re.compile(
    r"\b(?:less|fewer|fewest|smaller|smallest|lower|lowest|shorter|shortest|lighter)\b|[更最较][少小低矮短浅窄轻]", re.I
)
_UNITS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(?:tall|high|long|deep|wide|short)(?:er|est)\b|[高长深宽矮短浅]", re.I), "length"),
    (re.compile(r"\barea\b|面积", re.I), "area"),
)
"""Comparatives with the dimension of the figures that they compare."""
_LIKE: tuple[frozenset[str], ...] = tuple(
    frozenset(line.split())
    for line in (
        "born birth older younger oldest youngest 出生 生于 年长 年轻",
        "died dead death die 去世 逝世 卒",
        "founded established set created formed started launched founding began incorporated opened 创办 创立 成立 建立 "
        "创建 始建",
        "built completed finished constructed construction erected opened 建成 完工 竣工 通车",
        "released release published aired premiered issued debuted filmed appeared launched published 发行 出版 上映",
        "inhabitants people residents population living 居民 人口 人",
        "students pupils student 学生",
        "awarded received won award 获 获得 授予",
    )
)
"""Words for the same event or the same thing that is counted."""
_OLDER = re.compile(r"\b(?:older|oldest|younger|youngest|newer|newest)\b", re.I)
_MADE = frozenset(("founded", "established", "created", "opened", "built", "completed", "designed", "创办", "建成"))
"""Words for the events that the age of a thing is counted from."""


class Choice(Struct, frozen=True):
    """The answer to a question that offers two things."""

    answer: str
    """The thing, as the question writes it; or `yes` or `no`."""
    facts: tuple[Fact, ...] = ()
    """The lines that decide, that of the answer first."""
    figures: tuple[str, ...] = ()
    """The date or figure in each of these lines."""
    names: tuple[str, ...] = ()
    """The thing that each of these lines is about."""
    sure: bool = False


class _Side(Struct, frozen=True):
    """One of the two things, with the lines that are about it."""

    name: str
    lines: tuple[Fact, ...]


class _Found(Struct, frozen=True):
    """A date or figure of one of the two things."""

    value: tuple[float, ...]
    written: str
    fact: Fact


def things(question: str) -> tuple[str, str] | None:
    """Return the two things that a question offers, as it writes them; None if it offers none.

    >>> things("Which was founded first, Alder House or Birch House?")
    ('Alder House', 'Birch House')
    """
    if _BOTH.search(question):
        return None
    for pattern, loose in _PAIR:
        if match := pattern.search(question):
            a, b = (match[part].strip(_MARKS) for part in "ab")
            if loose:
                a, b = _trimmed(a, last=True), _trimmed(b, last=False)
            if a and b and a.casefold() != b.casefold() and _thing(a) and _thing(b):
                return a, b
    return None


def choose(prose: Prose) -> Choice | None:
    """Return which of two things a question asks for; None if it offers none or no document is about either."""
    question = prose.wanted.text
    found = things(question)
    if found is None:
        return None
    sides = [_Side(name, tuple(_lines(name, prose.pages))) for name in found]
    if not any(side.lines for side in sides):
        return None
    return _by_value(sides, prose.wanted) or _by_words(sides, prose.wanted)


def _thing(text: str) -> bool:
    return has_cjk(text) or any(word[:1].isupper() or word[:1].isdigit() for word in text.split())


def _trimmed(text: str, *, last: bool) -> str:
    """Return the name next to the conjunction, without other words of the question; empty if no name is there."""
    quoted = re.findall(r"[\"“]([^\"“”]+)[\"”]?", text)
    named = quoted or _NAME.findall(text)
    if not named:
        return ""
    name: str = named[-1] if last else named[0]
    at = text.rfind(name) if last else text.find(name)
    beside = text[at + len(name) :] if last else text[:at]
    if not quoted and beside.strip(_MARKS).lower() not in ("", "the"):
        return ""
    return f"the {name}" if text[:at].lower().endswith("the ") else name


def _lines(name: str, pages: Sequence[Page]) -> Iterator[Fact]:
    """Yield the lines about a thing: those of the document named so, or those with all words of its name."""
    wanted = keys(name)
    homes = [page for page in pages if mentioned(page.name, name) or mentioned(name, page.name)]
    homes.sort(key=lambda page: -len(page.name))
    for home in homes[:1]:
        beyond = wanted - keys(home.title)
        yield from (fact for fact in home.lines if not beyond or beyond & keys(fact.line))
    for page in pages:
        if page not in homes[:1]:
            yield from (fact for fact in page.lines if wanted and wanted <= keys(fact.line))


def _by_value(sides: Sequence[_Side], wanted: Wanted) -> Choice | None:
    """Return the choice by dates or figures; None if the documents do not state one for both."""
    text = wanted.text
    for name in (side.name for side in sides):
        text = text.replace(name, " ")
    early, late, aged = _EARLY.search(text), _LATE.search(text), _AGED.search(text)
    more, less = _MORE.search(text), _LESS.search(text)
    if aged:
        found, most = [_age(side) for side in sides], "younger" not in aged.group()
    elif (early or late) and not (more and not re.search(r"recent", text)):
        found, most = [_date(side, _events(text)) for side in sides], not early
        if not any(found) and _OLDER.search(text):
            found = [_date(side, _MADE) for side in sides]
    elif more or less:
        found, most = [_figure(side, text, wanted) for side in sides], not less
    else:
        return None
    first, second = found
    if first is None or second is None or first.value == second.value:
        return None
    at = (first.value > second.value) != most
    order = (1, 0) if at else (0, 1)
    chosen = [(sides[i], found[i]) for i in order]
    return Choice(
        answer=chosen[0][0].name,
        facts=tuple(each.fact for _, each in chosen if each),
        figures=tuple(each.written for _, each in chosen if each),
        names=tuple(side.name for side, _ in chosen),
        sure=True,
    )


def _events(text: str) -> frozenset[str]:
    """Return the words for the event whose date is asked for."""
    said = set(re.findall(r"[a-z]+", text.lower()))
    found: set[str] = set()
    for group in _LIKE:
        if said & group or any(has_cjk(word) and word in text for word in group):
            found |= group
    return frozenset(found)


def _date(side: _Side, events: frozenset[str]) -> _Found | None:
    """Return the date nearest to a word for the event."""
    best: tuple[float, _Found] | None = None
    for fact in side.lines:
        dates = [q for q in quantities(fact.line) if q.kind in ("date", "year") and (q.value or q.date[0])]
        life = tells_life(fact.line)
        for rank, q in enumerate(dates):
            near = min((_gap(q, at, fact.line) for at in _places(events, fact.line)), default=200)
            if life and rank < 2 and {"born", "died"} & events:
                near = 0 if ("born" in events) == (rank == 0) else 200
            if near < 200 and (best is None or near < best[0]):
                best = (near, _Found(_day(q), q.written, fact))
    return best[1] if best else None


def _gap(q: Quantity, at: int, line: str) -> float:
    """Return the distance of a date from a word; greater if the date comes first or a clause ends between."""
    between = line[min(at, q.start) : max(at, q.start)]
    return len(between) + (25 if q.start < at else 0) + 40 * len(re.findall(r"[;；。]|, (?:and|but|when)\b", between))


def _places(words: Iterable[str], line: str) -> list[int]:
    low = line.lower()
    return [
        match.start()
        for word in words
        for match in re.finditer(re.escape(word) if has_cjk(word) else rf"\b{re.escape(word)}\b", low)
    ]


def _day(q: Quantity) -> tuple[float, ...]:
    return tuple(map(float, q.date)) if q.kind == "date" else (q.value, 0.0, 0.0)


def _age(side: _Side) -> _Found | None:
    """Return how old somebody became, from the dates of birth and death."""
    for fact in side.lines:
        dates = [q for q in quantities(fact.line) if q.kind in ("date", "year")]
        if tells_life(fact.line) and len(dates) > 1:
            born, died = _day(dates[0]), _day(dates[1])
            years = died[0] - born[0] - (died[1:] < born[1:] and bool(born[1] and died[1]))
            return _Found((years,), f"{dates[0].written} – {dates[1].written}", fact)
    return None


def _figure(side: _Side, text: str, wanted: Wanted) -> _Found | None:
    """Return the figure in the unit, or of the things, that the question compares."""
    unit = next((unit for pattern, unit in _UNITS if pattern.search(text)), "")
    words = _events(text) or frozenset(wanted.words[at] for at in wanted.asked if not _MORE.search(wanted.words[at]))
    best: tuple[float, _Found] | None = None
    for fact in side.lines:
        for q in quantities(fact.line):
            if q.kind != "number" or q.hedge in ("over", "under") or (unit and q.unit != unit):
                continue
            near = min((abs(q.end - at) for at in _places(words, fact.line)), default=200)
            near = min(near, 100 - len(keys(fact.line) & keys(text))) if unit else near
            if (unit or near <= 20) and (best is None or near < best[0]):
                best = (near, _Found((q.value,), q.written, fact))
    return best[1] if best else None


def _by_words(sides: Sequence[_Side], wanted: Wanted) -> Choice | None:
    """Return the thing of which the documents say more of what is asked; never sure."""
    asked = wanted.asked or wanted.words.keys()
    named = keys(" ".join(side.name for side in sides))
    asked = (asked | wanted.named) - named
    shares = [
        max(
            ((wanted.share(keys(fact.line), asked), fact) for fact in side.lines),
            key=lambda each: each[0],
            default=None,
        )
        for side in sides
    ]
    ranked = sorted(
        (
            (share[0], -n, side.name, share[1])
            for n, (side, share) in enumerate(zip(sides, shares, strict=True))
            if share
        ),
        reverse=True,
    )
    if not ranked:
        return None
    return Choice(ranked[0][2], (ranked[0][3],), names=(ranked[0][2],))
