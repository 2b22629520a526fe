"""Which name answers *who*, *where*, *which X* and *what X*: one of the right kind, as the documents describe it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.models.extractive.names import is_country, key
from research.models.extractive.opposites import stem
from research.models.extractive.passages import Page, Wanted, keys, mentioned
from research.text import STOP_WORDS

_ASKED = re.compile(
    r"\b(?:what|which|whose)\s+(?:(?:is|are|was|were)\s+(?:the|a|an)\s+)?(?:name\s+of\s+(?:the|a|an|this)\s+)?(?P<words>[^,?;]+)",
    re.I,
)
_PRONOUN = re.compile(r"\b(?:he|she|his|her|him)\b|[他她]", re.I)
_LIFE = re.compile(r"\(born\b|\(\s?[^()]*\d{3,4}\s?[–-]\s?[^()]*\d{3,4}\)|\bborn (?:on|in)\b|出生|生于")
_IS = re.compile(r"\b(?:is|was|are|were)\b|是")
_NOTHING = frozenset(("name", "type", "kind", "sort", "one", "first", "other", "same", "last", "year", "date"))
_NEAR = 3
"""Words between a name and the noun for what it is."""


def noun(question: str) -> str:
    """Return the stem of the noun after *which* or *what*; empty if there is none.

    >>> noun("What giant silverware company was started in 1848?")
    'compan'
    """
    for match in _ASKED.finditer(question):
        words: list[str] = []
        for word in re.findall(r"[\w'’-]+|[^\w\s]", match["words"]):
            if word.lower() in STOP_WORDS or not word[0].isalnum():
                break
            words.append(word)
        nouns = [word for word in words[:5] if word[:1].islower() and word not in _NOTHING]
        if nouns and not nouns[-1].endswith(("ed", "ing")):
            return stem(nouns[-1])
        if len(nouns) > 1:
            return stem(nouns[-2])
    return ""


def judged(name: str, kind: str, line: str, pages: Sequence[Page], wanted: Wanted) -> bool | None:
    """Return whether a name of a line is a person, or what the noun of the question says; None if no document tells."""
    home = next((page for page in pages if mentioned(name, page.name) or mentioned(page.name, name)), None)
    asked = noun(wanted.text)
    if kind == "person":
        return person(name, home)
    if asked in ("country", "nation"):
        return is_country(key(name))
    if not asked:
        return True if kind == "place" and is_country(key(name)) else None
    if asked in keys(name) or asked in _around(name, line):
        return True
    if home and home.lines:
        said = _IS.split(home.lines[0].line, maxsplit=1)[-1]
        return asked in keys(" ".join(said.split()[:25]))
    return None


def person(name: str, home: Page | None) -> bool | None:
    """Return whether a name is a person's; None if no document is about it."""
    if is_country(key(name)):
        return False
    if home is None or not home.lines:
        return None
    if _LIFE.search(home.lines[0].line):
        return True
    if key(home.name) != key(name) and len(home.name.split()) > len(name.split()):
        return False
    return sum(_PRONOUN.search(fact.line) is not None for fact in home.lines) * 3 >= len(home.lines)


def _around(name: str, line: str) -> frozenset[str]:
    """Return the stems of the words next to a name in its line."""
    at = line.find(name)
    if at < 0:
        return frozenset()
    before, after = re.split(r"[.;:]", line[:at])[-1].split(), re.split(r"[.;:]", line[at + len(name) :])[0].split()
    return frozenset(stem(word.strip("\"“”'’,()").lower()) for word in (*before[-_NEAR:], *after[:_NEAR]))


def own_name(page: Page, wanted: Wanted) -> str:
    """Return the name of the thing that a document is about; empty if the question names it."""
    return "" if mentioned(page.name, wanted.text) or keys(page.name) <= wanted.words.keys() else page.name
