"""Go on with a run: answer its question, or take it up again after its process ended."""

from __future__ import annotations

import streamlit as st

from pages.parts import head
from pages.parts.safe import plain, prose
from research.errors import ConfigError
from research.store import RunRow
from research.workbench import Workbench


def draw(bench: Workbench, row: RunRow) -> None:
    """The agent's question with a box for the reply, or the button that resumes an interrupted run."""
    if row.status == "waiting_input":
        with st.container(border=True):
            st.markdown(prose(row.answer))
            with st.form("reply", border=False, clear_on_submit=True):
                text = st.text_input("Your reply", key="reply-text")
                if st.form_submit_button("Reply and go on", type="primary", icon=":material/reply:"):
                    _go_on(bench, row.id, text)
    elif head.lost(row) and st.button("Resume", key="resume", icon=":material/resume:"):
        _go_on(bench, row.id, None)


def _go_on(bench: Workbench, run_id: str, text: str | None) -> None:
    try:
        bench.engine.go_on(run_id, text)
    except ConfigError as error:
        st.error(plain(str(error)), title="The run was not resumed")
        return
    st.rerun()
