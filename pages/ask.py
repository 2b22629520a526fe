"""The Ask page: a question box, its options, and the run it starts."""

from __future__ import annotations

import streamlit as st

from pages.parts.run import choices, form, presets, share, tool_chips, view, welcome
from pages.parts.run import question as question_box
from pages.parts.shared import component, home, models, offers, private
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.errors import REFUSED
from research.workbench.leaving import MustChoose

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

sheet = st.container(key="ask-sheet", gap="small")
with sheet:
    st.title(t("What do you want to know?"), anchor=False)
    rerun_of = question_box.arrive()
    with st.container(key="composer", gap="small"):
        question = st.text_area(
            t("Question"),
            key="question",
            height="content",
            persist_state="session",
            label_visibility="collapsed",
            placeholder=t("Ask about countries, or about your own documents"),
        )
        sources = st.container(gap="xsmall")
        with st.container(horizontal=True, vertical_alignment="center", key="composer-foot", gap="small"):
            depth = st.container(
                width="stretch", horizontal=True, vertical_alignment="center", gap="small", key="depth"
            )
            started = st.button(
                t("Start"), key="start", type="primary", icon=":material/play_arrow:", shortcut="Mod+Enter"
            )
    question_box.keys()
    below = st.container(gap="xsmall")  # errors appear right below the box
    with below:
        error_shown = question_box.refused()
bench = home.bench()  # opening takes longer than drawing the box and the button
with sheet:
    with depth:
        presets.row(bench)
        plan = st.container(width="content")
    with st.container(gap="xsmall"):
        presets.about()
        summary = st.container()
    with st.container():  # always drawn, so that the elements below keep their place
        offers.draw(bench)
    welcome.examples(bench)
    opened = st.session_state.setdefault("options-open", False)
    with st.expander(
        t("Customize"),
        type="compact",
        key=f"customize-{opened}",  # its own key, so that another language does not reset it
        icon=":material/tune:",
        expanded=opened,
    ):
        st.session_state["options-wrong"] = False
        recipe_line = st.container()
        with st.container(horizontal=True):
            presets.own(bench)
        chosen = form.options(bench, sources, plan)
    presets.keep_current(chosen)
    arguments = {**chosen, "tools": tool_chips.for_recipe(chosen["tools"])}
    welcome.recent(bench)

missing, tried = "", st.session_state.pop(welcome.TRIED, False)
try:
    # Without MCP servers, because building the recipe would start them.
    recipe = bench.recipe(**{**arguments, "mcp": ()})
except REFUSED as error:
    if isinstance(error, MustChoose):
        with summary:
            private.ask(bench, error)
    elif not error_shown:
        summary.markdown(f":red[:material/error: {plain(spoken(error))}]")
    with summary:
        kept_here = isinstance(error, MustChoose) and bool(error.said)
        models.instead(bench, chosen["model"] or bench.settings.model, near=kept_here)
else:
    recipe_line.caption(choices.line(recipe))
    if missing := choices.lacking(recipe, chosen["mcp"]):
        with below if started else sources:
            form.wrong(missing)
    started |= tried and choices.offline(recipe)  # another model may cost something
    line, basis = choices.expected(bench, recipe, question or "")
    if line:
        summary.caption(line, help=basis or None)

if started:
    with below:
        if not (question or "").strip():
            st.caption(t(":material/edit: Type a question first."))
        elif not missing:
            try:
                # Check before waiting for the library; the engine checks again.
                recipe = bench.recipe(**arguments)
                home.until_ready()
                if rerun_of is not None and (question or "").strip() == rerun_of.question:
                    run_id = bench.engine.rerun(rerun_of.id, recipe).run_id
                else:
                    run_id = bench.engine.start(question or "", recipe).run_id
            except MustChoose:
                question_box.refuse(t("First say below whether this model may read your documents."))
            except REFUSED as error:
                question_box.refuse(spoken(error))
            else:
                st.session_state["options-open"] = False
                st.query_params.from_dict({"run": run_id})
                st.rerun()
component.draw("composer-manners", {"kind": "composer", "turn": question_box.turn()})
