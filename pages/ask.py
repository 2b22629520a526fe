"""The Ask page: a question box, its options, and the run it starts."""

from __future__ import annotations

import streamlit as st

from pages.parts.run import choices, form, presets, share, view
from pages.parts.run import question as question_box
from pages.parts.shared import home
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from research.errors import REFUSED

home.start_with_app()
question_box.address()
if token := st.query_params.get("shared"):
    question_box.way_back()
    share.show(token)
    st.stop()
if shown := st.query_params.get("run"):
    # The run shows its own question, so the question box is left out.
    question_box.way_back()
    view.show(home.bench(), shown)
    st.stop()

rerun_of = question_box.arrive()
question_box.example("question")
with st.container(horizontal=True, vertical_alignment="bottom", key="ask-box"):
    question = st.text_area(
        t("Question"),
        key="question",
        height="content",
        persist_state="session",
        label_visibility="collapsed",
        placeholder=t("What do you want to know?"),
    )
    started = st.button(t("Start"), key="start", type="primary", icon=":material/play_arrow:", shortcut="Mod+Enter")
below = st.container()  # errors appear right below the box
with below:
    error_shown = question_box.refused()
bench = home.bench()  # opening takes longer than drawing the box and the button
with st.container(gap="xsmall"):
    presets.row(bench)
    summary = st.container()
with st.expander(
    t("Options"), type="compact", icon=":material/tune:", expanded=st.session_state.setdefault("options-open", False)
):
    st.session_state["options-wrong"] = False
    chosen = form.options(bench)
presets.keep_current(chosen)

try:
    # Without MCP servers, because building the recipe would start them.
    recipe = bench.recipe(**{**chosen, "mcp": ()})
except REFUSED as error:
    if not error_shown:
        summary.markdown(f":red[:material/error: {plain(str(error))}]")
else:
    line, basis = choices.expected(bench, recipe, question or "")
    summary.caption("  \n".join(filter(None, (choices.line(recipe), line))), help=basis or None)

if started:
    with below:
        try:
            # Check before waiting for the library; the engine checks again.
            recipe = bench.recipe(**chosen)
            home.until_ready()
            if rerun_of is not None and (question or "").strip() == rerun_of.question:
                run_id = bench.engine.rerun(rerun_of.id, recipe).run_id
            else:
                run_id = bench.engine.start(question or "", recipe).run_id
        except REFUSED as error:
            question_box.refuse(str(error))
        else:
            st.session_state["options-open"] = False
            st.query_params.from_dict({"run": run_id})
            st.rerun()
question_box.at_work(bench)
