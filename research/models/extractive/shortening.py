"""The answer in one line: what the report calls its answer, or the span of the kind that is asked for."""

from __future__ import annotations

import re

from research.citations import without_marks
from research.models.extractive.asked import Asked, named
from research.models.extractive.coverage import Told, telling
from research.models.extractive.kinds import Kind
from research.models.extractive.names import contains_name, is_country, key, names
from research.models.extractive.opposites import stem
from research.quantities import quantities
from research.text import STOP_WORDS, clip, has_cjk, tokens

LONGEST = 120
"""Most characters of a short answer."""
_YES = re.compile(r"^\W*(?P<said>yes|no|是的?|否|不是|对|没有|有)(?![\w\u4e00-\u9fff])", re.I)
_FIRST = re.compile(r"\*\*(?P<said>[^*\n]{1,120})\*\*[.。]?(?: ?\[\d+\])+[.。]?\s*(?:\n|$)")
"""Matches a first line that is nothing but the answer in bold type with its mark."""
_TITLE = re.compile(r"^# [^\n]*\n+", re.M)
"""Matches the title of a report, which repeats the question with all its options."""
_QUOTED = re.compile(r"[^\n“*]{1,300}: “")
"""Matches a report that begins with a sentence of a source, because no part of it is clearly the answer."""
_REFUSED = re.compile(r"The passages that were found name |找到的段落谈到")
"""Matches what the offline model writes if no sentence states what is asked."""
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|took|does|do|did)\b|[是为有]", re.I)
_BY = re.compile(
    r"\bby how (?:much|many)\b|\bhow (?:much|many) (?:more|less|fewer|higher|lower|longer|larger)\b|\bdifference\b|"
    r"\bgap\b|\bcombined\b|\btogether\b|\badd(?:ed)? up\b|相差|差多少|合计|加起来|总和",
    re.I,
)
_CHANGE = re.compile(
    r"\b(?:by|(?:increase|decrease|rise|fall|drop|gain|loss|growth|difference|gap|change) of|(?:gap|"
    r"difference|sum|total) is)\b|\btogether:|\b(?:sum|total) of\b|合计：?|相差|增长了?|下降了?",
    re.I,
)
_MEASURE = re.compile(
    r"\b(?:population|rate|area|length|revenue|turnover|profit|number|share|percentage|proportion|fraction|part|gdp|"
    r"age|density|height|"
    r"value|cost|price|budget|expectancy|size|weight|total|amount|ratio|coefficient|index|distance|speed|temperature|"
    r"salary|debt|"
    r"expenditure|spending|consumption|production|output)\b|率|数|面积|量|寿命|年龄|比例",
    re.I,
)
_MOVED = re.compile(
    r"\bfrom (?P<one>[^,;]{1,40}?) in (?P<a>(?:1[5-9]|20)\d\d) to (?P<two>[^,;]{1,40}?) in (?P<b>(?:1[5-9]|20)\d\d)\b"
)
"""Matches both values in a statement of a change: `rose by 1.2 %, from $3.689 trillion in 2023 to $3.732 trillion in 2024`."""
_ENDS = (("two", "b"), ("one", "a"))
_GROWN = re.compile(r"\b(?:gr[oe]w|ris|rose|fall|fell|increas|decreas|declin|chang|drop)", re.I)
_YEAR_AFTER = re.compile(r"\s{0,9}[(（]?(?:in |as of |est\.? )?(?:1\d{3}|20\d\d)(?![\d.,]\d|\d)(?: est\.?| 年)?[)）]?")


def asks_one_figure(text: str) -> bool:
    """Return whether a Chinese question about several things asks for one figure: a difference or a sum."""
    return has_cjk(text) and _BY.search(text) is not None


def refuses(report: str) -> bool:
    """Return whether a report of the offline model says that no sentence states what is asked."""
    return _REFUSED.match(report) is not None


_WHICH_ZH = re.compile(
    r"(?:哪[个国座一]|谁).{0,300}(?:[更最较]|[高低大小多少长短早晚][？?]?$)|[更最较].{0,300}(?:哪[个国座一]|谁)"
)
_COUNT_ZH = re.compile(r"(?:多少|几)个国家")
_LIST_ZH = re.compile(r"国家(?:有|是)哪些|哪些国家")
_GROWN_ZH = re.compile(r"增长|增加|减少|下降|上升|变化|涨|跌")
_SAID_ZH = (
    re.compile(r"[^，。：]{1,40}：[^，。：]{1,40}：(?P<value>[^（。]+)"),
    re.compile(r"从\d{4}年的[^。]{0,200}?到\d{4}年的(?P<value>[^，。（]+)"),
    re.compile(r"[^，。：（]{2,60}?[为是](?P<value>[^，。；（]{0,20}\d[^，。；（]{0,20})"),
)
"""How a Chinese statement gives a value: `日本：总人口：…`, `从2023年的…到2024年的…`, `日本的人口密度为…`."""


_WINNER = re.compile(r"\*\*(?P<name>[^*]{2,60})\*\* has the \w+ ")
_WHO = re.compile(
    r"^\W*(?:which|who|whose|what country)\b|\bwhich (?:one|of|country|nation|state)\b|, which\b|^of .*which", re.I
)


def short_answer(asked: Asked, told: Told, report: str) -> str:
    """Return the answer in one line; empty if the question asks for a text or the statement has no such span.

    A span is in the cited passages, except yes, no, an option of the question, and a figure that was calculated.
    """
    if asked.open or _LIST_ZH.search(asked.text):
        return ""
    report = _TITLE.sub("", report)
    if (first := _FIRST.match(report)) and (words := _clean(first["said"])):
        return _yes(words) if asked.kind == "whether" and _YES.fullmatch(words) else words
    if _QUOTED.match(report) or refuses(report):
        return ""
    if (winner := _WINNER.match(report)) and _WHO.search(asked.text) and not asked.many:
        return winner["name"]
    if asked.options:
        return _option(asked.options, report)
    if asked.kind == "whether":
        yes = _YES.match(_clean(report))
        return _yes(yes["said"]) if yes else ""
    line = told.text.partition("\n")[0]
    span = _span(asked, asked.kind, line)
    return span if span and _backed(span, told) else ""


def _option(options: tuple[str, ...], report: str) -> str:
    """Return the one option that is named first in the answer; empty if two are named without a choice."""
    places = []
    plain = _clean(report)
    for option in options:
        match = re.search(re.escape(option), plain, re.I)
        if match or contains_name(plain, key(option)):
            places.append((match.start() if match else len(plain), option))
    return min(places)[1] if places else ""


def _yes(word: str) -> str:
    low = word.lower()
    return {"yes": "yes", "no": "no"}.get(low, "是" if low[0] in "是对有" else "否")


def _clean(text: str) -> str:
    """Return a text without marks and emphasis."""
    return re.sub(r"[*_`]{1,3}", "", without_marks(text)).strip().rstrip(".。").strip()


def _backed(span: str, told: Told) -> bool:
    """Return whether the passages contain a span, or all of its words and figures."""
    seen = told.evidence
    if span.casefold() in seen.casefold():
        return True
    if told.vouched and has_cjk(told.text) and not has_cjk(seen) and span in told.text:
        return True  # a judge has compared the translation with its source
    figures = [q for q in quantities(span) if q.kind in ("number", "date", "year")]
    if figures:
        there = quantities(f"{seen}\n{told.formulas}")
        return all(any(q.states(other) for other in there) for q in figures)
    words = set(tokens(span))
    return bool(words) and words <= set(tokens(seen))


def _span(asked: Asked, kind: Kind | None, line: str) -> str:
    """Return the span of the kind in a statement."""
    if has_cjk(line) and has_cjk(asked.text) and (said := _span_zh(asked, kind, line)):
        return said
    labelled = re.match(r"[^.。]{2,90}[:：]\s", line) and not _VERB.search(re.split(r"[:：]\s", line)[0])
    value = re.split(r"[:：]\s", line)[-1] if labelled else line
    if _BY.search(asked.text):
        change = _CHANGE.search(value)
        return _figure(asked, value[change.end() :]) if change else ""
    if (moved := _MOVED.search(value)) and kind in ("number", "name") and not _GROWN.search(asked.text):
        return next((_clean(moved[said]) for said, at in _ENDS if moved[at] in asked.text), "")
    if kind in ("year", "date"):
        return next((value[q.start : q.end] for q in quantities(value) if q.kind in ("year", "date")), "")
    if kind == "number":
        return _figure(asked, value)
    if value is not line:  # `Japan: Capital, name: Tokyo`
        figures = _figure(asked, value) if re.match(r"\W*[$€£¥]?\d", value) else ""
        return figures or clip(_clean(re.split(r"\s{0,9}[;；(（]", value)[0]), LONGEST)
    if kind == "name" and _MEASURE.search(asked.text):
        return _figure(asked, value)
    fresh = [name for name in named(f"- {line}") if not _in(name, asked.text)]
    if asked.many:
        return ", ".join(fresh[: asked.many]) if len(fresh) >= asked.many else ""
    if kind == "person":
        fresh = [name for name in fresh if not is_country(key(name))] or fresh
    if kind in ("person", "place", "name"):
        return _nearest(fresh, line, asked)
    return _figure(asked, value)


def _span_zh(asked: Asked, kind: Kind | None, line: str) -> str:
    """Return the value of a Chinese statement, or the name that is asked for; empty if its form is unknown."""
    if _BY.search(asked.text) or kind in ("year", "date", "whether"):
        return ""
    if _COUNT_ZH.search(asked.text) and (counted := re.search(r"有 ?(\d+个)国家", line)):
        return counted[1]
    if _WHICH_ZH.search(asked.text) and kind != "number":
        return next((name for place, name, _ in names(line) if place < 2), "")
    grown = _GROWN_ZH.search(asked.text) is not None
    for pattern in _SAID_ZH[: 1 if grown else 3]:
        if match := pattern.search(line):
            return clip(_clean(re.split(r"\s{0,9}[;；(（]", match["value"].strip("“”"))[0]), LONGEST)
    return ""


def _figure(asked: Asked, value: str) -> str:
    """Return the first figure that is not in the question, with its unit and the year after it."""
    known = [q for q in quantities(asked.text) if q.kind == "number"]
    for q in quantities(value):
        if q.kind != "number" or q.weak or any(q.states(other) for other in known):
            continue
        year = _YEAR_AFTER.match(value, q.end)
        unit = re.match(r"\s?(?:sq km|bbl/day|kWh?|[A-Za-z%°/]+(?:/[\d,]*\s?[a-z ]+)?)?", value[q.end :])
        if counter := re.match(r"[\u4e00-\u9fff]{1,4}(?=[（，。；]|$)", value[q.end :]):
            return _clean(value[q.start : q.end + counter.end()])
        follows = unit and value[q.end : q.end + 1] in (" ", "%") and unit.group().strip() not in STOP_WORDS
        end = year.end() if year else q.end + (unit.end() if unit and follows else 0)
        after = _YEAR_AFTER.match(value, end)
        return _clean(value[q.start : after.end() if after else end])
    return ""


def _nearest(names: list[str], line: str, asked: Asked) -> str:
    """Return the name that is nearest to a word of the question."""
    wanted = {stem(word) for word in telling(asked)}
    places = [match.start() for match in re.finditer(r"\w+", line) if stem(match.group().lower()) in wanted]

    def distance(name: str) -> int:
        at = line.find(name)
        return min((abs(at - place) for place in places), default=at)

    return min(names, key=distance, default="")


def _in(name: str, text: str) -> bool:
    return contains_name(text, key(name)) or name.casefold() in text.casefold()
