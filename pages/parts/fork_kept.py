"""What a fork and its origin have in common: the rounds, their mark, and what was edited before the fork went on."""

from __future__ import annotations

import streamlit as st

from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import count
from research import comparing
from research.comparing import Taken
from research.errors import REFUSED
from research.events import Edited, ReportEdited
from research.inherited import EDITED
from research.store import Filters, RunRow
from research.view import CallView, RunView
from research.workbench import Workbench

COMING = 5
"""Forks of a run that are linked; all of them stand in the tree on Runs."""
KEPT = 300
"""Marks that a visit remembers."""


def draw(bench: Workbench, row: RunRow, view: RunView) -> None:
    """Where a fork comes from with the link to compare, the forks of a run, and what was edited; else nothing."""
    own = taken(bench, row)
    forks = [each for each in bench.store.runs(limit=COMING, filters=Filters(origin=row.id)) if _fork(each)]
    if own is not None:
        with st.container(key="fork-of", horizontal=True, vertical_alignment="center", gap="small"):
            st.page_link(
                "pages/ask.py", label=t("Forked from {run} at round {number}", run=own.origin, number=own.round),
                icon=":material/call_split:", query_params={"run": own.origin, "round": str(own.round)},
            )  # fmt: skip
            st.caption(mark(own), width="content")
            if st.button(
                t("Compare with its origin"), key="fork-compare", icon=":material/view_column:", type="tertiary"
            ):
                _compare(bench, row.id)
    for each in forks:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            there = taken(bench, each)
            assert there is not None
            st.page_link(
                "pages/ask.py", label=t("Fork at round {number}: {run}", number=there.round, run=each.id),
                icon=":material/subdirectory_arrow_right:", query_params={"run": each.id},
            )  # fmt: skip
            st.caption(mark(there), width="content")
    _edits(view)


def mark(own: Taken) -> str:
    """`same first 3 rounds · 9f3a12`, as Markdown."""
    name = own.hash[:6]
    if not own.same:
        return t("first round differs from its origin · `{hash}`", hash=name) if own.round == 1 else t(
            "first {n} rounds differ from its origin · `{hash}`", n=own.round, hash=name
        )  # fmt: skip
    return t("same first round · `{hash}`", hash=name) if own.round == 1 else t(
        "same first {n} rounds · `{hash}`", n=own.round, hash=name
    )  # fmt: skip


def taken(bench: Workbench, row: RunRow) -> Taken | None:
    """What a fork took over: asked once in a visit, for it never changes.  None for a run that is no fork."""
    if not _fork(row):
        return None
    kept: dict[tuple[str, float], Taken | None] = st.session_state.setdefault("forks-taken", {})
    if len(kept) > KEPT:
        kept.clear()
    key = row.id, row.created
    if key not in kept:
        kept[key] = comparing.taken(bench.store, row)
    return kept[key]


def _fork(row: RunRow) -> bool:
    return row.origin is not None and row.origin.how == "fork"


def _compare(bench: Workbench, run: str) -> None:
    try:
        comparison = comparing.with_origin(bench, run)
    except REFUSED as error:
        st.error(plain(str(error)), title=t("The runs cannot be compared"))
        return
    st.switch_page("pages/compare.py", query_params={"id": comparison.id})


def _edits(view: RunView) -> None:
    """What the user wrote in the place of what was there, and what that was."""
    if not view.edits:
        return
    title = t("Edited by you: {texts}", texts=count(len(view.edits), "text"))
    calls = {call.call.id: call for current in view.rounds for call in current.calls}
    with st.expander(title, type="compact", icon=":material/edit:", key="fork-edits"):
        for edit in view.edits:
            st.caption(f"**{_what(edit, calls)}**")
            left, right = st.columns(2, gap="medium")
            with left:
                st.caption(t("It was"))
                _verbatim(edit.was or t("(nothing)"))
            with right:
                st.caption(t("You wrote"))
                _verbatim(edit.observation.text if isinstance(edit, Edited) else edit.report)


def _what(edit: Edited | ReportEdited, calls: dict[str, CallView]) -> str:
    if isinstance(edit, ReportEdited):
        return t("The evolving report")
    call = calls.get(edit.observation.call_id)
    asked = " ".join(" ".join(map(str, call.call.arguments.values())).split())[:120] if call else ""
    return plain(f"{edit.observation.name} {asked}".strip())


def _verbatim(text: str) -> None:
    st.code(text[:EDITED], language=None, wrap_lines=True, height=260 if len(text) > 600 else "content")
