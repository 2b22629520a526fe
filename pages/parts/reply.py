"""Go on with a run: answer its question, or take it up again after a pause or after its process ended."""

from __future__ import annotations

import streamlit as st

from pages.parts import head
from pages.parts.language import t
from pages.parts.safe import plain, prose
from research.errors import REFUSED
from research.store import RunRow
from research.text import clip
from research.workbench import Workbench

LONGEST = 10_000
"""Characters of a question that are shown."""


def draw(bench: Workbench, row: RunRow) -> None:
    """The agent's question with a box for the reply, or the button that resumes a run that rests."""
    if row.status == "waiting_input":
        with st.container(border=True, key="reply"):
            st.markdown(prose(clip(row.answer, LONGEST)))
            with st.form("reply-form", border=False, clear_on_submit=True):
                text = st.text_input(t("Your reply"), key="reply-text")
                if st.form_submit_button(t("Reply and go on"), type="primary", icon=":material/reply:"):
                    _go_on(bench, row.id, text)
    elif row.status == "paused" or head.lost(row):
        with st.container(horizontal=True):
            if st.button(t("Resume"), key="resume", icon=":material/resume:", type="primary", shortcut="P"):
                _go_on(bench, row.id, None)
            if st.button(
                t("End it here"), key="end", icon=":material/stop:",
                help=t("Write what is known from what was found, and finish."),
            ):  # fmt: skip
                _end(bench, row.id)


def _go_on(bench: Workbench, run_id: str, text: str | None) -> None:
    try:
        bench.engine.go_on(run_id, text)
    except REFUSED as error:
        st.error(plain(str(error)), title=t("The run was not resumed"))
        return
    st.rerun()


def _end(bench: Workbench, run_id: str) -> None:
    try:
        bench.engine.stop(run_id)
        bench.engine.wait(run_id, 10)
    except REFUSED as error:
        st.error(plain(str(error)), title=t("The run was not ended"))
        return
    st.rerun()
