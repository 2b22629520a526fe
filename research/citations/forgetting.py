"""What an evolving report forgot: supported statements of one version that the next no longer contains."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise

from msgspec import Struct

from research.citations.checking import check, check_claim
from research.citations.marks import statements, without_marks
from research.parsing.report_sections import without_plans
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

    Supported is what the check of citations calls so, against all passages; what a version itself has yet to verify is not.
    """

    @cache
    def holds(text: str) -> bool:
        return any(each.status in HOLDS for each in check(text, sources))

    found: list[Loss] = []
    for (_, before), (number, after) in pairwise(reports):
        claims = [without_marks(each.text) for each in statements(after)]
        known = set(claims)
        cited = (each.text for each in statements(without_plans(before)) if each.numbers)
        supported = list(dict.fromkeys(without_marks(text) for text in cited if holds(text)))
        gone = [claim for claim in supported if claim not in known and not restated(claim, claims)]
        found.append(Loss(number, len(supported), tuple(gone)))
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
