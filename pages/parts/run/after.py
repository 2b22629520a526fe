"""What the user can do with a finished run: download, share, remember, rerun, fork, compare, follow up."""

from __future__ import annotations

import streamlit as st

from pages.parts.run import downloads, fork, keep, share
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from research.errors import REFUSED
from research.events.view import RunView
from research.store import RunRow
from research.workbench.workbench import Workbench


def draw(bench: Workbench, row: RunRow, view: RunView) -> None:
    """Draw the downloads of a report, and the other actions once the run has ended."""
    if view.report:
        downloads.draw(view)
    share.control(bench, row)
    if view.outcome is None or view.outcome == "needs_input":
        return
    keep.draw(bench, view)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.page_link(
            "pages/ask.py",
            label=t("Run again with another recipe"),
            icon=":material/replay:",
            query_params={"again": row.id},
            width="content",
        )
        if view.forkable:
            fork.link(t("Fork …"), f"after-fork-{row.id}", view.forkable)
        st.page_link(
            "pages/compare.py",
            label=t("Compare …"),
            icon=":material/view_column:",
            query_params={"runs": row.id},
            width="content",
        )
    _follow_up(bench, row)


def _follow_up(bench: Workbench, row: RunRow) -> None:
    with st.form(f"follow-up-{row.id}", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        question = st.text_input(
            t("Follow-up question"),
            key=f"follow-up-text-{row.id}",
            placeholder=t("Ask a follow-up; it builds on this report"),
        )
        asked = st.form_submit_button(t("Send"), icon=":material/reply_all:")
    if not asked:
        return
    if not question.strip():
        st.error(t("Type a question first"))
        return
    try:
        following = bench.engine.follow_up(row.id, question).run_id
    except REFUSED as error:
        st.error(plain(str(error)), title=t("The question was not sent"))
        return
    st.query_params.from_dict({"run": following})
    st.rerun()
