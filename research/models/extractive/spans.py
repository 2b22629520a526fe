"""Find the short answer in a sentence: of the kind that the question asks for, nearest to the question's words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from research.citations.lexicon import sides, stem
from research.citations.names import Names, is_country, key
from research.models.extractive.passages import Wanted, keys, names_in
from research.text import has_cjk, segment, tokens

Kind = Literal["whether", "year", "date", "number", "person", "place", "name"]

_ASKED: dict[Kind, str] = {
    "whether": r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could)\b|吗\W*$|是否|是不是",
    "year": r"\b(?:what|which) year\b|哪一?年|何年",
    "date": r"\bwhen (?:was|were|is|are|did|does|do|has|had)\b|\b(?:what|which) (?:date|day)\b|\bbirthday\b|"
    r"什么时候|什么时间|何时|哪一?天|日期",
    "number": r"\bhow (?:many|much|long|old|far|tall|high|large|big|deep|wide)\b|多少|"
    r"几[个位名座艘条种次岁]|多[长高大远深宽]",
    "person": r"\bwho(?:se|m)?\b|谁|哪位|何人",
    "place": r"\bwhere\b|\b(?:what|which) (?:\w+ )?(?:city|town|village|state|country|county|region|province|island|"
    r"place|continent)\b|哪里|哪儿|何处|何地|什么地方|位于哪|哪[个座一](?:国家|城市|省|市|县|地区|岛)",
    "name": r"\b(?:what|which|name)\b|什么|哪|何",
}
_RELATIVE = re.compile(r"who|when|where|which\b", re.I)
_OPENS = re.compile(r"(?:^|[.,;:!?]|\b(?:and|by|for|from|in|into|of|on|or|than|to|with|at))\W*$", re.I)
"""Matches the text before a question word that starts a question or a clause."""
_AT = re.compile(r"\b(?:in|at|of|from|near|to|on)(?: the)? $|[在于位]$", re.I)
_COUNTED = re.compile(r"\bhow many ([\w'’-]+(?: [\w'’-]+)?)", re.I)
_LIFE = re.compile(r"[^()（）]{2,60}[(（][^()（）]{0,80}\d{3,4}年?\s?[-–—－～]{1,2}[^()（）]{0,40}\d{3,4}年?[)）]")
"""Matches the start of an article about a person, with the dates or years of birth and death."""
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"(?<![\d.,])(?:1\d{3}|20\d\d)(?![\d.,]\d|\d)"
_SPANS: dict[Kind, re.Pattern[str]] = {
    "year": re.compile(rf"{_YEAR}年?"),
    "date": re.compile(
        rf"{_MONTH} \d{{1,2}},? {_YEAR}|\d{{1,2}} {_MONTH},? {_YEAR}|{_MONTH} {_YEAR}|{_MONTH} \d{{1,2}}\b|"
        rf"\d{{1,4}}年(?:\d{{1,2}}月)?(?:\d{{1,2}}日)?|{_YEAR}"
    ),
    "number": re.compile(
        r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?:\s?(?:%|percent|million|billion|thousand|万亿|亿|万))?(?:\s?[a-z]+|[\u4e00-\u9fff]{1,2})?|"
        r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred)\b"
        r"(?: [a-z]+)?|\b(?:half )?an? (?:dozen|hundred|thousand|million|billion)\b(?: [a-z]+)?",
        re.I,
    ),
}


def kind_of(question: str) -> Kind | None:
    """Return the kind of answer that a question asks for; None if its words do not say.

    The first question word decides; *who*, *when* and *where* inside a sentence are relative pronouns.
    """
    found = []
    for rank, (kind, words) in enumerate(_ASKED.items()):
        for match in re.finditer(words, question, re.I):
            inside = bool(_RELATIVE.match(match.group())) and not _OPENS.search(question[: match.start()])
            found.append((inside, match.start(), rank, kind))
    return min(found)[3] if found else None


def counted_in(wanted: Wanted) -> frozenset[str]:
    """Return the keys of what `how many` asks for; empty if nothing is counted, or only something named."""
    match = _COUNTED.search(wanted.text)
    return keys(match.group(1)) & wanted.asked if match else frozenset()


def spans(kind: Kind | None, line: str, title: str, wanted: Wanted, known: Names) -> list[str]:
    """Return the parts of a line that are of the kind and not in the question, best first.

    A date of birth or death that is asked for comes first, then what is counted, then the nearest to the question's words.
    """
    pattern = _SPANS.get(kind) if kind else None
    if pattern:
        found: Iterable[str] = (match.group() for match in pattern.finditer(line))
        if kind == "number":
            found = (text for text in found if not re.fullmatch(_YEAR, text))
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


def tells_life(line: str) -> bool:
    """Return whether a first sentence states the years of a person's birth and death."""
    return _LIFE.match(line) is not None


def _life_date(kind: Kind | None, line: str, wanted: Wanted) -> str:
    """Return the date of birth or death if one of the two is asked for and the line starts with both; else empty."""
    match, asked = _LIFE.match(line), sides(wanted.text)
    born, died = bool(asked & sides("born")), bool(asked & sides("died"))
    if match is None or born == died or kind not in ("year", "date"):
        return ""
    days = [found.group() for found in _SPANS[kind].finditer(match.group())]
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
