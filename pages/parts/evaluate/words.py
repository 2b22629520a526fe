"""Labels of the recipes, metrics and values of an evaluation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from pages.parts.shared import titles
from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import lasted, money, percent, short, unique_labels
from research import plugins
from research.evaluation import Candidate, Figure, Row
from research.evaluation.answers import UNANSWERED

MEASURES: Final = {
    "right": later("Correct answers"),
    "evidence_recall": later("Evidence cited"),
    "citation_precision": later("Citations supported"),
    "citation_coverage": later("Citations decided"),
    "wrong": later("Wrong answers"),
    "no_answer": later("No answer"),
    "refused": later("Honest refusals"),
    "f1": later("F1"),
    "exact_match": later("Exact match"),
    "contains": later("Expected answer mentioned"),
    "numeric": later("Number correct"),
    "parts_answered": later("Parts answered"),
    "leaked": later("Leaked questions"),
    "evidence_share": later("Share of evidence cited"),
    "evidence_seen": later("Evidence found"),
    "race": later("Report grade"),
    "effective_citations": later("Supported citations (count)"),
    "cited_statements": later("Cited statements (count)"),
    "report_kept": later("Report kept"),
    "diverged": later("Calls without a record"),
    "played": later("Recorded calls"),
    "budget_spent": later("Budget spent"),
    "budget_unspent": later("Budget not spendable"),
    "tokens": later("Tokens"),
    "cost_usd": later("Cost"),
    "seconds": later("Time"),
}
"""Title of each metric, in the order in which they are offered."""
KINDS: Final = {
    "one_hop": later("one hop"),
    "two_hop": later("two hops"),
    "arithmetic": later("arithmetic"),
    "comparison": later("comparison"),
    "bridge": later("bridge"),
    "bridge_comparison": later("bridge and comparison"),
    "unanswerable": later("unanswerable"),
}
"""Name of each kind of question in the built-in sets."""
MEANS: Final = {
    "right": later("Share of questions answered with the expected answer, or correctly refused."),
    "evidence_recall": later("Share of questions whose report cites every document needed for a correct answer."),
    "citation_precision": later("Share of cited statements that their source supports, among those that were decided."),
    "citation_coverage": later("Share of cited statements that rules or judge could decide."),
    "refused": later("Share of unanswerable questions where the run says that the sources don't contain the answer."),
    "wrong": later("Share of questions with an answer that is not the expected one."),
    "no_answer": later("Share of answerable questions to which the run gives no answer."),
    "f1": later("Word overlap between the answer and the expected answer; long answers score low."),
    "exact_match": later("Share of answers that match the expected answer word for word; full sentences never do."),
    "contains": later("Share of answers that mention the expected answer anywhere."),
    "numeric": later("Share of numeric answers within the tolerance."),
    "parts_answered": later("Share of the question's parts that the run answers."),
    "leaked": later("Share of runs in which a tool returned the question together with its expected answer."),
    "evidence_share": later("Share of the documents needed for a correct answer that the report cites."),
    "evidence_seen": later("Share of questions for which every needed document was found, cited or not."),
    "race": later("The judge's score for the report relative to the reference; 50 % means equally good."),
    "effective_citations": later("Cited statements that their source supports, per question."),
    "cited_statements": later("Cited statements, decided or not, per question."),
    "report_kept": later("Share of supported statements that the next version of an evolving report still contains."),
    "diverged": later("Tool calls per question for which the recorded world has no result."),
    "played": later("Tool calls per question that got their recorded result."),
    "budget_spent": later("Share of the budget that a run spent."),
    "budget_unspent": later("Share of runs that something else ended before their budget was spent."),
    "tokens": later("Input and output tokens per question."),
    "cost_usd": later("US dollars per question."),
    "seconds": later("Working time per question."),
}
"""Explanation of each metric."""
NUMBERS: Final = ("effective_citations", "cited_statements", "diverged", "played", "tokens", "cost_usd", "seconds")
"""Metrics that are not shares."""
EFFORT: Final = ("tokens", "cost_usd", "seconds", "diverged")
"""Metrics of what a run spends; less is better."""


def metric(name: str) -> str:
    """Return the title of a metric."""
    return t(MEASURES[name]) if name in MEASURES else plain(plugins.scorer.get(name).title)


def meaning(name: str) -> str:
    """Return the explanation of a metric."""
    return t(MEANS[name]) if name in MEANS else plain(plugins.scorer.get(name).summary)


def ordered(names: Collection[str]) -> list[str]:
    """Return the metrics in the order in which they are offered; those of plug-ins come last."""
    return [*(name for name in MEASURES if name in names), *sorted(set(names) - set(MEASURES))]


def labels(candidates: Sequence[Candidate]) -> Mapping[str, str]:
    """Return the label of each recipe by name: `1 · ReAct / Full history`, with the model if there are several; not
    Markdown.
    """
    several = len({each.recipe.model for each in candidates}) > 1
    known = {each.name: each for each in candidates}

    def called(name: str) -> str:
        each = known[name]
        model = f" · {titles.model(each.recipe.model)}" if several else ""
        return f"{row_of(each)} / {column_of(each)}{model}"

    name_of = unique_labels(list(known), called)
    return {name: f"{place} · {name_of(name)}" for place, name in enumerate(known, 1)}


def row_of(each: Candidate) -> str:
    """Return the framework with its options, marked if it is an oracle."""
    framework = titles.framework(each.recipe.framework)
    return _with(t("{framework}, oracle", framework=framework) if each.oracle else framework, each.shown_options)


def column_of(each: Candidate) -> str:
    """Return the strategy with its options."""
    return _with(titles.context(each.recipe.context), each.recipe.context_options)


def _with(name: str, options: Mapping[str, Any]) -> str:
    return f"{name} ({', '.join(f'{key}={value}' for key, value in options.items())})" if options else name


def number(value: float, measure: str) -> str:
    """Return `85 %`, `3.1k`, `$0.02`, `12 s` or `2.4`; not yet escaped for Markdown."""
    match measure:
        case "tokens":
            return short(round(value))
        case "cost_usd":
            return money(value)
        case "seconds":
            return lasted(value)
        case "effective_citations" | "cited_statements" | "diverged" | "played":
            return f"{value:.1f}"
        case _:
            return percent(value)


def shown(figure: Figure | None, measure: str) -> str:
    """Return a value without its interval, or an empty string if unknown."""
    if figure is None:
        return t("unknown") if measure == "cost_usd" else ""
    return number(figure.mean, measure)


def span(figure: Figure | None, measure: str) -> str:
    """Return the interval as shown next to a value: `70–95`, `2.1k–3.4k`; empty if there is none."""
    if figure is None or figure.interval is None:
        return ""
    low, high = figure.interval
    if measure in NUMBERS:
        ends = number(low, measure), number(high, measure)
        return ends[0] if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"
    return f"{100 * low:.0f}–{100 * high:.0f}"


def kind_name(kind: str) -> str:
    """Return the name of a kind of question."""
    return t(KINDS[kind]) if kind in KINDS else kind.replace("_", " ")


def became(row: Row) -> str:
    """Return the result of one question in a word."""
    if row.scores.refused == 1.0:
        return t("correctly refused")
    if row.scores.right == 1.0:
        return t("correct")
    if row.scores.no_answer == 1.0 and row.outcome not in UNANSWERED or row.outcome == "no_evidence":
        return t("refused")
    if row.outcome in UNANSWERED:
        return t(titles.ENDINGS[row.outcome]).lower()
    return t("wrong") if row.scores.right == 0.0 else t("answered")
