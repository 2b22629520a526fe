"""The rows of an evaluation as CSV or JSON lines, with the expected answers and the full answers of the runs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from research.errors import ConfigError
from research.evaluation.plans import Evaluation, Plan
from research.evaluation.questions import Question
from research.evaluation.recipe_notation import Candidate
from research.evaluation.records import Row
from research.evaluation.scorers import measures
from research.evaluation.statistics import COSTS, value
from research.events.view import RunView, fold
from research.store import RunLog
from research.text import cell

Texts = Callable[[Row], RunView | None]
"""Returns the run of a row, like `view_of`."""
_TEXTS: Final = (
    "id",
    "kind",
    "question",
    "expected",
    "recipe",
    "oracle",
    "run",
    "outcome",
    "short_answer",
    "full_answer",
)


def texts_of(store: RunLog) -> Texts:
    """Return the function that reads saved runs."""
    return partial(view_of, store)


def view_of(store: RunLog, row: Row) -> RunView | None:
    """Return the run of a row; None if the run was deleted."""
    try:
        store.run(row.run)
    except ConfigError:
        return None
    return fold(store.events(row.run))


def rows_csv(plan: Plan, found: Evaluation, texts: Texts | None = None) -> str:
    """Return one line per row.  Texts that a spreadsheet would read as formulas get a leading apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out)
    names = (*_TEXTS, "answer", *measures(), *COSTS, "trial", "seed", "leaks", "judge", "annotations")
    writer.writerow(names)
    for each in rows_of(plan, found):
        record = as_record(*each, texts)
        record["annotations"] = " | ".join(f"{name}: {said}" for name, said in record["annotations"].items())
        record |= {name: " | ".join(record[name]) for name in ("expected", "leaks")}
        writer.writerow([_cell(record[name]) for name in names])
    return out.getvalue()


def rows_jsonl(plan: Plan, found: Evaluation, texts: Texts | None = None) -> str:
    """Return one JSON object per line and row, the same as in `rows` of `eval --json`."""
    lines = (json.dumps(as_record(*each, texts), ensure_ascii=False) for each in rows_of(plan, found))
    return "".join(f"{line}\n" for line in lines)


def as_record(each: Candidate, question: Question, row: Row, texts: Texts | None = None) -> dict[str, Any]:
    """Return a row with its question.  Without `texts`, or if the run is gone, the full answers are null."""
    said = texts(row) if texts else None
    return {
        "id": question.id,
        "kind": question.kind,
        "question": question.question,
        "expected": expected(question),
        "gold": list(question.gold),
        "recipe": each.name,
        "oracle": each.oracle,
        "trial": row.trial,
        "seed": row.seed,
        "run": row.run,
        "outcome": row.outcome,
        "answer": row.answer,
        "short_answer": said.short if said else None,
        "full_answer": said.answer if said else None,
        **{name: value(row, name) for name in (*measures(), *COSTS)},
        "leaks": list(row.leaks),
        "judge": row.judge,
        "annotations": row.annotations,
    }


def expected(question: Question) -> list[str]:
    """Return the accepted answers, or the accepted number with its tolerance."""
    if question.answers or question.value is None:
        return list(question.answers)
    tolerance = f" ± {question.tolerance:g}" if question.tolerance else ""
    return [f"{question.value:.15g}{tolerance}{f' {question.unit}' if question.unit else ''}"]


def rows_of(plan: Plan, found: Evaluation) -> Iterator[tuple[Candidate, Question, Row]]:
    """Yield the rows recipe by recipe, each with its question."""
    asked = {question.id: question for question in plan.questions}
    for each in plan.candidates:
        for row in found.rows[each.name]:
            yield each, asked[row.question], row


def _cell(content: object) -> object:
    return cell(content) if isinstance(content, str) else content
