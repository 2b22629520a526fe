"""The steps of the runs in aligned rows, drawn as one table, so that 200 rounds are a single page element."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from pages.parts.compare.columns import Column
from pages.parts.run import naming
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import tabular
from pages.parts.shared.words import ICONS, PHASES, agent_name, count, lasted, tool_title
from research.compare.alignment import MOST, Row, Step, align, identical, steps
from research.compare.forks import CommonRounds
from research.events.view import RunView
from research.protocols.tagged import split_reasoning
from research.text import clip

ROWS = 60
"""Rows drawn before the user asks for all."""


def shared_rounds(columns: Sequence[Column], common: CommonRounds) -> None:
    """Draw the rounds that all runs have in common, folded."""
    with st.expander(
        t("Rounds 1 to {n} shared · {hash}", n=common.rounds, hash=common.hash[:6])
        if common.rounds > 1
        else t("Round 1 shared · {hash}", hash=common.hash[:6]),
        type="compact",
        icon=":material/call_split:",
        key="compare-common",
    ):
        view = columns[0].view
        left = len(steps(view, common.rounds))
        finished = [step for step in steps(view)[: len(steps(view)) - left] if _settled(step)]
        st.caption(t("These rounds are identical in every run; the code above is their fingerprint."))
        with st.container(key="compare-common-steps"):
            st.markdown("  \n".join(f"**{step.round.number}** {_cell(view, step)}" for step in finished[:ROWS]))
        if len(finished) > ROWS:
            st.caption(t("and {steps} more", steps=count(len(finished) - ROWS, "step")))


def draw(columns: Sequence[Column], after: int = 0) -> None:
    """Draw the finished steps in aligned rows; active steps appear below.

    `after` is the last shared round.
    """
    rows = [row for row in _aligned(columns, after) if any(step and _settled(step) for step in row)]
    if after:
        st.caption(t("Steps after that, aligned by query"))
    else:
        st.caption(t("Steps, aligned by query"))
    if any(column.view.model_calls + column.view.tool_calls > MOST for column in columns):
        st.caption(t("Only the first {n} steps of each run are compared.", n=f"{MOST:,}"))
    if not rows:
        st.markdown(t("The first steps appear here."))
        return
    live = any(column.working for column in columns)
    same = [identical(row) for row in rows]
    if not live and any(same):
        key = "compare-only-differences"
        st.session_state.setdefault(key, True)
        if st.toggle(t("Only differences"), key=key, persist_state="session"):
            _differing(columns, rows, same)
            return
    shown = rows
    if len(rows) > ROWS and not st.toggle(t("All {rows}", rows=count(len(rows), "row")), key="compare-all-rows"):
        shown = rows[-ROWS:] if live else rows[:ROWS]
    head = [column.name for column in columns]
    with st.container(key="compare-steps"):
        st.markdown(tabular(head, [_cells(columns, row) for row in shown]))


def _differing(columns: Sequence[Column], rows: Sequence[Row], same: Sequence[bool]) -> None:
    """Draw the rows in which the runs differ; each stretch between them is one row with its count."""
    if all(same):
        st.markdown(t("All {steps} are the same in every run.", steps=count(len(rows), "step")))
        return
    cells: list[list[str]] = []
    for alike, group in groupby(zip(rows, same, strict=True), key=lambda each: each[1]):
        found = [row for row, _ in group]
        if alike:
            cells.append([f":gray[{count(len(found), 'identical step')}]"] * len(columns))
        else:
            cells += [_cells(columns, row) for row in found]
    with st.container(key="compare-steps"):
        st.markdown(tabular([column.name for column in columns], cells[:ROWS]))
    if len(cells) > ROWS:
        st.caption(t("The first {rows} are shown.", rows=count(ROWS, "row")))


def _aligned(columns: Sequence[Column], after: int) -> list[Row]:
    """Return the aligned rows, cached in the session because aligning hundreds of rounds is slow."""
    at = (after, *((column.run, column.view.seq) for column in columns))
    kept: tuple[object, list[Row]] = st.session_state.get("compared-rows", (None, []))
    if kept[0] != at:
        kept = st.session_state["compared-rows"] = at, align([column.view for column in columns], after)
    return kept[1]


def now(columns: Sequence[Column]) -> None:
    """Draw what each run is doing at the moment: words being written and active tools."""
    at = time.time()
    for column, place in zip(columns, st.columns(len(columns), gap="medium"), strict=True):
        with place, st.container(key=f"{column.key}-now"):
            st.caption("  \n".join(_doing(column, at)) if column.working else "")


def _cells(columns: Sequence[Column], row: Row) -> list[str]:
    return [
        _cell(column.view, step) if step and _settled(step) else "" for column, step in zip(columns, row, strict=True)
    ]


def _settled(step: Step) -> bool:
    return step.call.observation is not None if step.call else step.round.done


def _cell(view: RunView, step: Step) -> str:
    """Return the step and its result as one line of Markdown."""
    who = "" if step.round.agent == "main" else f":gray[{plain(agent_name(step.round.agent))}] "
    if step.call is None:
        role = naming.role(step.round)
        icon, title = PHASES[role] if role else ("edit_note", "")
        words = t(title) if title else t("Write the answer") if step.answers else t("Think")
        return f"{who}:material/{icon}: {words} :gray[:small[{lasted(step.round.seconds)}]]"
    seen = step.call.observation
    icon = ICONS.get(step.tool, "build")
    came = ""
    if seen is not None:
        if not seen.ok:
            came = t("failed: {why}", why=plain(clip(" ".join(seen.text.split()), 80)))
        elif seen.sources:
            came = count(len(seen.sources), "source")
        else:
            came = plain(clip(" ".join(seen.text.split()), 60))
        took = t("edited by you") if seen.edited else lasted(seen.seconds)
        came = f" :gray[:small[→ {came} · {took}]]"
    return f"{who}:material/{icon}: {plain(naming.action(view, step.call.call))}{came}"


def _doing(column: Column, at: float) -> list[str]:
    """Return one line per active agent."""
    lines = []
    for current in column.view.rounds:
        who = "" if current.agent == "main" else f"{plain(agent_name(current.agent))}: "
        for call in current.calls:
            if call.observation is None:
                name = plain(tool_title(call.call.name))
                lines.append(f":material/sync: {who}{name} … {lasted(max(0.0, at - call.started))}")
        if current.reply is None and current.ask:
            thinking, body = split_reasoning(current.draft)
            words = " ".join((body.strip() or thinking or current.draft_reasoning).split())
            written = plain(f"…{words[-160:]}") if words else t("calling the model")
            lines.append(f":material/edit_note: {who}{written} {lasted(max(0.0, at - current.started))}")
    return lines
