"""Why a run failed, or cannot continue, in one sentence above everything else, and what can be done about it as buttons."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.parts.run import reply
from pages.parts.shared import home, models, private
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.errors import REFUSED
from research.events.view import RunView
from research.store import RunRow
from research.text import clip
from research.workbench import presets
from research.workbench.workbench import Workbench

LONGEST, TRACE = 2_000, 20_000
"""Maximum characters of an error and of its technical details."""


def draw(view: RunView, row: RunRow | None = None) -> None:
    """Draw why a run failed or cannot continue, and the owner's options; nothing if nothing went wrong."""
    tools = view.outcome == "tool_errors"
    if not (view.error or tools):
        return
    with st.container(key="failure", gap="xsmall"):
        if view.error:
            st.error(plain(clip(spoken(view.error), LONGEST)))
        if row and (tools or row.status == "failed" or view.status == "paused"):
            _remedies(home.bench(), row, view)
        if view.report and view.error:
            st.caption(t("What it had found until then is below."))
        if view.traceback:
            with st.expander(t("Technical details"), type="compact"):
                st.code(view.traceback[-TRACE:], language=None)


def _remedies(bench: Workbench, row: RunRow, view: RunView) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        again = st.button(t("Try again"), key="try-again", icon=":material/refresh:", type="primary")
        with st.popover(t("Continue with another model"), icon=":material/swap_horiz:"):
            typed = filter(None, [st.session_state.get("other-model")])
            others = list(dict.fromkeys([*models.usable(bench, row.recipe.model), *typed]))
            model = st.selectbox(
                t("Model"), others, key="other-model", format_func=models.named(bench), accept_new_options=True
            )
            models.meant(bench, model or "", partial(st.session_state.__setitem__, "other-model"))
            go_on = st.button(t("Continue"), key="continue-with-model", type="primary", disabled=not model)
        if not view.traceback:  # a service or a setting, rather than a fault of the workbench
            st.page_link(models.SETTINGS, label=t("Open Settings"), icon=":material/settings:", width="content")
        if view.status == "paused" and view.forkable:
            reply.finish(bench, row.id)
    if again or go_on:
        _act(bench, row, view, (model or "") if go_on else "")


def _act(bench: Workbench, row: RunRow, view: RunView, model: str) -> None:
    """Continue the run if possible, else start it again; with another model, from its complete rounds."""
    try:
        home.until_ready()
        if not model and view.status == "paused":
            next_id = bench.engine.resume(row.id).run_id
        else:
            chosen = {"model": model} if model else {}
            recipe = bench.recipe(**{**presets.of(row.recipe).arguments(), **chosen})
            if model and view.forkable:
                next_id = bench.engine.fork(row.id, view.forkable, recipe=recipe).run_id
            else:
                next_id = bench.engine.rerun(row.id, recipe).run_id
    except REFUSED as error:
        private.refused(bench, error, t("The run could not continue"))
        return
    st.query_params.from_dict({"run": next_id})
    st.rerun()
