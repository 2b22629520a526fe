"""Runs: every saved run, found again, opened and replayed."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.parts import head, home, run
from pages.parts.safe import plain
from pages.parts.words import lasted, when
from research.progress import OUTCOMES
from research.store import RunRow

home.start_with_app()
bench = home.bench()
PAGE, SHORT = 200, 6


def ending(row: RunRow) -> str:
    """How the run stands, in a few words."""
    if row.outcome:
        return OUTCOMES[row.outcome].partition(";")[0]
    return "Interrupted" if head.lost(row) else "Running"


def opened() -> None:
    """The row that was clicked becomes the run in the address."""
    rows = st.session_state["runs-table"]["selection"]["rows"]
    st.query_params.from_dict({"run": st.session_state["runs-listed"][rows[0]]} if rows else {})


query = st.text_input(
    "Search runs", type="search", placeholder="Search questions and answers", label_visibility="collapsed", live=True
)
found = bench.store.runs(query or "", limit=PAGE)
if not found and query:
    st.caption(f"No run holds {plain(repr(query))}.")
elif not found:
    st.subheader("No runs yet", anchor=False)
    st.markdown("Every question you ask is kept here with all its rounds, to be read, replayed and exported.")
    st.page_link("pages/ask.py", label="Ask the first question", icon=":material/arrow_forward:")
else:
    st.session_state["runs-listed"] = [row.id for row in found]
    st.dataframe(
        pd.DataFrame(
            {
                "Question": [" ".join(row.question.split()) for row in found],
                "Outcome": [ending(row) for row in found],
                "Framework": [row.recipe.framework for row in found],
                "Context": [row.recipe.context for row in found],
                "Model": [row.recipe.model for row in found],
                "When": [when(row.created) for row in found],
                "Took": [lasted(row.updated - row.created) if row.outcome else "" for row in found],
            }
        ),
        column_config={"Question": st.column_config.TextColumn(width="large")},
        hide_index=True, key="runs-table", on_select=opened, selection_mode="single-row",
        height="auto" if len(found) <= SHORT else 230, alt="Saved runs, newest first",
    )  # fmt: skip
    if len(found) == PAGE:
        st.caption(f"The newest {PAGE} are listed; search for older ones.")

if run_id := st.query_params.get("run"):
    run.show(bench, run_id)
elif found:
    st.caption("Select a row to open and replay the run.")
