"""Continuing a run: replying to its question, or resuming it after a pause or an interruption."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from pages.parts.run import choices, head, plan
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain, prose
from research.errors import REFUSED
from research.events.view import RunView
from research.store import RunRow
from research.text import clip
from research.workbench.workbench import Workbench

LONGEST = 10_000
"""Maximum characters of the agent's question."""
MOST = 6
"""Maximum number of replies that the question offers."""


def draw(bench: Workbench, row: RunRow, view: RunView) -> None:
    """Draw the plan to approve, the agent's question with a reply box, or the buttons that resume or finish a stopped run."""
    if view.plan_waits:
        plan.draw(bench, view)
    elif row.status == "waiting_input":
        with st.container(border=True, key="reply"):
            asked = clip(row.answer, LONGEST)
            st.markdown(prose(asked))
            _offered(bench, row.id, re.findall("“([^“”]+)”", asked)[:MOST])
            with st.form("reply-form", border=False, clear_on_submit=True):
                text = st.text_input(t("Your reply"), key="reply-text")
                if st.form_submit_button(t("Reply and continue"), type="primary", icon=":material/reply:"):
                    _go_on(bench, row.id, text)
        _costs(bench, row)
    elif (row.status == "paused" and not view.error) or head.is_interrupted(row):
        with st.container(horizontal=True):
            if st.button(t("Resume"), key="resume", icon=":material/resume:", type="primary", shortcut="P"):
                _go_on(bench, row.id, None)
            if view.round_count():
                finish(bench, row.id)
        _costs(bench, row)


def _offered(bench: Workbench, run_id: str, replies: Sequence[str]) -> None:
    """Draw a button for each reply that the question offers."""
    if len(replies) < 2:
        return
    with st.container(key="reply-offers", horizontal=True, gap="small"):
        for place, text in enumerate(replies):
            if st.button(plain(text), key=f"reply-offer-{place}"):
                _go_on(bench, run_id, text)


def _costs(bench: Workbench, row: RunRow) -> None:
    """Draw what the whole run may take; the recipe of an imported run was chosen by someone else."""
    text, basis = choices.expected(bench, row.recipe, row.question)
    if text:
        st.caption(t("Whole run: {expected}", expected=text), help=basis)


def _go_on(bench: Workbench, run_id: str, text: str | None) -> None:
    try:
        bench.engine.resume(run_id, text)
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("The run could not be resumed"))
        return
    st.rerun()


def finish(bench: Workbench, run_id: str) -> None:
    """Draw the button that ends a stopped run with what it has found."""
    if not st.button(
        t("Finish now"),
        key="end",
        icon=":material/stop:",
        help=t("Writes an answer from what was found so far, then ends."),
    ):
        return
    try:
        bench.engine.stop(run_id)
        bench.engine.wait(run_id, 10)
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("The run could not be ended"))
        return
    st.rerun()
