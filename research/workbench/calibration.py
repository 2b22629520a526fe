"""Calibration of a verifier: the thresholds at which it is right often enough on claims with known verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Final

from msgspec import Struct

from research.citations.verification import RULES, Pair, Thresholds, Verifier, decided
from research.types import Judgement

TARGET: Final = 0.9
"""Least share of right verdicts for `supported` and `contradicted` to be given."""
CERTAIN: Final = 0.97
"""The same for a verdict that overrides the rules."""
LEAST: Final = 20
"""Fewest verdicts that determine a precision."""
FOLDS: Final = 5
SLICE: Final = 48
"""Claims judged between two progress reports."""


class Sample(Struct, frozen=True):
    """A claim whose verdict is known."""

    pair: Pair
    true: bool
    """The passages support it."""


class Rate(Struct, frozen=True):
    """How many verdicts of a kind were right."""

    right: int
    of: int

    @property
    def share(self) -> float | None:
        """Return the precision; None without such a verdict."""
        return self.right / self.of if self.of else None

    @property
    def low(self) -> float:
        """Return the lower end of the precision: Wilson's, one standard error."""
        if not self.of:
            return 0.0
        p, n = self.right / self.of, self.of
        return (p + 1 / (2 * n) - sqrt(p * (1 - p) / n + 1 / (4 * n * n))) / (1 + 1 / n)

    def reaches(self, target: float) -> bool:
        """Return whether the precision is at least this, beyond the error of a small sample."""
        return self.of >= LEAST and self.low >= target


class Calibration(Struct, frozen=True, omit_defaults=True):
    """Measurements of a verifier."""

    name: str
    thresholds: Thresholds
    claims: int
    supported: Rate
    """Claims called supported, measured apart from those that set the threshold."""
    flagged: Rate
    """Claims called contradicted, unsupported or partial; right if the claim is not supported."""
    files: tuple[str, ...] = ()
    measured: float = 0.0
    """When, in seconds since the epoch."""

    @property
    def coverage(self) -> float:
        """Return the share of claims with a verdict."""
        return (self.supported.of + self.flagged.of) / self.claims if self.claims else 0.0

    def line(self) -> str:
        """Return `right in 93% of 210 supported and 91% of 130 flagged; a verdict on 61% of 560 claims`."""

        def of(rate: Rate, what: str) -> str:
            return f"{rate.share:.0%} of {rate.of} {what}" if rate.share is not None else f"no {what}"

        sides = f"right in {of(self.supported, 'supported')} and {of(self.flagged, 'flagged')}"
        return f"{sides}; a verdict on {self.coverage:.0%} of {self.claims:,} claims"


def calibrate(
    verifier: Verifier, samples: Sequence[Sample], progress: Callable[[int], None] = lambda done: None
) -> Calibration:
    """Judge the samples, set the thresholds, and measure them by cross-validation.  Raises `WorkbenchError`."""
    seen: list[Judgement] = []
    for start in range(0, len(samples), SLICE):
        seen += verifier.verify([sample.pair for sample in samples[start : start + SLICE]])
        progress(len(seen))
    judged = list(zip(seen, (sample.true for sample in samples), strict=True))
    after: list[tuple[Judgement, bool]] = []
    for fold in range(FOLDS):
        fitted = thresholds([each for place, each in enumerate(judged) if place % FOLDS != fold])
        # A model without probabilities is measured as it is; its thresholds say only whether it counts.
        after += [
            (decided(each, fitted) if each.probability is not None else each, true)
            for each, true in judged[fold::FOLDS]
        ]
    # The rules have their own thresholds, which this measures but does not set.
    limits = Thresholds() if verifier.name == RULES else thresholds(judged)
    return Calibration(verifier.name, limits, len(judged), *_rates(after))


def _rates(judged: Sequence[tuple[Judgement, bool]]) -> tuple[Rate, Rate]:
    ticked = [true for each, true in judged if each.status in ("supported", "calculated")]
    flagged = [true for each, true in judged if each.status in ("contradicted", "unsupported", "partial")]
    return Rate(sum(ticked), len(ticked)), Rate(len(flagged) - sum(flagged), len(flagged))


def thresholds(judged: Sequence[tuple[Judgement, bool]]) -> Thresholds:
    """Return the thresholds that these claims allow, each given with whether it is supported."""
    if any(each.probability is not None for each, _ in judged):
        support = [(each.probability or 0.0, true) for each, true in judged]
        against = [(each.contradicted or 0.0, not true) for each, true in judged]
        reject = _least([(1 - score, not true) for score, true in support], TARGET)
        sure = [found for side in (support, against) if (found := _least(side, CERTAIN)) is not None]
        both = _least(support, CERTAIN) is not None
        return Thresholds(_least(support, TARGET), _least(against, TARGET), reject, max(sure) if both else None)
    ticked, flagged = _rates(judged)
    denied = _rates([(each, true) for each, true in judged if each.status == "contradicted"])[1]
    return Thresholds(
        None if _poor(ticked) else 0.0,
        None if _poor(denied) else 0.0,
        overrule=None if _poor(ticked) or _poor(flagged) else 0.0,
        arithmetic=ticked.reaches(TARGET) and flagged.reaches(TARGET),
    )


def _poor(rate: Rate) -> bool:
    return rate.of >= LEAST and (rate.share or 0.0) < TARGET


def _least(scored: Sequence[tuple[float, bool]], target: float) -> float | None:
    """Return the least score from which enough verdicts are right; None if there is none."""
    right, found = 0, None
    ranked = sorted((each for each in scored if each[0] > 0), reverse=True)
    for place, (score, good) in enumerate(ranked, 1):
        right += good
        tied = place < len(ranked) and ranked[place][0] == score
        if not tied and Rate(right, place).reaches(target):
            found = score
    return found
