"""What a fork shares with its original: the rounds, their fingerprint, and the edits made before it continued."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import streamlit as st

from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count
from research.agent.inherited import EDITED
from research.compare import forks
from research.compare.forks import Inherited
from research.errors import REFUSED, ConfigError
from research.events.events import Edited, ReportEdited
from research.events.rounds import CallView
from research.events.view import RunView
from research.parsing.arguments import as_words
from research.store import Filters, RunRow
from research.text import clip
from research.workbench.workbench import Workbench

COMING = 5
"""Maximum number of linked forks; the tree on Runs has all of them."""
EARLIER = 80
"""Maximum characters of the question that a run follows."""
_NONE: Final[Mapping[str, RunRow]] = MappingProxyType({})
KEPT = 300
"""Maximum number of results cached per session."""


def draw(bench: Workbench, row: RunRow, view: RunView) -> None:
    """Draw the origin of a fork, the forks of a run, and the edits."""
    own = inherited(bench, row)
    forks = [each for each in bench.store.runs(limit=COMING, filters=Filters(origin=row.id)) if _fork(each)]
    if own is not None:
        with st.container(key="fork-of", horizontal=True, vertical_alignment="center", gap="small"):
            st.page_link(
                "pages/ask.py",
                label=t("Forked from {run} at round {number}", run=own.origin, number=own.round),
                icon=":material/call_split:",
                query_params={"run": own.origin, "round": str(own.round)},
            )
            st.caption(fingerprint(own), width="content")
            if st.button(
                t("Compare with the original"), key="fork-compare", icon=":material/view_column:", type="tertiary"
            ):
                _compare(bench, row.id)
    for each in forks:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            there = inherited(bench, each)
            assert there is not None
            st.page_link(
                "pages/ask.py",
                label=t("Fork at round {number}: {run}", number=there.round, run=each.id),
                icon=":material/subdirectory_arrow_right:",
                query_params={"run": each.id},
            )
            st.caption(fingerprint(there), width="content")
    _edits(view)


def fingerprint(own: Inherited) -> str:
    """Return `same first 3 rounds · 9f3a12` as Markdown."""
    name = own.hash[:6]
    if not own.same:
        return (
            t("first round differs from the original · `{hash}`", hash=name)
            if own.round == 1
            else t("first {n} rounds differ from the original · `{hash}`", n=own.round, hash=name)
        )
    return (
        t("same first round · `{hash}`", hash=name)
        if own.round == 1
        else t("same first {n} rounds · `{hash}`", n=own.round, hash=name)
    )


def inherited(bench: Workbench, row: RunRow) -> Inherited | None:
    """Return what a fork inherited, or None if the run is not a fork.

    Cached, because it never changes.
    """
    if not _fork(row):
        return None
    kept: dict[tuple[str, float], Inherited | None] = st.session_state.setdefault("forks-taken", {})
    if len(kept) > KEPT:
        kept.clear()
    key = row.id, row.created
    if key not in kept:
        kept[key] = forks.inherited(bench.store, row)
    return kept[key]


def followed(bench: Workbench, row: RunRow, known: Mapping[str, RunRow] = _NONE) -> str:
    """Return the question that a follow-up follows; empty for any other run, and once that one is deleted.

    Runs that are `known` by their ids need not be read again.
    """
    if row.origin is None or row.origin.how != "follow_up":
        return ""
    try:
        earlier = known.get(row.origin.run) or bench.store.run(row.origin.run)
    except ConfigError:
        return ""
    return clip(" ".join(earlier.question.split()), EARLIER)


def _fork(row: RunRow) -> bool:
    return row.origin is not None and row.origin.how == "fork"


def _compare(bench: Workbench, run: str) -> None:
    try:
        comparison = forks.compare_with_origin(bench, run)
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("These runs can't be compared"))
        return
    st.switch_page("pages/compare.py", query_params={"id": comparison.id})


def _edits(view: RunView) -> None:
    """Draw each edited text next to the original."""
    if not view.edits:
        return
    title = t("Edited by you: {texts}", texts=count(len(view.edits), "text"))
    calls = {call.call.id: call for current in view.rounds for call in current.calls}
    with st.expander(title, type="compact", icon=":material/edit:", key="fork-edits"):
        for edit in view.edits:
            st.caption(f"**{_what(edit, calls)}**")
            left, right = st.columns(2, gap="medium")
            with left:
                st.caption(t("Before"))
                _verbatim(edit.was or t("(nothing)"))
            with right:
                st.caption(t("Your edit"))
                _verbatim(edit.observation.text if isinstance(edit, Edited) else edit.report)


def _what(edit: Edited | ReportEdited, calls: dict[str, CallView]) -> str:
    if isinstance(edit, ReportEdited):
        return t("The evolving report")
    call = calls.get(edit.observation.call_id)
    arguments = " ".join(" ".join(map(as_words, call.call.arguments.values())).split())[:120] if call else ""
    return plain(f"{edit.observation.name} {arguments}".strip())


def _verbatim(text: str) -> None:
    st.code(text[:EDITED], language=None, wrap_lines=True, height=260 if len(text) > 600 else "content")
