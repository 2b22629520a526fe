"""The list of runs: a dense table, or links on a narrow screen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import streamlit as st

from pages.parts.run import head, lineage
from pages.parts.runs import figures, filters
from pages.parts.runs.figures import Ended
from pages.parts.search import found
from pages.parts.shared import address, titles
from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import frame
from pages.parts.shared.words import ago, lasted
from research.store import RunRow
from research.text import clip
from research.workbench.workbench import Workbench

SHORT, LONG, ROW_PX = 6, 14, 35
"""Visible rows while a run is open and while none is, and the height of a row in pixels."""
CELL, ANSWER = 50, 40
"""Most characters of a question or an excerpt, and of an answer, in a cell, which would cut it without a sign."""
LINKS = 25
"""Maximum number of runs listed as links."""
COLUMNS: Final = (
    ("Question", later("Question"), 345),
    ("Answer", later("Answer"), 260),
    ("Outcome", later("Outcome"), 145),
    ("Method", later("Method"), 195),
    ("Model", later("Model"), 105),
    ("When", later("When"), 110),
    ("Took", later("Took"), 75),
    ("Tags", later("Tags"), 120),
    ("Found", later("In the report"), 320),
)
"""The columns with their headings and widths in pixels, which stay the same with and without a search."""
QUIET = "#7a8087"
"""Colour of a question that the row above has already named."""
AGAIN = {"fork": later("{question} (fork)"), "rerun": later("{question} (rerun)")}
"""The question of a run that asks it again, by how it derives from the other."""


def selected(rows: Sequence[RunRow]) -> list[RunRow]:
    """Return the listed runs that are ticked."""
    chosen = st.session_state.get("runs-selected", ())
    return [row for row in rows if row.id in chosen]


def draw(bench: Workbench, rows: Sequence[RunRow], opened: bool) -> None:
    """Draw the runs by question, the newest first; clicking a cell opens a run, ticking selects it for the actions."""
    rows = _grouped(rows)
    known = {row.id: row for row in rows}
    asked = [_asked(bench, row, known) for row in rows]
    ended = figures.ended(bench, rows)
    if any(_repeats(rows)):
        st.caption(t("Newest first; runs of the same question stand together."))
    with st.container(key="runs-wide"):
        _table(rows, asked, ended, opened)
        if not opened and not selected(rows):  # the actions on ticked runs take its place
            st.caption(t("Click a row to open the run. Tick one or more to compare, tag, export or delete them."))
    with st.container(key="runs-narrow", gap="xxsmall"):
        _links(rows, asked, ended)


def _asked(bench: Workbench, row: RunRow, known: Mapping[str, RunRow]) -> str:
    """Return the question of a run, with the one that it follows, or how it asks it again."""
    question = " ".join(row.question.split())
    if row.origin is None:
        return question
    if row.origin.how == "follow_up":
        earlier = lineage.followed(bench, row, known)
        return t("{question} (after “{earlier}”)", question=question, earlier=earlier) if earlier else question
    return t(AGAIN[row.origin.how], question=question)


def _grouped(rows: Sequence[RunRow]) -> list[RunRow]:
    """Return the runs with those of one question together, each group where its newest run is."""
    groups: dict[str, list[RunRow]] = {}
    for row in rows:
        groups.setdefault(" ".join(row.question.split()), []).append(row)
    return [row for group in groups.values() for row in group]


def _repeats(rows: Sequence[RunRow]) -> list[bool]:
    """Return for each row whether the row above has the same question."""
    asked = [" ".join(row.question.split()) for row in rows]
    return [place > 0 and asked[place - 1] == each for place, each in enumerate(asked)]


def _table(rows: Sequence[RunRow], asked: Sequence[str], ended: Mapping[str, Ended], opened: bool) -> None:
    ids = [row.id for row in rows]
    # A new key for new rows, because the selection stores positions, not runs.
    key = "runs-table-" + hashlib.sha256("\n".join(ids).encode()).hexdigest()[:12]
    checked = [place for place, row in enumerate(rows) if row in selected(rows)]
    columns: dict[str, list[Any]] = {
        "Question": [clip(f"↳ {each}" if row.origin else each, CELL) for row, each in zip(rows, asked, strict=True)],
        "Answer": [clip(ended[row.id].answer, ANSWER) if row.id in ended else "" for row in rows],
        "Outcome": [f"{head.SIGNS[head.look(row)[1]]} {head.state(row)}" for row in rows],
        "Method": [titles.way(row.recipe) for row in rows],
        "Model": [titles.model(row.recipe.model) for row in rows],
    }
    columns["When"] = [ago(row.created) for row in rows]
    columns["Took"] = [lasted(ended[row.id].figures.seconds) if row.id in ended else "" for row in rows]
    # Last, because a table that is wider than the page is cut on the right.
    if any(row.tags for row in rows):
        columns["Tags"] = [", ".join(row.tags) for row in rows]
    if query := filters.query():
        columns["Found"] = [clip(found.excerpt(row, query), CELL) for row in rows]
    headings = {name: st.column_config.TextColumn(t(title), width=width) for name, title, width in COLUMNS}
    repeats = _repeats(rows)
    tinted = frame(columns).style
    tinted = tinted.apply(lambda _: [f"color: {titles.TINTS[head.look(row)[0]]}" for row in rows], subset=["Outcome"])
    tinted = tinted.apply(lambda _: [f"color: {QUIET}" if each else "" for each in repeats], subset=["Question"])
    st.dataframe(
        tinted,
        column_config=headings,
        hide_index=True,
        key=key,
        on_select=_selected,
        selection_mode=["multi-row", "single-cell"],
        placeholder="",
        selection_default={"selection": {"rows": checked, "columns": [], "cells": []}},
        height=ROW_PX * (1 + min(len(rows), SHORT if opened else LONG)) + 2,
        alt=t("Saved runs, newest first"),
    )
    st.session_state["runs-listed"] = key, ids


def _selected() -> None:
    """Open the run whose cell was clicked; a tick only selects."""
    key, ids = st.session_state["runs-listed"]
    state = st.session_state[key]["selection"]
    before = st.session_state.get("runs-cell")
    cell = (key, *state["cells"][0]) if state["cells"] else None
    st.session_state["runs-selected"] = tuple(ids[place] for place in state["rows"])
    st.session_state["runs-cell"] = cell
    if cell is not None and cell != before:
        show(ids[cell[1]])


def show(run_id: str) -> None:
    """Open a run by writing its id into the page's URL; an empty id closes the run."""
    address.put("round")
    address.put("run", run_id)


def _links(rows: Sequence[RunRow], asked: Sequence[str], ended: Mapping[str, Ended]) -> None:
    query = filters.query()
    for row, question, repeats in zip(rows[:LINKS], asked, _repeats(rows), strict=False):
        words = titles.way(row.recipe) if repeats else question
        indent = "\u2003" if repeats else ""
        said = [head.state(row), ago(row.created), *([clip(found.excerpt(row, query), CELL)] if query else [])]
        answer = f"{plain(clip(ended[row.id].answer, CELL))} · " if row.id in ended and ended[row.id].answer else ""
        label = f"{indent}{head.dot(row)} {plain(words)} :small[{answer}:gray[{plain(' · '.join(said))}]]"
        address.link(label, f"runs-link-{row.id}", width="stretch", run=row.id, round="")
    if len(rows) > LINKS:
        st.caption(t("The newest {n} are listed; use search to find others.", n=LINKS))
