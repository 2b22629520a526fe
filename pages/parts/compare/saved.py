"""Choosing saved runs for a comparison."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts.shared import titles
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import when
from research.compare.starting import MOST, compare_saved
from research.errors import REFUSED
from research.store import RunRow
from research.text import clip
from research.workbench.workbench import Workbench

UNSURE = "compare-unlike-runs"
"""Session key of the runs of different questions that the user wants to compare."""
LISTED = 200
"""Number of newest runs offered in the list."""


def found(bench: Workbench, names: Sequence[str]) -> list[RunRow]:
    """Return the runs with these ids, showing an error for each that does not exist."""
    rows: dict[str, RunRow] = {}
    for name in names:
        try:
            row = bench.store.run(name)
        except REFUSED as error:
            st.error(plain(spoken(error)), title=t("Run not found"))
        else:
            rows[row.id] = row
    return list(rows.values())


def pick(bench: Workbench, chosen: Sequence[RunRow]) -> None:
    """Draw the list of runs, and the button that compares the chosen ones."""
    rows = {row.id: row for row in [*chosen, *bench.store.runs(limit=LISTED)]}
    if len(rows) < 2:
        st.caption(t("Once you have two saved runs, you can compare them side by side here."))
        return
    place = ",".join(row.id for row in chosen)
    with st.form(f"compare-saved-{place}", border=False):
        picked = st.multiselect(
            t("Saved runs"),
            list(rows),
            default=[row.id for row in chosen],
            key=f"compare-picked-{place}",
            max_selections=MOST,
            placeholder=t("Choose 2 to {most} runs", most=MOST),
            format_func=lambda run_id: _label(rows[run_id]),
        )
        ready = len(chosen) > 1  # the page was opened for these runs
        wanted = st.form_submit_button(
            t("Compare"), type="primary" if ready else "secondary", icon=":material/view_column:"
        )
    asked = {" ".join(rows[run_id].question.split()) for run_id in picked}
    if wanted and len(asked) > 1:
        st.session_state[UNSURE] = sorted(picked)
    if len(asked) > 1 and st.session_state.get(UNSURE) == sorted(picked):
        st.warning(
            t("Their answers can't be held against each other, and there is no verdict."),
            title=t("These runs answered {n} different questions", n=len(asked)),
        )
        wanted = st.button(t("Compare them anyway"), key="compare-unlike", icon=":material/view_column:")
    if wanted and (len(asked) < 2 or UNSURE in st.session_state):
        st.session_state.pop(UNSURE, None)
        _begin(bench, picked)


def _begin(bench: Workbench, picked: Sequence[str]) -> None:
    try:
        comparison = compare_saved(bench, picked)
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("These runs can't be compared"))
        return
    st.query_params.from_dict({"id": comparison.id})
    st.rerun()


def _label(row: RunRow) -> str:
    # Streamlit distinguishes options by label alone; the id suffix keeps a run and its fork apart.
    made = f"{titles.way(row.recipe)} · {when(row.created)}"
    return f"{clip(' '.join(row.question.split()), 60)} · {made} · {row.id[-4:]}"
