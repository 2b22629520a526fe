"""How recipes, measures and figures of an evaluation are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pages.parts import runs_filters
from pages.parts.language import later, t
from pages.parts.words import apart, lasted, money, short
from research.evaluation import Candidate, Figure, Row
from research.evaluation.measures import UNANSWERED

MEASURES: Final = {
    "right": later("Right answers"), "evidence_recall": later("Evidence cited"),
    "citation_precision": later("Citations borne out"),
    "refused": later("Honest refusals"), "f1": later("F1"), "exact_match": later("Exact match"),
    "evidence_share": later("Share of evidence cited"), "evidence_seen": later("Evidence seen"), "race": later("Judged report"),
    "effective_citations": later("Citations borne out, number"), "tokens": later("Tokens"), "cost_usd": later("Cost"),
    "seconds": later("Time"),
}  # fmt: skip
"""In the order in which they are offered; shown by `t`."""
MEANS: Final = {
    "right": later("Share of questions whose answer holds a gold answer, or that were rightly refused."),
    "evidence_recall": later("Share of questions whose report cites every document that a right answer needs."),
    "citation_precision": later("Share of cited statements that the source bears out."),
    "refused": later("Share of unanswerable questions of which it is said that the sources do not hold it."),
    "f1": later("Words that the whole answer shares with the gold one; long answers score low."),
    "exact_match": later("Share of answers that are the gold one, word for word; an answer in sentences never is."),
    "evidence_share": later("How much of the documents that a right answer needs is cited."),
    "evidence_seen": later("Share of questions in which every document needed was found, cited or not."),
    "race": later("The judge's points as a share of those of report and reference; 50 % is as good as the reference."),
    "effective_citations": later("Cited statements that the source bears out, for each question."),
    "tokens": later("Read and written, for each question."),
    "cost_usd": later("US dollars for each question."),
    "seconds": later("Time of work for each question."),
}
"""What each of them is, in a sentence; shown by `t`."""
NUMBERS: Final = ("effective_citations", "tokens", "cost_usd", "seconds")
"""Measures that are no shares."""
EFFORT: Final = ("tokens", "cost_usd", "seconds")
"""Of these, less is better."""


def labels(candidates: Sequence[Candidate]) -> Mapping[str, str]:
    """By name: `1 · ReAct / Full history`, with the model where there are several; no Markdown."""
    several = len({each.recipe.model for each in candidates}) > 1
    known = {each.name: each for each in candidates}

    def called(name: str) -> str:
        each = known[name]
        model = f" · {each.recipe.model}" if several else ""
        return f"{row_of(each)} / {column_of(each)}{model}"

    name_of = apart(list(known), called)
    return {name: f"{place} · {name_of(name)}" for place, name in enumerate(known, 1)}


def row_of(each: Candidate) -> str:
    """The framework with its options, and whether it is an oracle."""
    options = {
        name: value
        for name, value in each.recipe.framework_options.items()
        if not (each.oracle and name == "evaluator")
    }
    framework = runs_filters.framework(each.recipe.framework)
    return _with(t("{framework}, oracle", framework=framework) if each.oracle else framework, options)


def column_of(each: Candidate) -> str:
    """The strategy with its options."""
    return _with(runs_filters.context(each.recipe.context), each.recipe.context_options)


def _with(name: str, options: Mapping[str, Any]) -> str:
    return f"{name} ({', '.join(f'{key}={value}' for key, value in options.items())})" if options else name


def number(value: float, measure: str) -> str:
    """`85 %`, `3.1k`, `$0.02`, `12 s`, `2.4`; not yet escaped for Markdown."""
    match measure:
        case "tokens":
            return short(round(value))
        case "cost_usd":
            return money(value)
        case "seconds":
            return lasted(value)
        case "effective_citations":
            return f"{value:.1f}"
        case _:
            return f"{100 * value:.0f} %"


def shown(figure: Figure | None, measure: str) -> str:
    """A figure without its interval; empty where nothing is known."""
    if figure is None:
        return t("unknown") if measure == "cost_usd" else ""
    return number(figure.mean, measure)


def span(figure: Figure | None, measure: str) -> str:
    """Its interval, as it stands beside the figure: `70–95`, `2.1k–3.4k`; empty where there is none."""
    if figure is None or figure.interval is None:
        return ""
    low, high = figure.interval
    if measure in NUMBERS:
        ends = number(low, measure), number(high, measure)
        return ends[0] if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"
    return f"{100 * low:.0f}–{100 * high:.0f}"


def became(row: Row) -> str:
    """What came of one question, in a word."""
    if row.scores.refused == 1.0:
        return t("refused, rightly")
    if row.scores.right == 1.0:
        return t("right")
    if row.outcome == "no_evidence":
        return t("refused")
    if row.outcome in UNANSWERED:
        return t(runs_filters.ENDINGS[row.outcome]).lower()
    return t("wrong") if row.scores.right == 0.0 else t("answered")
