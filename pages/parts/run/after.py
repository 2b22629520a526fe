"""What the user can do with a run that is not active: export, share, save, rerun, fork, compare, follow up."""

from __future__ import annotations

import streamlit as st

from pages.parts.run import downloads, fork, keep, question_set, scrubber, share
from pages.parts.run import question as question_box
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.errors import REFUSED
from research.events.view import RunView
from research.store import RunRow
from research.workbench.workbench import Workbench


def actions(bench: Workbench, row: RunRow, view: RunView) -> None:
    """Draw the action bar: the exports of a report, and actions once the run has ended."""
    ended = view.outcome is not None and view.outcome != "needs_input"
    with st.container(key="run-actions", horizontal=True, gap="xsmall", vertical_alignment="center"):
        if view.report or ended:
            downloads.draw(view)
        share.control(bench, row)
        scrubber.button(row, view.last_round)  # its controls open right below
        if not ended:
            return
        keep.draw(bench, view)
        if view.given is not None:
            return  # the page Check a report has its own actions; a report is no question to ask or compare
        question_set.control(bench, row, view)
        st.page_link(
            "pages/ask.py",
            label=t("Run again"),
            icon=":material/replay:",
            query_params={"again": row.id},
            width="content",
            help=t("Ask the same question with other options."),
        )
        if view.forkable:
            fork.link(t("Fork"), f"after-fork-{row.id}", view.forkable)
        st.page_link(
            "pages/compare.py",
            label=t("Compare"),
            icon=":material/view_column:",
            query_params={"runs": row.id},
            width="content",
        )


def draw(bench: Workbench, row: RunRow, view: RunView) -> None:
    """Draw the box for a follow-up question below the report of a run that has ended."""
    if view.outcome is not None and view.outcome != "needs_input":
        keep.kept(bench, view)
        if view.given is None:  # a check has no question to follow up; what broke can be researched
            _follow_up(bench, row)


def _follow_up(bench: Workbench, row: RunRow) -> None:
    with st.form(f"follow-up-{row.id}", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            question = st.text_area(
                t("Follow-up question"),
                key=f"follow-up-text-{row.id}",
                height="content",
                placeholder=t("Ask a follow-up; it builds on this report"),
            )
            asked = st.form_submit_button(t("Send"), icon=":material/reply_all:")
        question_box.keys()
    if not asked:
        return
    if not question.strip():
        st.error(t("Type a question first"))
        return
    try:
        following = bench.engine.follow_up(row.id, question).run_id
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("The question was not sent"))
        return
    st.query_params.from_dict({"run": following})
    st.rerun()
