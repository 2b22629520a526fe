"""An evaluation as JSON, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from research.evaluation.datasets import Question
from research.evaluation.measures import MEASURES
from research.evaluation.recipes import Candidate
from research.evaluation.records import Row
from research.evaluation.running import Evaluation, Plan
from research.evaluation.statistics import COSTS, Figure, differences, summary, value
from research.exports.markdown import plain

_SHOWN: Final = {
    "right": "Right", "refused": "Refused", "exact_match": "EM", "f1": "F1", "evidence_recall": "Evidence recall",
    "evidence_seen": "Evidence seen",
    "citation_precision": "Citation precision", "effective_citations": "Effective citations", "race": "RACE",
    "prompt_tokens": "Tokens in", "completion_tokens": "Tokens out", "cost_usd": "Cost, USD", "seconds_p50": "Seconds, p50",
    "seconds_p90": "Seconds, p90",
}  # fmt: skip
"""Columns of the table, as far as something is known."""
_WHOLE: Final = ("prompt_tokens", "completion_tokens")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would read as a formula, at the beginning of a cell."""


def as_dict(plan: Plan, found: Evaluation) -> dict[str, Any]:
    """For `eval --json`; keys are added over time, never renamed.

    A figure is `{"mean", "interval": [low, high] or null, "n"}`, or null where nothing is known.
    """
    return {
        "evaluation": found.name,
        "questions": len(plan.questions),
        "left": found.left,
        "known": found.known,
        "spent_usd": found.spent_usd,
        "recipes": [_recipe(plan, each, found.rows[each.name]) for each in plan.candidates],
        "differences": [
            {"first": each.first, "second": each.second, **_figures(each.figures)} for each in differences(found.rows)
        ],
        "rows": [_row(each, question, row) for each, question, row in _rows(plan, found)],
    }


def markdown(plan: Plan, found: Evaluation) -> str:
    """The table of recipes, the paired differences, and a line for each question."""
    parts = [f"# Evaluation {plain(found.name)}", _said(plan, found), "## Recipes"]
    summaries = {each.name: summary(found.rows[each.name]) for each in plan.candidates}
    columns = [name for name in _SHOWN if any(each.figures.get(name) for each in summaries.values())]
    head = ["Recipe", "n", *(_SHOWN[name] for name in columns), "Outcomes"]
    rows = [
        [
            plain(label(each)),
            f"{of.n}",
            *(_shown(of.figures.get(name), name) for name in columns),
            _counted(of.outcomes),
        ]
        for each in plan.candidates
        for of in [summaries[each.name]]
    ]
    parts += [_table(head, rows), "Means with 95 % bootstrap intervals over the questions; seconds are percentiles."]
    if any(each.oracle for each in plan.candidates):
        parts.append("An *oracle* is told the gold answer: a bound for the others, and no rival of theirs.")
    kinds = {each.name: _by_kind(plan, found.rows[each.name]) for each in plan.candidates}
    if told := list(kinds[plan.candidates[0].name]):
        rows = [
            [plain(label(each)), *(_shown(summary(kinds[each.name][kind]).figures["right"], "right") for kind in told)]
            for each in plan.candidates
        ]
        parts += ["## Right, by kind of question", _table(["Recipe", *map(plain, told)], rows)]
    pairs = differences(found.rows)
    if pairs:
        told = [name for name in (*MEASURES, *COSTS) if name in _SHOWN and any(pair.figures[name] for pair in pairs)]
        head = ["First − second", *(_SHOWN[name] for name in told)]
        rows = [
            [plain(f"{pair.first} − {pair.second}"), *(_shown(pair.figures[name], name) for name in told)]
            for pair in pairs
        ]
        parts += ["## Differences", "Paired, question by question.", _table(head, rows)]
    lines = [
        [
            plain(question.id),
            plain(each.name),
            row.outcome,
            _score(row.scores.right),
            _score(row.scores.evidence_recall),
            row.run,
        ]
        for each, question, row in _rows(plan, found)
    ]
    parts += ["## Questions", _table(["Question", "Recipe", "Outcome", "Right", "Evidence", "Run"], lines)]
    return "\n\n".join(parts) + "\n"


def rows_csv(plan: Plan, found: Evaluation) -> str:
    """One line for each row; texts that a spreadsheet would take for formulas begin with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out)
    names = ("id", "kind", "question", "recipe", "oracle", "run", "outcome", "answer", *MEASURES, *COSTS)
    writer.writerow(names)
    for each, question, row in _rows(plan, found):
        told = _row(each, question, row)
        writer.writerow([_cell(told[name]) for name in names])
    return out.getvalue()


def label(each: Candidate) -> str:
    """The recipe's name in tables."""
    return f"{each.name} (oracle)" if each.oracle else each.name


def _recipe(plan: Plan, each: Candidate, rows: Sequence[Row]) -> dict[str, Any]:
    found, recipe = summary(rows), each.recipe
    kinds = {kind: summary(some) for kind, some in _by_kind(plan, rows).items()}
    return {
        "name": each.name,
        "recipe": {
            "framework": recipe.framework, "context": recipe.context, "model": recipe.model, "hash": recipe.hash,
            "options": {"framework": recipe.framework_options, "context": recipe.context_options},
        },
        "oracle": each.oracle,
        "n": found.n,
        "outcomes": found.outcomes,
        "estimated": found.estimated,
        **_figures(found.figures),
        "kinds": {kind: {"n": of.n, **_figures(of.figures)} for kind, of in kinds.items()},
    }  # fmt: skip


def _figures(figures: Mapping[str, Figure | None]) -> dict[str, Any]:
    return {
        name: None if figure is None else {"mean": figure.mean, "interval": figure.interval, "n": figure.n}
        for name, figure in figures.items()
    }


def _row(each: Candidate, question: Question, row: Row) -> dict[str, Any]:
    return {
        "id": question.id, "kind": question.kind, "question": question.question, "recipe": each.name,
        "oracle": each.oracle, "run": row.run, "outcome": row.outcome, "answer": row.answer,
        **{name: value(row, name) for name in (*MEASURES, *COSTS)},
    }  # fmt: skip


def _by_kind(plan: Plan, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each kind of question, by its name; of a dataset that names none, nothing."""
    kind_of = {question.id: question.kind for question in plan.questions if question.kind}
    found: dict[str, list[Row]] = {kind: [] for kind in sorted(set(kind_of.values()))}
    for row in rows:
        if row.question in kind_of:
            found[kind_of[row.question]].append(row)
    return found


def _rows(plan: Plan, found: Evaluation) -> Iterator[tuple[Candidate, Question, Row]]:
    asked = {question.id: question for question in plan.questions}
    for each in plan.candidates:
        for row in found.rows[each.name]:
            yield each, asked[row.question], row


def _said(plan: Plan, found: Evaluation) -> str:
    budget = plan.candidates[0].recipe.budget
    caps = {"tokens": budget.tokens, "USD": budget.usd, "seconds": budget.seconds}
    words = [f"{len(plan.questions)} questions, the same corpus and budget for all recipes"]
    words[0] += f" ({', '.join(f'{cap:g} {unit}' for unit, cap in caps.items() if cap is not None) or 'no caps'})."
    if found.left:
        words.append(f"Not finished: {found.left} rows are left.")
    return " ".join(words)


def _counted(outcomes: Mapping[str, int]) -> str:
    return ", ".join(f"{outcome} {number}" for outcome, number in outcomes.items())


def _shown(figure: Figure | None, name: str) -> str:
    if figure is None:
        return "unknown" if name == "cost_usd" else ""
    digits = 0 if name in _WHOLE else 3
    if figure.interval is None:
        return f"{figure.mean:,.{digits}f}"
    low, high = figure.interval
    return f"{figure.mean:,.{digits}f} [{low:,.{digits}f}, {high:,.{digits}f}]"


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:g}"


def _cell(content: object) -> object:
    return f"'{content}" if isinstance(content, str) and content.startswith(_FORMULA) else content


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
