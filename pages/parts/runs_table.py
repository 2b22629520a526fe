"""The list of runs: a dense table, and on a narrow screen a list of links."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.parts import address, head, runs_filters
from pages.parts.language import later, t
from pages.parts.safe import plain
from pages.parts.words import lasted, when
from research.store import RunRow
from research.text import clip

SHORT, LONG, ROW_PX = 6, 14, 35
"""Rows that are seen while a run is open and while none is, and the height of one."""
LINKS = 25
"""Runs that are listed as links."""
FROM = {"fork": later("fork"), "follow_up": later("follow-up"), "rerun": later("re-run")}
"""How a run comes from another, shown by `t`."""


def ending(row: RunRow) -> str:
    """How the run stands, in a few words."""
    if row.outcome:
        return t(runs_filters.ENDINGS[row.outcome])
    if row.status == "paused":
        return t("Paused")
    return t("Interrupted") if head.lost(row) else t("Running")


def selected(rows: Sequence[RunRow]) -> list[RunRow]:
    """The listed runs whose boxes are checked."""
    chosen = st.session_state.get("runs-selected", ())
    return [row for row in rows if row.id in chosen]


def draw(rows: Sequence[RunRow], opened: bool) -> None:
    """Newest first.  A click on a cell opens the run; boxes are checked for what is done to several."""
    with st.container(key="runs-wide"):
        _table(rows, opened)
        if not opened:  # only here are there boxes to check
            st.caption(
                t("Select a row to open and replay the run. Check several to compare, tag, export or delete them.")
            )
    with st.container(key="runs-narrow", gap="xxsmall"):
        _links(rows)


def _table(rows: Sequence[RunRow], opened: bool) -> None:
    ids = [row.id for row in rows]
    # A new key for new rows: what is checked is a run, not the place that it happened to have.
    key = "runs-table-" + hashlib.sha256("\n".join(ids).encode()).hexdigest()[:12]
    checked = [place for place, row in enumerate(rows) if row in selected(rows)]
    columns: dict[str, list[Any]] = {
        "Question": [("↳ " if row.origin else "") + " ".join(row.question.split()) for row in rows],
        "Outcome": [ending(row) for row in rows],
        "Framework": [runs_filters.framework(row.recipe.framework) for row in rows],
        "Context": [runs_filters.context(row.recipe.context) for row in rows],
        "Model": [row.recipe.model for row in rows],
    }
    if any(row.tags for row in rows):
        columns["Tags"] = [", ".join(row.tags) for row in rows]
    if any(row.origin for row in rows):
        columns["From"] = [t(FROM[row.origin.how]) if row.origin else "" for row in rows]
    columns["When"] = [when(row.created) for row in rows]
    columns["Took"] = [lasted(max(0.0, row.updated - row.created)) if row.outcome else "" for row in rows]
    titles = {
        "Question": t("Question"), "Outcome": t("Outcome"), "Framework": t("Framework"), "Context": t("Context"),
        "Model": t("Model"), "Tags": t("Tags"), "From": t("From"), "When": t("When"), "Took": t("Took"),
    }  # fmt: skip
    wide = st.column_config.TextColumn(titles["Question"], width="large")
    st.dataframe(
        pd.DataFrame(columns), column_config={**titles, "Question": wide}, hide_index=True, key=key,
        on_select=_selected, selection_mode=["multi-row", "single-cell"], placeholder="",
        selection_default={"selection": {"rows": checked, "columns": [], "cells": []}},
        height=ROW_PX * (1 + min(len(rows), SHORT if opened else LONG)) + 2,
        alt=t("Saved runs, newest first"),
    )  # fmt: skip
    st.session_state["runs-listed"] = key, ids


def _selected() -> None:
    """A cell opens its run; so does the first box that is checked."""
    key, ids = st.session_state["runs-listed"]
    state = st.session_state[key]["selection"]
    before, cell_before = st.session_state.get("runs-selected", ()), st.session_state.get("runs-cell")
    checked = tuple(ids[place] for place in state["rows"])
    cell = (key, *state["cells"][0]) if state["cells"] else None
    st.session_state["runs-selected"], st.session_state["runs-cell"] = checked, cell
    if cell is not None and cell != cell_before:
        show(ids[cell[1]])
    elif len(checked) == 1 and checked != before:
        show(checked[0])
    elif not checked and st.query_params.get("run") in before:
        show("")


def show(run_id: str) -> None:
    """The run becomes the one in the address; empty: none."""
    address.put("round")
    address.put("run", run_id)


def _links(rows: Sequence[RunRow]) -> None:
    for row in rows[:LINKS]:
        question = plain(clip(" ".join(row.question.split()), 90))
        label = f"{question} :small[:gray[{ending(row)} · {when(row.created)}]]"
        address.link(label, f"runs-link-{row.id}", width="stretch", run=row.id, round="")
    if len(rows) > LINKS:
        st.caption(t("The newest {n} are listed; search for others.", n=LINKS))
