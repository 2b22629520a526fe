"""Find where several answers to a question agree: each statement is looked for in the others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final, Literal

from msgspec import Struct

from research.citations import statements, without_marks
from research.citations.checking import check_claim
from research.citations.forgetting import restated
from research.citations.marks import without_quoting
from research.citations.verbatim import Token, rounds, tokens_of
from research.types import HOLDS, Source

MOST: Final = 40
"""Statements that are compared; each is looked for in every other answer."""

_ASIDE = re.compile(r"[(（][^()（）]{1,200}[)）]")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


class Stance(Struct, frozen=True):
    """What one answer says of a statement."""

    says: Literal["same", "other", "nothing"]
    quote: str = ""
    """The answer's words; empty if it says nothing."""


class Compared(Struct, frozen=True):
    """A statement, and what each answer says of it, by name."""

    text: str
    stances: dict[str, Stance]

    @property
    def shared(self) -> bool:
        """Whether every answer says the same."""
        return all(each.says == "same" for each in self.stances.values())

    @property
    def disputed(self) -> bool:
        """Whether an answer says something different."""
        return any(each.says == "other" for each in self.stances.values())


def agreement(answers: Mapping[str, str]) -> list[Compared]:
    """Return the statements of all answers, each once, at most `MOST`; only cited ones if there are any.

    An answer agrees with a statement if, as a source, it would support it; it differs if it would contradict it, or has
    the same words with other figures.

    >>> [each.text for each in agreement({"run-1": "Oslo has 700,000 people.", "run-2": "Oslo has 700,000 people."})]
    ['Oslo has 700,000 people.']
    """
    stated = {name: _statements(text) for name, text in answers.items()}
    whole = {name: "\n".join(each) for name, each in stated.items()}
    found: list[Compared] = []
    for name, own in stated.items():
        for text in own:
            if len(found) == MOST:
                return found
            if any(_covers(seen.stances.get(name), text) for seen in found):
                continue
            others = {other: _stance(text, whole[other], stated[other]) for other in stated if other != name}
            mine = {name: Stance("same", text)}
            found.append(Compared(text, {each: (mine | others)[each] for each in stated}))
    return found


def _statements(text: str) -> list[str]:
    found = [each for each in statements(without_quoting(text)) if not each.heading]
    cited = [each for each in found if each.numbers]
    return list(dict.fromkeys(without_marks(each.text) for each in cited or found))


def _covers(stance: Stance | None, text: str) -> bool:
    """Return whether this statement is an answer's wording of an earlier one."""
    return stance is not None and stance.quote != "" and (text in stance.quote or stance.quote in text)


def _stance(text: str, other: str, stated: Sequence[str]) -> Stance:
    """Return what another answer says of a statement."""
    (citation,) = check_claim(text, [Source(1, "", "", other)]) or (None,)
    if citation is not None and citation.status == "contradicted":
        return Stance("other", citation.quote)
    if citation is not None and citation.status in HOLDS:
        return Stance("same", citation.quote)
    if against := next((each for each in stated if _disputes(text, each)), ""):
        return Stance("other", against)
    same = next((each for each in stated if restated(text, [each])), "")
    return Stance("same", same) if same else Stance("nothing")


def _disputes(one: str, other: str) -> bool:
    """Return whether two statements differ only in figures, not in words and years; brackets are ignored."""
    mine, theirs = (tokens_of(_ASIDE.sub(" ", each)) for each in (one, other))
    if [_word(each) for each in mine] != [_word(each) for each in theirs]:
        return False
    pairs = [(a.key, b.key) for a, b in zip(mine, theirs, strict=True)]
    numbers = [(a, b) for a, b in pairs if isinstance(a, Decimal) and isinstance(b, Decimal)]
    return any(not (rounds(a, b) or rounds(b, a)) for a, b in numbers)


def _word(token: Token) -> object:
    """Return the words and years that statements about the same thing share."""
    return None if isinstance(token.key, Decimal) and not _YEAR.fullmatch(token.text) else token.key
