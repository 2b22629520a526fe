"""The scorers, which rate the answer and the report of a run.  Each is a function `(run, question)`.

Citations are counted as in FACT (DeepResearch Bench, Du et al. 2025, arXiv:2506.11763): the pairs of statement and
source in which the source supports the statement, out of all pairs; a report without citations has no precision.  The
verdicts are the run's own (`research.citations`), so they do not depend on the model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from msgspec import Struct

from research import plugins
from research.citations import without_marks
from research.evaluation import answers
from research.evaluation.contamination import can_leak, leaks
from research.evaluation.exact_match import cmrc, hotpot
from research.evaluation.questions import Question
from research.events.view import RunView, forgotten
from research.plugins import scorer
from research.types import HOLDS, Source, Verdict

CITED = 5
"""Sources that count as evidence, in the order of citation.  Without this limit, citing everything would score best."""

OTHER_LIMITS: Final = ("rounds", "loop", "tool_errors", "needs_input", "failed")
"""Outcomes of runs not ended by the budget."""

Names = Callable[[Source], Collection[str]]
"""Returns the ids under which a dataset may know a source."""


class FinishedRun(Struct, frozen=True):
    """What a scorer sees of a run that has ended."""

    view: RunView
    names: Names

    @property
    def answer(self) -> str:
        """The short answer or, if the run has none, the answer without citation marks; empty without an answer."""
        if self.view.outcome in answers.UNANSWERED:
            return ""
        return self.view.short or without_marks(self.view.answer)

    def calls_in_world(self, *what: str) -> float | None:
        """Return the number of tool calls with these values of `Observation.world`; None outside a recorded world."""
        if not self.view.recipe.world:
            return None
        seen = (call.observation for current in self.view.rounds for call in current.calls if call.observation)
        return float(sum(each.world in what for each in seen))

    def share_of(self, gold: Sequence[str], sources: Sequence[Source]) -> float | None:
        """Return the share of gold documents among the sources; None without gold documents."""
        if not gold:
            return None
        known = {name for source in sources for name in self.names(source)}
        return len(known & set(gold)) / len(set(gold))


class Scores(Struct, frozen=True, omit_defaults=True):
    """The scores of one run, one field per scorer and one for the judge.

    Each is from 0 to 1, except `effective_citations`, `cited_statements`, `diverged`, `played` and `budget_spent`.
    None: the measure does not apply to the question.
    """

    exact_match: float | None = None
    f1: float | None = None
    right: float | None = None
    refused: float | None = None
    wrong: float | None = None
    no_answer: float | None = None
    contains: float | None = None
    numeric: float | None = None
    parts_answered: float | None = None
    leaked: float | None = None
    evidence_recall: float | None = None
    evidence_share: float | None = None
    evidence_seen: float | None = None
    citation_precision: float | None = None
    citation_coverage: float | None = None
    effective_citations: float | None = None
    cited_statements: float | None = None
    report_kept: float | None = None
    diverged: float | None = None
    played: float | None = None
    budget_spent: float | None = None
    budget_unspent: float | None = None
    race: float | None = None
    """The judge's points for the report, as a share of the points of report and reference."""
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


def measure(question: Question, view: RunView, names: Names, only: Collection[str] | None = None) -> Scores:
    """Return the scores of a run that has ended, all but `race`, which the judge gives; `only` these if given."""
    run = FinishedRun(view, names)
    entries = [entry for entry in plugins.scorer.all() if only is None or entry.id in only]
    found = {entry.id: entry.function(run, question) for entry in entries}
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
        return float(answers.refused(run.view))
    return float(answers.is_right(question, run.answer)) if question.has_gold else None


@scorer("Refused")
def refused(run: FinishedRun, question: Question) -> float | None:
    """1 if the run says that the sources do not contain the answer; unanswerable questions only."""
    return None if question.answerable else float(answers.refused(run.view))


@scorer("Wrong")
def wrong(run: FinishedRun, question: Question) -> float | None:
    """1 if the run gives an answer, and it is not right; for unanswerable questions, if it gives any."""
    if not question.has_gold:
        return None
    return float(not answers.silent(run.view) and right(run, question) == 0)


@scorer("No answer")
def no_answer(run: FinishedRun, question: Question) -> float | None:
    """1 if the run gives no answer to a question that has one: it refuses, fails, or ends too early."""
    if not question.has_gold or not question.answerable:
        return None
    return float(answers.silent(run.view) and right(run, question) == 0)


@scorer("Contains")
def contains(run: FinishedRun, question: Question) -> float | None:
    """1 if a gold answer appears anywhere in the answer, as whole words in any letter case."""
    if not question.answerable or not question.answers:
        return None
    said = "" if answers.silent(run.view) else f"{run.view.short}\n{without_marks(run.view.answer)}"
    return float(any(answers.find(said, gold) is not None for gold in question.answers))


@scorer("Numeric")
def numeric(run: FinishedRun, question: Question) -> float | None:
    """1 if the short answer's first number is within the tolerance; questions with a value only."""
    if question.value is None:
        return None
    said = answers.numbers(run.answer, question.unit)
    return float(bool(said) and abs(said[0] - abs(question.value)) <= question.tolerance)


@scorer("Parts answered")
def parts_answered(run: FinishedRun, question: Question) -> float | None:
    """Share of the question's parts that the run answers; answerable questions only."""
    parts = run.view.parts
    return sum(part.status == "answered" for part in parts) / len(parts) if parts and question.answerable else None


@scorer("Leaked")
def leaked(run: FinishedRun, question: Question) -> float | None:
    """1 if a tool's result is a copy of the dataset: its canary, or the question's own text with an expected answer near it."""
    return float(bool(leaks(run.view, question))) if can_leak(question) else None


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


@scorer("Citations decided")
def citation_coverage(run: FinishedRun, question: Question) -> float | None:
    """Share of cited statements that a judge could decide, which are those that the precision is about."""
    decided = [status != "unverified" for status in _verdicts(run)]
    return sum(decided) / len(decided) if decided else None


@scorer("Effective citations")
def effective_citations(run: FinishedRun, question: Question) -> float | None:
    """Number of cited statements that their source supports."""
    return float(sum(status in HOLDS for status in _verdicts(run)))


@scorer("Cited statements")
def cited_statements(run: FinishedRun, question: Question) -> float | None:
    """Number of cited statements, decided or not."""
    return float(len(_verdicts(run)))


@scorer("Report kept")
def report_kept(run: FinishedRun, question: Question) -> float | None:
    """Share of supported statements of an evolving report that its next version still contains, over all rounds."""
    found = [loss for each in forgotten(run.view).values() for loss in each]
    supported = sum(loss.supported for loss in found)
    return 1 - sum(len(loss.gone) for loss in found) / supported if supported else None


@scorer("Diverged calls")
def diverged(run: FinishedRun, question: Question) -> float | None:
    """Number of tool calls for which the recorded world has no result; runs in a recorded world only."""
    return run.calls_in_world("missing", "new")


@scorer("Played calls")
def played(run: FinishedRun, question: Question) -> float | None:
    """Number of tool calls that got their recorded result; runs in a recorded world only."""
    return run.calls_in_world("recorded")


@scorer("Budget spent")
def budget_spent(run: FinishedRun, question: Question) -> float | None:
    """Share of the budget that the run spent, of the cap that it came closest to; with a budget only."""
    view = run.view
    budget = view.recipe.budget
    spent = (
        (view.prompt_tokens + view.completion_tokens, budget.tokens),
        (view.cost_usd or 0.0, budget.usd),
        (view.elapsed(view.updated), budget.seconds),
        (sum(len(each.calls) for each in view.rounds), budget.tool_calls),
    )
    return max((used / cap for used, cap in spent if cap is not None), default=None)


@scorer("Budget not spendable")
def budget_unspent(run: FinishedRun, question: Question) -> float | None:
    """1 if another limit ended the run before its budget did, or the recorded world refused its calls; with a budget only."""
    share = budget_spent(run, question)
    if share is None:
        return None
    hindered = run.view.outcome in OTHER_LIMITS or bool(run.calls_in_world("missing"))
    return float(share < 1 and hindered)


def _agreement(run: FinishedRun, question: Question) -> tuple[float | None, float | None]:
    """Return exact match and F1 by the rules of the question's language."""
    if not question.answerable or not question.answers:
        return None, None
    return (cmrc if question.language == "zh" else hotpot)(run.answer, question.answers)


def _verdicts(run: FinishedRun) -> list[Verdict]:
    """Return the verdict for each pair of statement and source."""
    return list({(each.n, each.claim): each.status for each in run.view.citations}.values())
