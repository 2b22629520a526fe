"""The scorers: what the answer and the report of one run are worth.  Each is a function `(run, question)`.

Citations are counted as in FACT (DeepResearch Bench, Du et al. 2025, arXiv:2506.11763): the pairs of statement and source
that the source supports, out of all pairs; a report without citations has no precision.  The verdicts are the run's own
(`research.citations`), so they do not depend on the model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from msgspec import Struct

from research import plugins
from research.citations import without_marks
from research.evaluation import verdict
from research.evaluation.agreement import cmrc, hotpot
from research.evaluation.questions import Question
from research.events.view import RunView
from research.plugins import scorer
from research.types import HOLDS, Source, Verdict

CITED = 5
"""Sources that count as evidence, in the order of citation.  Without this limit, citing everything would score best."""

Names = Callable[[Source], Collection[str]]
"""Returns the ids under which a dataset may know a source."""


class FinishedRun(Struct, frozen=True):
    """What a scorer sees of a run that has ended."""

    view: RunView
    names: Names

    @property
    def answer(self) -> str:
        """The short answer or, if the run has none, the answer without citation marks; empty if the run does not answer."""
        if self.view.outcome in verdict.UNANSWERED:
            return ""
        return self.view.short or without_marks(self.view.answer)

    def share_of(self, gold: Sequence[str], sources: Sequence[Source]) -> float | None:
        """Return the share of gold documents that are among the sources; None without gold documents."""
        if not gold:
            return None
        known = {name for source in sources for name in self.names(source)}
        return len(known & set(gold)) / len(set(gold))


class Scores(Struct, frozen=True, omit_defaults=True):
    """The scores of one run, one field per scorer and one for the judge.

    Each is from 0 to 1, except `effective_citations`.  None means that the question does not call for the measure.
    """

    exact_match: float | None = None
    f1: float | None = None
    right: float | None = None
    refused: float | None = None
    evidence_recall: float | None = None
    evidence_share: float | None = None
    evidence_seen: float | None = None
    citation_precision: float | None = None
    effective_citations: float | None = None
    race: float | None = None
    """The judge's points for the report, as a share of those for report and reference together."""
    extra: dict[str, float] = {}
    """Scores of plug-ins, by name."""

    def get(self, name: str) -> float | None:
        """Return the score of that name; None if it was not measured."""
        found: float | None = self.extra.get(name) if name in self.extra else getattr(self, name, None)
        return found


OWN: Final = tuple(name for name in Scores.__struct_fields__ if name != "extra")
"""Our own measures, in the order of tables."""


def measures() -> tuple[str, ...]:
    """Return the names of all measures: ours, then those of plug-ins."""
    return (*OWN, *(entry.id for entry in plugins.scorer.all() if entry.id not in OWN))


def measure(question: Question, view: RunView, names: Names) -> Scores:
    """Return the scores of a run that has ended, all but `race`, which the judge gives."""
    run = FinishedRun(view, names)
    found = {entry.id: entry.function(run, question) for entry in plugins.scorer.all()}
    extra = {name: float(score) for name, score in found.items() if name not in OWN and score is not None}
    return Scores(**{name: score for name, score in found.items() if name in OWN}, extra=extra)


@scorer("EM")
def exact_match(run: FinishedRun, question: Question) -> float | None:
    """1 if the answer is a gold answer, word for word."""
    return _agreement(run, question)[0]


@scorer("F1")
def f1(run: FinishedRun, question: Question) -> float | None:
    """How many words the answer shares with the closest gold answer."""
    return _agreement(run, question)[1]


@scorer("Right")
def right(run: FinishedRun, question: Question) -> float | None:
    """1 if the verdict gives a gold answer or a number close enough, or refuses an unanswerable question."""
    if not question.answerable:
        return float(verdict.refused(run.view))
    return float(verdict.is_right(question, run.answer)) if question.answers else None


@scorer("Refused")
def refused(run: FinishedRun, question: Question) -> float | None:
    """1 if the run says that the sources do not contain the answer; unanswerable questions only."""
    return None if question.answerable else float(verdict.refused(run.view))


@scorer("Evidence recall")
def evidence_recall(run: FinishedRun, question: Question) -> float | None:
    """1 if all gold documents are among the first sources that the report cites, `CITED` of them."""
    share = evidence_share(run, question)
    return None if share is None else float(share == 1)


@scorer("Evidence share")
def evidence_share(run: FinishedRun, question: Question) -> float | None:
    """Share of gold documents among the first sources that the report cites, `CITED` of them."""
    return run.share_of(question.gold, run.view.cited_sources[:CITED])


@scorer("Evidence seen")
def evidence_seen(run: FinishedRun, question: Question) -> float | None:
    """1 if the run saw all gold documents, cited or not."""
    share = run.share_of(question.gold, run.view.seen_sources)
    return None if share is None else float(share == 1)


@scorer("Citation precision")
def citation_precision(run: FinishedRun, question: Question) -> float | None:
    """Share of cited statements that their source supports, among those that a judge could decide."""
    decided = [status in HOLDS for status in _verdicts(run) if status != "unverified"]
    return sum(decided) / len(decided) if decided else None


@scorer("Effective citations")
def effective_citations(run: FinishedRun, question: Question) -> float | None:
    """Number of cited statements that their source supports."""
    return float(sum(status in HOLDS for status in _verdicts(run)))


def _agreement(run: FinishedRun, question: Question) -> tuple[float | None, float | None]:
    """Return exact match and F1 by the rules of the question's language."""
    if not question.answerable or not question.answers:
        return None, None
    return (cmrc if question.language == "zh" else hotpot)(run.answer, question.answers)


def _verdicts(run: FinishedRun) -> list[Verdict]:
    """Return the verdict for each pair of statement and source."""
    return list({(each.n, each.claim): each.status for each in run.view.citations}.values())
