"""Judge how well a span suits what the blank of a question asks for: a person, a place, a thing called by a noun."""

from __future__ import annotations

import re

from research.models.extractive.blank import Blank, stemmed
from research.models.extractive.candidates import Candidate
from research.models.extractive.names import is_country, key
from research.models.extractive.naming import person
from research.models.extractive.opposites import stem
from research.models.extractive.passages import Page, Wanted, keys, mentioned
from research.models.extractive.spans import counted_in, tells_life

_IS = re.compile(r"\b(?:is|was|are|were)\b")
_NO_PERSON = re.compile(
    r"\d|&|\b[IVX]{2,}$|\b(?:of|the|Company|School|University|River|Street|Prize|Award|Records|Club|House|Island|Battle|"
    r"War|Series|Band|Group|Museum|College|City|Park|County)\b"
)
_NO_PLACE = re.compile(
    r"(?:Assembly|Senate|Museum|School|University|Party|Team|Games|Championship|Prize|Award|Company|Bridge|Compromise|"
    r"Governor|Hotel|Playhouse|Theatre|Society|Academy|Council|Line|Club|Street|War)"
)
_PLACED = re.compile(r"\b(?:in|at|of|from|near|to|on)(?: the)?(?: (?:\w+ of|city|town|village|island|parish) ?)?\s*$")
_BORN = re.compile(r"\bborn\b[^.]{0,25}$")
_STATES = frozenset(
    "Alabama,Alaska,Arizona,Arkansas,California,Colorado,Connecticut,Delaware,Florida,Georgia,Hawaii,Idaho,Illinois,"
    "Indiana,Iowa,Kansas,Kentucky,Louisiana,Maine,Maryland,Massachusetts,Michigan,Minnesota,Mississippi,Missouri,Montana,"
    "Nebraska,Nevada,New Hampshire,New Jersey,New Mexico,New York,North Carolina,North Dakota,Ohio,Oklahoma,Oregon,"
    "Pennsylvania,Rhode Island,South Carolina,South Dakota,Tennessee,Texas,Utah,Vermont,Virginia,Washington,"
    "West Virginia,Wisconsin,Wyoming".split(",")
)
_DESCRIBED = 6
"""Number of words of a definition that may name an intermediate step."""
_SAID, _SAID_LATE = 14, 25
"""Number of words of a definition that should name the thing, and that may still name it."""


def suits(each: Candidate, home: Page | None, line: str, blank: Blank) -> float:
    """Return from about -1 to 2 how well a name suits the kind; 0 if the kind decides nothing."""
    if blank.kind == "person":
        worth = _person(each, home, line)
        called = blank.noun and home and home.lines and blank.like & keys(" ".join(home.lines[0].line.split()[:30]))
        return max(worth, 1.0) if called else worth
    if blank.kind == "place":
        return _place(each, home, line, blank)
    return _thing(each, home, line, blank) if blank.kind == "name" else 0.0


def timed(text: str, line: str, first: bool, wanted: Wanted) -> float:
    """Return 1 for the date of the birth or death that is asked for, less than 0 for the other one, 0 if unknown."""
    asked = wanted.words.keys()
    birth = bool(asked & keys("born birthday birth"))
    if first and tells_life(line):
        dates = [m.start() for m in re.finditer(r"\d{3,4}", line)]
        at = line.find(text) + len(text)
        before = sum(date < at for date in dates)
        right = before == 1 if birth else before == 2 and bool(asked & keys("die died death"))
        return 1.0 if right else -0.5 if before <= 2 else 0.0
    if _BORN.search(line[: line.find(text)]):
        return 1.0 if birth else -0.5
    return 0.0


def counted(text: str, after: str, wanted: Wanted) -> float:
    """Return whether a figure counts what `how many` asks for: 1 or less than 0; 0 if nothing is counted."""
    asked = counted_in(wanted)
    return 0.0 if not asked else 1.0 if asked & (keys(text) | keys(" ".join(after.split()[:2]))) else -0.5


def described(home: Page, blank: Blank, wanted: Wanted) -> bool:
    """Return whether the question describes a thing by another noun than that of the blank.

    It is then an intermediate step: `the village of the engineer … of the island` does not ask for an island.
    """
    return bool((_definition(home, _DESCRIBED) & wanted.asked) - blank.like)


def _person(each: Candidate, home: Page | None, line: str) -> float:
    name = each.text
    if is_country(key(name)):
        return -1.0
    if home and home.lines and (mentioned(home.name, name) or mentioned(name, home.name)):
        return 1.0 if person(name, home) else -0.7
    if re.search(r"\b(?:in|at|the|on|through|across)\s+$", line[: each.start], re.I):
        return -0.5
    words = name.split()
    if 2 <= len(words) <= 4 and not _NO_PERSON.search(name) and all(word[:1].isupper() for word in words):
        return 0.4
    return -0.2 if len(words) == 1 else -0.4


def _place(each: Candidate, home: Page | None, line: str, blank: Blank) -> float:
    name, before, after = each.text, line[: each.start], line[each.end :]
    country = is_country(key(name))
    if blank.noun in ("country", "nation"):
        worth = 1.0 if country else -1.0
    else:
        worth = 0.0 if not country else -0.5 if blank.noun else 0.3
    if each.how != "title" and _PLACED.search(before):
        worth += 0.5
    if blank.noun:
        beside = {stemmed(word) for word in (*before[-25:].split()[-3:], *after[:20].split()[:2])}
        worth += 0.7 * bool(blank.like & (beside | keys(name)))
        worth += 0.7 * bool(blank.like & _definition(home, _SAID))
        worth -= 0.6 * bool(home and home.lines and not blank.like & _definition(home, _SAID_LATE))
    if blank.noun == "state":
        worth += 1.0 if name in _STATES else -0.7
    elif blank.noun in ("city", "town", "village"):
        worth += -0.7 if name in _STATES else 0.4 if re.match(r", [A-Z]", after) else 0.0
    worth -= 0.7 * bool(_NO_PLACE.search(name))
    person_too = _person(each, home, line)
    return worth - (1.0 if person_too >= 0.7 else 0.5 if person_too >= 0.4 and not _PLACED.search(before) else 0.0)


def _thing(each: Candidate, home: Page | None, line: str, blank: Blank) -> float:
    before, after = re.split(r"[.;:]", line[: each.start])[-1].split()[-4:], line[each.end :].split()[:3]
    around = {stemmed(word) for word in (*before, *after)} if each.how != "title" else set()
    worth = 0.0
    if blank.like & keys(each.text):
        worth = 1.0
    elif blank.like & around:
        worth = 0.8
    elif home and home.lines:
        late = blank.like & _definition(home, _SAID_LATE)
        worth = 1.0 if blank.like & _definition(home, _SAID) else 0.6 if late else -0.6
    others = blank.phrase - {stem(blank.noun)}
    return worth + (
        0.4 * len(others & (keys(each.text) | (home.keys if home else frozenset()))) / len(others) if others else 0.0
    )


def _definition(home: Page | None, words: int) -> frozenset[str]:
    """Return the keys of the first words that say what a document is about."""
    if home is None or not home.lines:
        return frozenset()
    return keys(" ".join(_IS.split(home.lines[0].line, maxsplit=1)[-1].split()[:words]))
