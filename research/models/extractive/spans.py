"""Find the short answer in a sentence: of the kind that the question asks for, nearest to the question's words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from research.models.extractive.kinds import SPANS, YEAR, Kind
from research.models.extractive.names import Names, is_country, key
from research.models.extractive.opposites import sides, stem
from research.models.extractive.passages import Wanted, keys, names_in
from research.text import has_cjk, segment, tokens

_AT = re.compile(r"\b(?:in|at|of|from|near|to|on)(?: the)? $|[在于位]$", re.I)
_COUNTED = re.compile(r"\bhow many ([\w'’-]+(?: [\w'’-]+)?)", re.I)
_TIME = r"(?:year|month|week|day|hour|minute|centur|decade)|[年月周天岁]|小时"
_LENGTH = r"\b(?:k?m|metres?|meters?|kilomet\w+|feet|foot|ft|miles?|inch\w*|cm)\b|[米里尺]"
_UNITS = (
    (r"\bhow old\b|\bhow many years\b|几岁|多少岁|多大年", r"years?|岁"),
    (r"\bhow (?:tall|high|deep|wide|far)\b|多[高深宽远]", _LENGTH),
    (r"\bhow long\b|多长", rf"{_TIME}|{_LENGTH}"),
)
"""Questions for a number with the units that answer them."""
_LIFE = re.compile(r"[^()（）]{2,60}[(（][^()（）]{0,80}\d{3,4}年?\s?[-–—－～]{1,2}[^()（）]{0,40}\d{3,4}年?[)）]")
"""Matches the start of an article about a person, with the dates or years of birth and death."""


def counted_in(wanted: Wanted) -> frozenset[str]:
    """Return the keys of what `how many` asks for; empty if nothing is counted, or only something named."""
    match = _COUNTED.search(wanted.text)
    return keys(match.group(1)) & wanted.asked if match else frozenset()


def spans(kind: Kind | None, line: str, title: str, wanted: Wanted, known: Names) -> list[str]:
    """Return the parts of a line that are of the kind and not in the question, best first.

    A date of birth or death that is asked for comes first, then what is counted, then the nearest to the question's words.
    """
    pattern = SPANS.get(kind) if kind else None
    if pattern:
        found: Iterable[str] = (match.group() for match in pattern.finditer(line))
        if kind == "number":
            found = (text for match in pattern.finditer(line) if (text := figure(match, line, wanted)))
        fresh = [text for text in found if not set(tokens(text)) <= set(tokens(wanted.text))]
    elif kind in ("person", "place", "name"):
        named = [name for name in names_in(line, known) if not keys(name) <= wanted.words.keys()]
        fresh = [name for name in named if kind == "place" or not is_country(key(name))]
        if kind == "person":
            fresh = [name for name in fresh if " " in name or has_cjk(name)]
        if kind == "place":
            fresh = [name for name in fresh if _AT.search(line[: line.find(name)])]
        fresh = [name for name in fresh if name != title] or fresh
    else:
        fresh = []
    counted, day = counted_in(wanted), _life_date(kind, line, wanted)
    return sorted(
        dict.fromkeys(fresh), key=lambda text: (text != day, not counted & keys(text), _distance(text, line, wanted))
    )


def figure(match: re.Match[str], line: str, wanted: Wanted) -> str:
    """Return a figure as an answer to the question for a number; empty if it is a date or has the wrong unit."""
    text, counted = match.group(), counted_in(wanted)
    if re.match(YEAR, text) and not keys(text) & counted:
        return ""
    if any(day.start() < match.end() and match.start() < day.end() for day in SPANS["date"].finditer(line)):
        return ""
    unit = next((units for pattern, units in _UNITS if re.search(pattern, wanted.text, re.I)), "")
    if unit and not re.search(unit, text, re.I):
        return ""
    number, _, noun = text.rpartition(" ")
    return (
        number
        if number and keys(noun) & counted
        else re.sub(r" (?:and|in|of|on|to|at|by|from|for|with|as|or)$", "", text)
    )


def tells_life(line: str) -> bool:
    """Return whether a first sentence states the years of a person's birth and death."""
    return _LIFE.match(line) is not None


def _life_date(kind: Kind | None, line: str, wanted: Wanted) -> str:
    """Return the date of birth or death if one of the two is asked for and the line starts with both; else empty."""
    match, asked = _LIFE.match(line), sides(wanted.text)
    born, died = bool(asked & sides("born")), bool(asked & sides("died"))
    if match is None or born == died or kind not in ("year", "date"):
        return ""
    days = [found.group() for found in SPANS[kind].finditer(match.group())]
    return days[-1 if died else 0] if days else ""


def _distance(text: str, line: str, wanted: Wanted) -> int:
    """Return the number of words between a span and the nearest word of the question in its line."""
    at = line.find(text)
    before, after = (segment(part).split() for part in (line[:at], line[at + len(text) :]))
    asked = wanted.asked or wanted.words.keys()
    steps = [n for words in (before[::-1], after) for n, word in enumerate(words) if _key(word) in asked]
    return min(steps, default=len(line))


def _key(word: str) -> str:
    return next((stem(token) for token in tokens(word)), "")
