"""Ask: one box, one button, and the run that it starts."""

from __future__ import annotations

import streamlit as st

from pages.parts import asked, choices, form, home, presets, run, shared_run
from pages.parts.language import t
from pages.parts.safe import plain
from research.errors import REFUSED

home.start_with_app()
asked.address()
if token := st.query_params.get("shared"):
    asked.way_back()
    shared_run.show(token)
    st.stop()
if shown := st.query_params.get("run"):
    # The question stands over its run: no box holds another one beside it.
    asked.way_back()
    run.show(home.bench(), shown)
    st.stop()

again = asked.arrive()
asked.example("question")
with st.container(horizontal=True, vertical_alignment="bottom", key="ask-box"):
    question = st.text_area(
        t("Question"), key="question", height="content", persist_state="session", label_visibility="collapsed",
        placeholder=t("What do you want to know?"),
    )  # fmt: skip
    started = st.button(t("Start"), key="start", type="primary", icon=":material/play_arrow:", shortcut="Mod+Enter")
below = st.container()  # what is wrong stands where the eye is
with below:
    told = asked.refused()
choices.begin()
bench = home.bench()  # after the box and the button: opening takes longer than drawing them
with st.container(gap="xsmall"):
    presets.row(bench)
    said = st.container()
with st.expander(
    t("Options"), type="compact", icon=":material/tune:", expanded=st.session_state.setdefault("options-open", False)
):
    st.session_state["options-wrong"] = False
    chosen = form.options(bench)
choices.done()
presets.keep_current(chosen)

try:
    # Without MCP servers: none is started before the run is.
    recipe = bench.recipe(**{**chosen, "mcp": ()})
except REFUSED as error:
    if not told:
        said.markdown(f":red[:material/error: {plain(str(error))}]")
else:
    line, basis = choices.expected(bench, recipe, question or "")
    said.caption("  \n".join(filter(None, (choices.line(recipe), line))), help=basis or None)

if started:
    with below:
        try:
            # Checked before the wait for the library, and again by the engine.
            recipe = bench.recipe(**chosen)
            home.until_ready()
            if again is not None and (question or "").strip() == again.question:
                run_id = bench.engine.rerun(again.id, recipe)
            else:
                run_id = bench.engine.start(question or "", recipe)
        except REFUSED as error:
            asked.refuse(str(error))
        else:
            st.session_state["options-open"] = False
            st.query_params.from_dict({"run": run_id})
            st.rerun()
asked.at_work(bench)
