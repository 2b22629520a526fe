"""Export an evaluation as JSON, Markdown or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from research import plugins
from research.evaluation.plans import Evaluation, Plan
from research.evaluation.questions import Question
from research.evaluation.recipes import Candidate
from research.evaluation.records import Row
from research.evaluation.scorers import OWN, measures
from research.evaluation.statistics import COSTS, Figure, differences, summary, value
from research.exports.markdown import plain
from research.text import cell

_TITLES: Final = {
    "race": "RACE",
    "prompt_tokens": "Tokens in",
    "completion_tokens": "Tokens out",
    "cost_usd": "Cost, USD",
    "seconds_p50": "Seconds, p50",
    "seconds_p90": "Seconds, p90",
}


def _columns() -> list[str]:
    """The columns of the tables; those of plug-ins come last."""
    return [*_COLUMNS, *(name for name in measures() if name not in OWN)]


def _title(name: str) -> str:
    """The heading of a measure or a cost."""
    return _TITLES.get(name) or plugins.scorer.get(name).title


_COLUMNS: Final = (
    "right",
    "refused",
    "exact_match",
    "f1",
    "evidence_recall",
    "evidence_seen",
    "citation_precision",
    "effective_citations",
    "race",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
    "seconds_p50",
    "seconds_p90",
)
"""Columns of the Markdown table, if any recipe has a value for them."""
_WHOLE: Final = ("prompt_tokens", "completion_tokens")


def as_dict(plan: Plan, found: Evaluation) -> dict[str, Any]:
    """Return the object that `eval --json` prints.  Keys may be added, but never renamed.

    A figure is `{"mean", "interval": [low, high] or null, "n"}`, or null if no value is known.
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
    """Return the tables of recipes, kinds of question, paired differences and single questions."""
    parts = [f"# Evaluation {plain(found.name)}", _scope(plan, found), "## Recipes", _recipes_table(plan, found)]
    parts.append("Means with 95 % bootstrap intervals over the questions; seconds are percentiles.")
    if any(each.oracle for each in plan.candidates):
        parts.append("An *oracle* is told the gold answer: a bound for the others, and no rival of theirs.")
    return "\n\n".join([*parts, *_kinds(plan, found), *_differences(found), *_questions(plan, found)]) + "\n"


def _recipes_table(plan: Plan, found: Evaluation) -> str:
    summaries = {each.name: summary(found.rows[each.name]) for each in plan.candidates}
    columns = [name for name in _columns() if any(each.figures.get(name) for each in summaries.values())]
    head = ["Recipe", "n", *(_title(name) for name in columns), "Outcomes"]
    rows = [
        [
            plain(label(each)),
            f"{of.n}",
            *(_interval(of.figures.get(name), name) for name in columns),
            _counts(of.outcomes),
        ]
        for each in plan.candidates
        for of in [summaries[each.name]]
    ]
    return _table(head, rows)


def _kinds(plan: Plan, found: Evaluation) -> list[str]:
    by_kind = {each.name: _by_kind(plan, found.rows[each.name]) for each in plan.candidates}
    kinds = list(by_kind[plan.candidates[0].name])
    if not kinds:
        return []
    rows = [
        [
            plain(label(each)),
            *(_interval(summary(by_kind[each.name][kind]).figures["right"], "right") for kind in kinds),
        ]
        for each in plan.candidates
    ]
    return ["## Right, by kind of question", _table(["Recipe", *map(plain, kinds)], rows)]


def _differences(found: Evaluation) -> list[str]:
    pairs = differences(found.rows)
    if not pairs:
        return []
    columns = [name for name in _columns() if any(pair.figures.get(name) for pair in pairs)]
    rows = [
        [plain(f"{pair.first} − {pair.second}"), *(_interval(pair.figures[name], name) for name in columns)]
        for pair in pairs
    ]
    head = ["First − second", *(_title(name) for name in columns)]
    return ["## Differences", "Paired, question by question.", _table(head, rows)]


def _questions(plan: Plan, found: Evaluation) -> list[str]:
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
    return ["## Questions", _table(["Question", "Recipe", "Outcome", "Right", "Evidence", "Run"], lines)]


def rows_csv(plan: Plan, found: Evaluation) -> str:
    """Return one line per row.  Texts that a spreadsheet would read as formulas get a leading apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out)
    names = ("id", "kind", "question", "recipe", "oracle", "run", "outcome", "answer", *measures(), *COSTS)
    writer.writerow(names)
    for each, question, row in _rows(plan, found):
        values = _row(each, question, row)
        writer.writerow([_cell(values[name]) for name in names])
    return out.getvalue()


def label(each: Candidate) -> str:
    """Return the name of a recipe in tables."""
    return f"{each.name} (oracle)" if each.oracle else each.name


def _recipe(plan: Plan, each: Candidate, rows: Sequence[Row]) -> dict[str, Any]:
    found, recipe = summary(rows), each.recipe
    kinds = {kind: summary(some) for kind, some in _by_kind(plan, rows).items()}
    return {
        "name": each.name,
        "recipe": {
            "framework": recipe.framework,
            "context": recipe.context,
            "model": recipe.model,
            "hash": recipe.hash,
            "options": {"framework": recipe.framework_options, "context": recipe.context_options},
        },
        "oracle": each.oracle,
        "n": found.n,
        "outcomes": found.outcomes,
        "estimated": found.estimated,
        **_figures(found.figures),
        "kinds": {kind: {"n": of.n, **_figures(of.figures)} for kind, of in kinds.items()},
    }


def _figures(figures: Mapping[str, Figure | None]) -> dict[str, Any]:
    return {
        name: None if figure is None else {"mean": figure.mean, "interval": figure.interval, "n": figure.n}
        for name, figure in figures.items()
    }


def _row(each: Candidate, question: Question, row: Row) -> dict[str, Any]:
    return {
        "id": question.id,
        "kind": question.kind,
        "question": question.question,
        "recipe": each.name,
        "oracle": each.oracle,
        "run": row.run,
        "outcome": row.outcome,
        "answer": row.answer,
        **{name: value(row, name) for name in (*measures(), *COSTS)},
    }


def _by_kind(plan: Plan, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows by kind of question; empty for a dataset without kinds."""
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


def _scope(plan: Plan, found: Evaluation) -> str:
    budget = plan.candidates[0].recipe.budget
    caps = {"tokens": budget.tokens, "USD": budget.usd, "seconds": budget.seconds}
    words = [f"{len(plan.questions)} questions, the same corpus and budget for all recipes"]
    words[0] += f" ({', '.join(f'{cap:g} {unit}' for unit, cap in caps.items() if cap is not None) or 'no caps'})."
    if found.left:
        words.append(f"Not finished: {found.left} rows are left.")
    return " ".join(words)


def _counts(outcomes: Mapping[str, int]) -> str:
    return ", ".join(f"{outcome} {number}" for outcome, number in outcomes.items())


def _interval(figure: Figure | None, name: str) -> str:
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
    return cell(content) if isinstance(content, str) else content


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
