"""The blank of a question: the words that its answer replaces, and what kind of thing fills it."""

from __future__ import annotations

import re

from msgspec import Struct

from research.models.extractive.kinds import Kind, kind_of
from research.models.extractive.opposites import stem
from research.models.extractive.passages import keys
from research.text import STOP_WORDS, content_tokens, has_cjk, tokens

WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
AUXILIARIES = frozenset("is are was were did does do has have had can could will would".split())
_ASKS = frozenset("what which who whom whose where when how".split())
_SMALL = AUXILIARIES | frozenset("in on at of for from by to with that who which and or as under into the a an".split())
_PREPOSITIONS = frozenset("in of from for by at to on with under".split())
_DEGREES = frozenset("many much old long far tall large high big deep wide fast".split())
_PERSONS = frozenset(
    "actor actress artist author writer novelist poet singer rapper musician composer painter designer architect engineer "
    "person man woman director producer player footballer politician king queen president governor captain commander "
    "general officer comedian host wife husband father mother son daughter brother sister founder".split()
)
_PLACES = frozenset(
    "city town village suburb state country nation county region province district parish municipality neighborhood "
    "island place location continent".split()
)
_DATES = frozenset("date day birthday birthdate".split())
_NUMBERS = frozenset("number population percentage height length".split())
_NAME_OF = re.compile(
    r"(?:the|a|an|his|her|its|their)?\s{0,9}(?:full |real |birth )?(?:name|title) of (?:the|a|an|this|that)\s", re.I
)
_LIKE = tuple(
    frozenset(line.split())
    for line in (
        "band group duo trio quartet ensemble orchestra act",
        "company firm corporation business manufacturer brewery airline publisher subsidiary conglomerate brand maker chain",
        "film movie picture comedy drama thriller documentary",
        "series show sitcom program programme comedy drama",
        "city town municipality village suburb capital",
        "country nation republic kingdom",
        "state province",
        "island isle",
        "book novel memoir",
        "magazine newspaper journal periodical publication",
        "actor actress performer comedian",
        "author writer novelist",
        "award prize medal honor honour",
        "team club franchise",
        "school university college academy institute",
        "song single track",
        "album record",
        "stadium arena ground venue field",
        "building house hall palace tower",
        "airport airfield",
        "museum gallery",
        "contest competition tournament championship",
        "character role part",
        "war battle conflict",
        "river stream lake",
        "occupation profession job trade",
        "road street avenue highway",
        "community neighborhood town village",
        "agency organization organisation body institution association society party movement",
        "league division conference",
    )
)
"""Nouns for the same kind of thing."""
_LONG = 6
"""Maximum number of words in the phrase after the question word."""
_BESIDE = 3
"""Number of words before and after the blank that are compared."""


class Blank(Struct, frozen=True):
    """The place of a question that its answer fills, as in `directed by [which director]`."""

    kind: Kind | None
    """None for a phrase of any kind."""
    noun: str
    """The noun after *what* or *which*, in lower case."""
    like: frozenset[str]
    """Stems of nouns for the same kind of thing."""
    phrase: frozenset[str]
    """Keys of the words that the answer replaces."""
    before: tuple[str, ...]
    """Stems of the words before the blank, the nearest first."""
    after: tuple[str, ...]
    far: dict[str, int]
    """How many words each word of the question is away from the blank, by key.

    After an auxiliary, the end of the question also counts as near: `In which town was the engineer of the bridge born?`
    """


def blank_of(question: str) -> Blank | None:
    """Return the blank of an English question; None if it has no question word.

    >>> blank_of("Ed Oxenbould plays Tyler in a film directed by which famous director?").noun
    'director'
    """
    words = [(match.start(), match.group()) for match in WORD.finditer(question)]
    at = None if has_cjk(question) else _question_word(question, words)
    if at is None:
        return None
    low = words[at][1].lower()
    phrase, end = _phrase(question, words, at) if low in ("what", "which", "whose") else ([], at + 1)
    noun = _noun(phrase)
    like = {noun, *(word for group in _LIKE if noun in group or noun.removesuffix("s") in group for word in group)}
    return Blank(
        kind=_kind(question[words[at][0] :], low, noun),
        noun=noun,
        like=frozenset(map(stem, like)) if noun else frozenset(),
        phrase=frozenset[str]().union(*map(keys, phrase)),
        before=tuple(stemmed(word) for _, word in words[max(0, at - _BESIDE) : at])[::-1],
        after=tuple(stemmed(word) for _, word in words[end : end + _BESIDE]),
        far=_far(words, at, end),
    )


def stemmed(word: str) -> str:
    """Return the stem of one word."""
    return next((stem(token) for token in tokens(word)), "")


def _question_word(question: str, words: list[tuple[int, str]]) -> int | None:
    """Return the index of the word that asks; *who*, *which*, *when* and *where* are often relative pronouns."""
    found = []
    for i, (place, word) in enumerate(words):
        low = word.lower()
        if low not in _ASKS:
            continue
        before, after = (words[i - 1][1].lower() if i else ""), (words[i + 1][1].lower() if i + 1 < len(words) else "")
        comma = i > 0 and "," in question[words[i - 1][0] : place]
        worth = 3 * (i < 2) + 2 * (low == "what")
        if low == "how" and after not in _DEGREES:
            worth -= 1
        elif low not in ("what", "how") and i > 1:
            noun_follows = after not in _SMALL and after not in ("he", "she", "it", "they")
            asks = low == "which" and not comma and (before in _SMALL and noun_follows or before not in _PREPOSITIONS)
            worth += 1 if asks and before in _SMALL else -1
        found.append((worth, -i))
    return -max(found)[1] if found else None


def _phrase(question: str, words: list[tuple[int, str]], at: int) -> tuple[list[str], int]:
    """Return the words after *what* or *which* that say what is asked for, and the index of the word after them."""
    start = at + 1
    if start < len(words) and words[start][1].lower() in ("is", "was", "are", "were"):
        start += 1
        if start < len(words) and (name := _NAME_OF.match(question, words[start][0])):
            start = next((n for n in range(start, len(words)) if words[n][0] >= name.end()), len(words))
        elif start < len(words) and words[start][1].lower() in ("the", "a", "an"):
            start += 1
        else:
            return [], at + 1
    end = start
    while end < len(words) and end - start < _LONG and words[end][1].lower() not in _SMALL | STOP_WORDS:
        last, word = words[end - 1]
        if end > start and re.search(r"[,;:\"“]", question[last + len(word) : words[end][0]]):
            break
        end += 1
    return [word for _, word in words[start:end]], end


def _noun(phrase: list[str]) -> str:
    """Return the noun of a phrase: its last lower-case word that is not a participle."""
    small = [word for word in phrase if word[:1].islower()]
    while small and small[-1].endswith("ed"):
        small.pop()
    noun = (small or phrase[-1:] or [""])[-1].lower()
    return re.sub(r"['’]s$", "", noun)


def _kind(asking: str, word: str, noun: str) -> Kind | None:
    """Return the kind of answer from the question word and its noun."""
    if word in ("who", "whom", "whose") or noun in _PERSONS:
        return "person"
    if word == "where" or noun in _PLACES:
        return "place"
    if word == "when" or noun in _DATES:
        return "date"
    if word == "how":
        return "number" if kind_of(asking[:16]) == "number" else None
    if noun in _NUMBERS or kind_of(asking) == "number":
        return "number"
    return "year" if noun == "year" else "name" if noun else None


def _far(words: list[tuple[int, str]], at: int, end: int) -> dict[str, int]:
    turned = end < len(words) and words[end][1].lower() in AUXILIARIES
    found: dict[str, int] = {}
    for n, (_, word) in enumerate(words):
        far = at - n if n < at else max(0, n - end + 1)
        if turned and n > at:
            far = min(far, len(words) - n)
        for key in map(stem, content_tokens(word)):
            found[key] = min(found.get(key, far), far)
    return found
