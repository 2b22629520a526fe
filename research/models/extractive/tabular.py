"""Answer a question from the tables of the library: describe them, query one, and state the result."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from research.models.extractive.evidence import Evidence, Step
from research.models.extractive.question import parse
from research.models.extractive.similarity import cosine
from research.models.extractive.spelling import spelt
from research.models.extractive.table_nouns import added, with_amount
from research.models.extractive.table_plan import Doubt, Plan, planned
from research.models.extractive.table_reading import PTable, Rows, asked_of, figure, ran, result_of, tables
from research.models.extractive.table_sql import LISTED, statement
from research.models.extractive.table_words import CALCULATIONS
from research.models.extractive.times import periods
from research.models.extractive.verdict import Action, TableAnswer, Verdict
from research.text import has_cjk, tokens

_OWN = "Tables: "
WORLD = "World Factbook"
_SHOWN, _NEAR = 2, 0.2
"""Tables to name where none answers, and their least similarity to the question."""
_FACTBOOK = "factbook ("


def solved(evidence: Evidence, acting: bool, *, near: bool = False) -> Verdict | None:
    """Return the next step or the answer from a table; None if no table clearly has what is asked.

    With `near`, it is the answer to all but one word of the question.
    """
    question = evidence.question
    if not _offered(evidence):
        return None
    step = asked_of(evidence.steps, question)
    if step is None:
        action = Action("query", {"about": question}, "Look which tables fit.")
        return Verdict(parse(question), actions=(action,)) if acting and not evidence.lessons else None
    described = [with_amount(table) for table in tables(step.text) if table.file != WORLD] if step.ok else []
    if found := _answered(evidence, question, described, acting, near):
        return found
    values = {value for table in described for column in table.of_type("text") for value in column.values}
    names = sorted({name for value in values for name in re.findall(r"[^\W\d_]{5,}", value)})
    text, guessed = spelt(question, frozenset(tokens(step.text)), names)
    found = _answered(evidence, text, described, acting, near) if guessed else None
    return replace(found, question=replace(found.question, guessed=guessed)) if found else None


def _answered(
    evidence: Evidence, question: str, described: Sequence[PTable], acting: bool, near: bool
) -> Verdict | None:
    """Return the next step or the answer to a question as it is written."""
    plan = planned(question, tuple(described))
    if isinstance(plan, Doubt):
        return Verdict(parse(question), doubt=plan.options)
    return carried_out(evidence.steps, question, plan, acting) if plan and bool(plan.unread) == near else None


def columns_of(evidence: Evidence) -> list[str]:
    """Return the tables nearest in meaning to a question to calculate which has no answer, and their columns."""
    question = evidence.question
    step = asked_of(evidence.steps, question)
    if step is None or not any(each.search(question) for each in CALCULATIONS):
        return []
    # Of a table by months, the last is the one as it is written.
    own = {table.file: table for table in tables(step.text) if table.file != WORLD}
    columns = {file: ", ".join(column.name for column in table.columns) for file, table in own.items()}
    near = {file: cosine(question, f"{file} {own[file].title} {columns[file]}") for file in own}
    best = sorted((file for file in own if near[file] >= _NEAR), key=lambda file: -near[file])
    return [f"{file} ({columns[file]})" for file in best[:_SHOWN]]


def _offered(evidence: Evidence) -> bool:
    """Return whether the run has the tool, and tables other than the Factbook's."""
    listed = evidence.description_of("query").partition(_OWN)[2]
    return bool(listed) and not listed.startswith(_FACTBOOK)


def carried_out(steps: Sequence[Step], question: str, plan: Plan, acting: bool) -> Verdict | None:
    """Return the next query of a plan, or its result; None if it has none that answers."""
    sql = statement(plan)
    if not sql:
        return None
    if not ran(steps, sql):
        return _step(question, sql) if acting else None
    rows = result_of(steps, sql)
    if rows is None and plan.operation == "list" and plan.limits and not (plan.filters or plan.periods or plan.unread):
        return carried_out(
            steps, question, replace(plan, operation="count"), acting
        )  # that there is none, or it failed
    if rows is None:
        return None
    if plan.operation == "lookup" and len(rows.rows) > 1:
        if not (plan.filters or plan.limits or (plan.periods and not plan.wide)):
            return None
        if plan.measure is None or plan.measure.type != "number" or not added(plan.measure):
            return None if len(rows.rows) > 8 else Verdict(parse(question), table=(TableAnswer(plan, rows),))
        whole = replace(plan, operation="sum", aggregate="SUM")
        sql = statement(whole)
        if not ran(steps, sql):
            return _step(question, sql) if acting else None
        total = result_of(steps, sql)
        return Verdict(parse(question), table=(TableAnswer(whole, total),)) if total else None
    if plan.operation == "list" and len(rows.rows) > LISTED:
        return None
    if not _filled(plan, rows):
        return None
    return Verdict(parse(question), table=(TableAnswer(plan, rows),))


def same_rows(text: str, before: str, found: Verdict) -> str:
    """Return a part of a question about the rows of the part before it: of the same names and times.

    Empty if that has none of a table, or the part has its own.
    """
    plan = found.table[0].plan if found.table else None
    when = periods(before)
    if plan is None or periods(text) or not (plan.filters or when):
        return ""
    names = dict.fromkeys(each.value for each in plan.filters)
    times = before[when[0].start : when[-1].end] if when else ""
    chinese = has_cjk(text)
    whole = f"{times}{'、'.join(names)}的{text}" if chinese else f"{text.rstrip('?')} {times} ({' and '.join(names)})?"
    same = [(each.text, each.how) for each in periods(whole)] == [(each.text, each.how) for each in when]
    return whole if same else ""


def of_same_rows(found: Verdict, before: Verdict) -> bool:
    """Return whether an answer, if it is from a table, is one figure of the rows of the answer before it."""
    chosen = [{(each.column, each.value) for each in answer.plan.filters} for answer in (*before.table, *found.table)]
    return not any(each.plan.group for each in found.table) and all(each == chosen[0] for each in chosen)


def _step(question: str, sql: str) -> Verdict:
    return Verdict(parse(question), actions=(Action("query", {"sql": sql}, "Query the table."),))


def _filled(plan: Plan, rows: Rows) -> bool:
    """Return whether a result has the figure that is asked for."""
    if plan.operation in ("count", "list"):
        return bool(rows.rows)
    if plan.operation == "lookup":
        return bool(rows.rows[0][-1])
    if plan.operation == "rank" and plan.many >= 0 and len(rows.rows) > 2 and len({row[-1] for row in rows.rows}) == 1:
        return False  # all are equal, so that none has the most
    last = rows.rows[0][-1]
    return bool(last) and (plan.operation == "rank" or figure(last) is not None)
