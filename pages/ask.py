"""Ask: one box, one button, and the run that it starts."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.parts import form, head, home, run
from pages.parts.safe import plain
from research.__main__ import EXAMPLE
from research.errors import ConfigError
from research.estimate import estimate
from research.text import clip
from research.workbench import Workbench

RECENT = 10
"""Runs among which those at work are looked for."""


def _expected(bench: Workbench, chosen: dict[str, Any], question: str) -> None:
    """What the run may take, before it is started; nothing where the choices do not make a recipe."""
    try:
        # Without MCP servers: none is started before the run is.
        recipe = bench.recipe(**{**chosen, "mcp": ()})
        expected = estimate(recipe, question, models=bench.model)
    except ConfigError:
        return  # said when the run is started
    st.caption(f"Expected: {plain(expected.line())}", help=plain(expected.basis))


home.start_with_app()
run_id = st.query_params.get("run")

with st.form("ask", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
    question = st.text_area(
        "Question", EXAMPLE, key="question", height="content", persist_state="session", label_visibility="collapsed",
        placeholder="What do you want to know?",
    )  # fmt: skip
    asked = st.form_submit_button("Start", type="primary", icon=":material/play_arrow:")
bench = home.bench()  # after the box and the button: opening takes longer than drawing them
with st.expander("Options", type="compact", icon=":material/tune:"):
    chosen = form.options(bench)

if not run_id:
    _expected(bench, chosen, question or "")

if asked:
    try:
        # Checked before the wait for the library, and again by the engine.
        recipe = bench.recipe(**chosen)
        home.until_ready()
        run_id = bench.engine.start(question or "", recipe)
        st.query_params.from_dict({"run": run_id})
    except ConfigError as error:
        st.error(plain(str(error)), title="The run was not started")
        st.stop()

if run_id:
    run.show(bench, run_id, question or "")
else:
    st.caption(
        "The example works offline: every answer cites what was read, in the CIA World Factbook or in your own "
        "documents. Saved runs are under Runs."
    )
    for row in bench.store.runs(limit=RECENT):
        if row.status == "running" and not head.lost(row):
            label = f"At work: {plain(clip(row.question, 100))}"
            st.page_link("pages/ask.py", label=label, icon=":material/visibility:", query_params={"run": row.id})
