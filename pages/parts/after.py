"""What can be done with a run that rests: take it away, ask on, ask again, put it beside others."""

from __future__ import annotations

import streamlit as st

from pages.parts import downloads, fork_form, memory_keep, shared_run
from pages.parts.language import t
from pages.parts.safe import plain
from research.errors import REFUSED
from research.store import RunRow
from research.view import RunView
from research.workbench import Workbench


def draw(bench: Workbench, row: RunRow, view: RunView) -> None:
    """What there is of a report can be taken away; the rest is for runs that have ended, others have another next step."""
    if view.report:
        downloads.draw(view)
    shared_run.control(bench, row)
    if view.outcome is None or view.outcome == "needs_input":
        return
    memory_keep.draw(bench, view)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.page_link(
            "pages/ask.py", label=t("Run again with another recipe"), icon=":material/replay:",
            query_params={"again": row.id}, width="content",
        )  # fmt: skip
        if view.forkable:
            fork_form.link(t("Fork …"), f"after-fork-{row.id}", view.forkable)
        st.page_link(
            "pages/compare.py", label=t("Compare …"), icon=":material/view_column:", query_params={"runs": row.id},
            width="content",
        )  # fmt: skip
    _follow_up(bench, row)


def _follow_up(bench: Workbench, row: RunRow) -> None:
    with st.form(f"follow-up-{row.id}", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        question = st.text_input(
            t("Follow up"), key=f"follow-up-text-{row.id}", placeholder=t("Ask on; the report and its sources are known"),
        )  # fmt: skip
        asked = st.form_submit_button(t("Ask on"), icon=":material/reply_all:")
    if not asked:
        return
    try:
        following = bench.engine.follow_up(row.id, question)
    except REFUSED as error:
        st.error(plain(str(error)), title=t("The question was not asked"))
        return
    st.query_params.from_dict({"run": following})
    st.rerun()
