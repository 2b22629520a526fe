"""Spans of a sentence that may fill the blank of a question: names, titles, dates, figures, and some phrases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from research.models.extractive.blank import WORD, Blank, stemmed
from research.models.extractive.kinds import SPANS
from research.models.extractive.names import Names, is_country, key
from research.models.extractive.passages import Page, Wanted, keys, mentioned, names_in
from research.models.extractive.spans import figure
from research.text import STOP_WORDS, tokens

_TITLE = re.compile(
    r"(?<!^)\bThe [A-Z][\w’'-]*(?: (?:[A-Z][\w’'&-]*|(?:in|on|of|and|the|for|to|at)(?= (?:(?:the|a|of) )?[A-Z])))*"
)
"""Matches a title with its article: `The Stove in the Snow`."""
_END = re.compile(r"[,;:.!?()\"“”–—]|\s-\s")
_STOPS = STOP_WORDS | frozenset(
    "after before during while being under over between against through he she him they".split()
)
_COMMON = frozenset(
    "occupation profession job kind type sort instrument trade product sport genre craft field material metal colour "
    "color animal plant language style business industry game drink food role position nickname event".split()
)
"""Nouns that ask for a common noun rather than for a name."""
_PEOPLES = frozenset("country nation nationality language culture people descent origin ethnicity".split())
_SMALL_AFTER = re.compile(r" (?!(?:in|and|on|at|by|to|as|was|is|with|for|from|or|who|where|when|which|that)\b)[a-z]")
_DETERMINED = re.compile(r"\b(?:as|was|is|a) (?:an?|the) ")
_JOINED = re.compile(r"\b(?:the|an?|of|with|in|as) ")
_PHRASE = 6
"""Maximum number of words in a phrase."""

How = Literal["span", "name", "title", "phrase"]


class Candidate(Struct, frozen=True):
    """A span of a line, or the title of its document, which has no position in the line."""

    text: str
    start: int
    end: int
    how: How


def candidates(
    line: str, page: Page, blank: Blank, wanted: Wanted, known: Names, pages: Sequence[Page]
) -> list[Candidate]:
    """Return the spans that are not in the question; if a span occurs twice, the first one."""
    found: dict[str, Candidate] = {}
    if blank.kind in ("date", "year", "number"):
        spans = ((text, line.find(text)) for text in _spans(line, blank.kind, wanted))
        return [Candidate(text, at, at + len(text), "span") for text, at in dict.fromkeys(spans)]
    names = _names(line, known, pages)
    whole = [name for name in names if f"“{name}”" in line or f'"{name}"' in line or any(name == p.name for p in pages)]
    for name, at in names.items():
        people = is_country(key(name)) and key(name) != name and blank.noun not in _PEOPLES
        if people and _SMALL_AFTER.match(line, at + len(name)):
            continue  # `an American duo`
        if blank.kind != "place" and " " not in name and name != page.name and keys(name) <= keys(page.name):
            continue  # the surname of the person whom the document is about
        if any(name != other and f" {name} " in f" {other} " for other in whole):
            continue
        if keys(name) and not keys(name) <= wanted.words.keys():
            found[name] = Candidate(name, at, at + len(name), "name")
    if blank.kind in ("name", None):
        for text in _phrases(line, blank):
            at = line.find(text)
            if text not in found and keys(text) and not keys(text) & wanted.words.keys() and at >= 0:
                found[text] = Candidate(text, at, at + len(text), "phrase")
    return list(found.values())


def title_of(page: Page, blank: Blank, wanted: Wanted) -> Candidate | None:
    """Return the name of the thing that a document is about; None if the question names it."""
    if mentioned(page.name, wanted.text):
        return None
    name = page.name if blank.kind == "place" else page.name.split(",")[0]
    return Candidate(name, 0, 0, "title")


def _spans(line: str, kind: Literal["date", "year", "number"], wanted: Wanted) -> Iterator[str]:
    asked = set(tokens(wanted.text))
    for match in SPANS[kind].finditer(line):
        text = figure(match, line, wanted) if kind == "number" else match.group()
        if text and not set(tokens(text)) <= asked:
            yield text


def _names(line: str, known: Names, pages: Sequence[Page]) -> dict[str, int]:
    """Return the names in a line with their positions, also the parts of names with *of*, and titles of documents."""
    found = {name: line.find(name) for name in names_in(line, known) if name in line}
    for match in _TITLE.finditer(line):
        found.setdefault(match.group(), match.start())
    for name in list(found):
        one, joint, two = name.partition(" of ")
        for part in (one, two) if joint else ():
            if len(part) > 2 and part[0].isupper():
                found.setdefault(part, line.find(part))
    folded = line.casefold()
    for page in pages:
        if " " in page.name and (at := folded.find(page.name.casefold())) >= 0:
            found.setdefault(line[at : at + len(page.name)], at)
    return {
        name: at
        for name, at in found.items()
        if not name[0].isdigit() and name.split()[0].lower() not in ("in", "on", "at")
    }


def _phrases(line: str, blank: Blank) -> Iterator[str]:
    """Yield phrases after the words that precede the blank, and after articles if no name is asked for."""
    words = [(match.start(), stemmed(match.group())) for match in WORD.finditer(line)]
    if len(blank.before) > 1 and blank.before[0] not in ("is", "was", "are"):
        for (_, two), (_, one), (at, _) in zip(words, words[1:], words[2:], strict=False):
            if (one, two) == blank.before[:2]:
                yield _run(re.sub(r"^(?:an?|the|his|her) ", "", line[at:], flags=re.I))
    if blank.kind is None or blank.noun in _COMMON:
        yield from (_run(line[match.end() :]) for match in _DETERMINED.finditer(line))
    if blank.noun in _COMMON:
        runs = (_run(line[match.end() :]) for match in _JOINED.finditer(line))
        yield from (run for run in runs if " " not in run)


def _run(text: str) -> str:
    """Return the words of a text up to a stop word, a participle or the end of the clause."""
    run: list[str] = []
    for word in _END.split(text, maxsplit=1)[0].split()[:_PHRASE]:
        if word.lower() in _STOPS or (run and word.endswith("ed")):
            break
        run.append(word)
    return " ".join(run)
