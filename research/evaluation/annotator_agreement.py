"""Measure how far a judge can be trusted: its agreement with people on the same reports.

Cohen's kappa (1960) compares the judge with the majority of the annotators, corrected for chance;
Krippendorff's alpha (2011, nominal data) says how far the annotators agree among themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from research.errors import ConfigError
from research.evaluation.csv_files import read_table
from research.evaluation.plans import Plan
from research.evaluation.records import Row
from research.evaluation.statistics import RESAMPLES, SEED

LABELS: Final = ("report", "reference", "tie")
"""Which of the two is better, as annotators write it."""
ENOUGH: Final = 0.6
"""Least kappa of a reliable judge: "substantial" agreement (Landis and Koch 1977)."""
FEWEST: Final = 10
"""Reports that must be annotated before a judge counts as reliable."""


class Agreement(Struct, frozen=True):
    """How a judge agrees with people."""

    reports: int
    """Number of judged reports with an annotation."""
    annotators: int
    kappa: float | None
    """Cohen's kappa of judge and majority; None where all labels are equal, so that chance explains everything."""
    interval: tuple[float, float] | None
    """95 %, by bootstrap over the reports."""
    alpha: float | None
    """Krippendorff's alpha among the annotators; None with fewer than two on any report."""

    @property
    def reliable(self) -> bool:
        return self.reports >= FEWEST and self.kappa is not None and self.kappa >= ENOUGH


def agreement(rows: Iterable[Row]) -> Agreement:
    """Return how the judge of these rows agrees with their annotations."""
    judged = [row for row in rows if row.annotations and row.scores.race is not None]
    pairs = [(_judged(row), _majority(row.annotations.values())) for row in judged]
    found = kappa(pairs)
    people = {name for row in judged for name in row.annotations}
    among = alpha([list(row.annotations.values()) for row in judged])
    return Agreement(len(pairs), len(people), found, _interval(pairs) if found is not None else None, among)


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa of two raters; None if both always give the same single label, or without pairs."""
    n = len(pairs)
    first, second = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    chance = sum(first[label] * second[label] for label in first) / n**2 if n else 1.0
    if chance == 1.0:
        return None
    return (sum(one == other for one, other in pairs) / n - chance) / (1 - chance)


def alpha(units: Sequence[Sequence[str]]) -> float | None:
    """Return Krippendorff's alpha for nominal labels, with any number of raters for each unit; None if undefined."""
    coincidences: defaultdict[tuple[str, str], float] = defaultdict(float)
    for labels in units:
        for one, other in permutations(labels, 2):
            coincidences[one, other] += 1 / (len(labels) - 1)
    totals: defaultdict[str, float] = defaultdict(float)
    for (one, _), number in coincidences.items():
        totals[one] += number
    n = sum(totals.values())
    expected = n * n - sum(total * total for total in totals.values())
    if n <= 1 or expected <= 0:
        return None
    observed = sum(number for (one, other), number in coincidences.items() if one != other)
    return 1 - (n - 1) * observed / expected


def annotated(plan: Plan, rows: Mapping[str, Row], path: Path) -> dict[str, Row]:
    """Return a table's annotations by the keys of the rows they name.

    Raises `ConfigError` that names the line and what is accepted.
    """
    questions, recipes = (
        {each.id: each.digest for each in plan.questions},
        {each.name: each.key for each in plan.candidates},
    )
    by_run = {row.run: row for row in rows.values()}
    found: dict[str, Row] = {}
    for number, line in enumerate(read_table(path), 2):
        where = f"annotations {path}, line {number}"
        if line.get("better") not in LABELS or not line.get("annotator"):
            raise ConfigError(f"{where}: give annotator, and better as one of {', '.join(LABELS)}")
        asked, recipe = questions.get(line.get("question", "")), recipes.get(line.get("recipe", ""))
        trial = line.get("trial") or "0"
        named = [row for row in rows.values() if (row.asked, row.recipe, f"{row.trial}") == (asked, recipe, trial)]
        row = by_run.get(line["run"]) if line.get("run") else next(iter(named), None)
        if row is None:
            raise ConfigError(
                f"{where} names no row of evaluation {plan.name!r}: give run, or question with recipe and, if there are "
                "several, trial, as the export has them"
            )
        row = found.get(row.key, row)
        found[row.key] = replace(row, annotations={**row.annotations, line["annotator"]: line["better"]})
    return found


def _judged(row: Row) -> str:
    share = row.scores.race or 0.0
    return "tie" if share == 0.5 else "report" if share > 0.5 else "reference"


def _majority(labels: Iterable[str]) -> str:
    """Return the label that most people gave; a tie if no label leads."""
    (first, most), *rest = Counter(labels).most_common()
    return "tie" if rest and rest[0][1] == most else first


def _interval(pairs: Sequence[tuple[str, str]]) -> tuple[float, float] | None:
    import numpy as np

    draw = np.random.default_rng(SEED)
    drawn = [
        value
        for places in draw.integers(0, len(pairs), (RESAMPLES, len(pairs)))
        if (value := kappa([pairs[place] for place in places])) is not None
    ]
    if len(pairs) < 2 or not drawn:
        return None
    low, high = np.percentile(drawn, (2.5, 97.5))
    return float(low), float(high)
