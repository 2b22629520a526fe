"""What an evolving report forgot: supported statements of one version that the next no longer contains."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from research.citations.checking import check, check_claim
from research.citations.marks import Statement, normalised, statements, without_marks
from research.text import content_tokens, numbers
from research.types import HOLDS, Source

MUCH = 1 / 3
"""Share of supported statements from which a version has lost much."""
FEW = 3
"""Fewer lost statements are never much."""
SAME = 2 / 3
"""Share of words from which a statement with the same figures says the same."""


class Loss(Struct, frozen=True):
    """What one version of a report lost."""

    round: int
    """The round that wrote the version."""
    supported: int
    """Supported statements of the version before."""
    gone: tuple[str, ...] = ()
    """Those that are neither repeated nor stated in other words."""

    @property
    def share(self) -> float:
        """Return the share of supported statements that are gone."""
        return len(self.gone) / self.supported if self.supported else 0.0

    @property
    def much(self) -> bool:
        """Return whether the version has lost much."""
        return len(self.gone) >= FEW and self.share >= MUCH


def losses(reports: Sequence[tuple[int, str]], sources: Sequence[Source]) -> list[Loss]:
    """Return what each version of a report lost, from the second on; `reports` are (round, text).

    Supported is what the check of citations calls so, statement by statement, against all passages of the sources.
    """
    supported: dict[tuple[str, tuple[int, ...]], bool] = {}

    def holds(statement: Statement) -> bool:
        key = statement.text, statement.numbers
        if key not in supported:
            own = [source for source in sources if source.n in statement.numbers]
            supported[key] = any(each.status in HOLDS for each in check(statement.text, own))
        return supported[key]

    found: list[Loss] = []
    before: list[str] | None = None
    for number, text in reports:
        stated = statements(normalised(text))
        claims = [without_marks(each.text) for each in stated]
        if before is not None:
            known = set(claims)
            gone = [claim for claim in before if claim not in known and not restated(claim, claims)]
            found.append(Loss(number, len(before), tuple(gone)))
        before = list(dict.fromkeys(without_marks(each.text) for each in stated if each.numbers and holds(each)))
    return found


@lru_cache(4096)
def _content(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words and the figures of a statement."""
    return frozenset(content_tokens(text)), frozenset(numbers(text))


def restated(claim: str, others: Sequence[str]) -> bool:
    """Return whether one of these statements says the same in other words.

    It has all figures and most words of the claim, or bears it out as a source would.
    """
    words, figures = _content(claim)
    for other in others:
        there, known = _content(other)
        if figures <= known and len(words & there) >= SAME * len(words):
            return True
    return any(each.status in HOLDS for each in check_claim(claim, [Source(1, "", "", "\n".join(others))]))
