"""How a visitor comes to the box and goes on from a run: links, what they fill in, and what went wrong."""

from __future__ import annotations

import streamlit as st

from pages.parts import head, home, presets
from pages.parts.language import t, versions
from pages.parts.safe import plain
from research.__main__ import EXAMPLE
from research.errors import REFUSED
from research.presets import fit, of
from research.store import RunRow
from research.text import clip
from research.workbench import Workbench

RECENT = 10
"""Runs among which those at work are looked for."""
LINKED = ("q", "preset", "again")
"""What an address may fill in."""


def address() -> None:
    """Show in the browser's address what the page was told: a link from this page to itself leaves the old one there."""
    told = st.query_params.to_dict()
    if st.session_state.get("address") not in (None, told):
        st.query_params.from_dict(told)
    st.session_state["address"] = told


def example(box: str, first: str = "") -> None:
    """Fill an empty page's question box with `first`, or with the example in the language of the page.

    Set only where that changes something: a box that is set takes away what is being typed.
    """
    written = st.session_state.setdefault(box, first or t(EXAMPLE))
    if written != t(EXAMPLE) and written in versions(EXAMPLE):
        st.session_state[box] = t(EXAMPLE)


def way_back() -> None:
    """From a run that is shown to an empty box."""
    st.session_state.pop("linked", None)  # asked again, it is filled in anew, whatever was changed since
    st.button(t("New question"), key="new-question", icon=":material/add:", type="tertiary", on_click=_anew)


def arrive() -> RunRow | None:
    """Fill in what the address says, once; returns the run that is to be asked again.  Nothing is ever started."""
    linked = tuple(st.query_params.get(name) for name in LINKED)
    question, preset, again = linked
    row = None
    try:
        row = home.bench().store.run(again) if again else None
    except REFUSED as error:
        st.error(plain(str(error)), title=t("No such run"))
    if linked != st.session_state.get("linked"):
        st.session_state["linked"] = linked
        if row is not None:
            st.session_state["question"], st.session_state["preset"] = row.question, None
            found = fit(home.bench(), of(row.recipe))
            presets.fill(found)
        if question is not None:
            st.session_state["question"] = question
        if preset:
            try:
                presets.choose(home.bench(), preset)
            except REFUSED as error:
                st.error(plain(str(error)))
    if row is not None:
        st.caption(t("Question and choices are those of the run {run}. Change what you like, then start.", run=row.id))
    return row


def refuse(reason: str) -> None:
    """A run is not started; what was typed and chosen stays, and a choice that is wrong is opened to view."""
    st.session_state["refused"] = reason, st.session_state["options-wrong"]
    st.session_state["options-open"] = st.session_state["options-open"] or st.session_state["options-wrong"]
    st.rerun()


def refused() -> bool:
    """Why a run was not started, once; whether there was anything to say."""
    reason, marked = st.session_state.pop("refused", ("", False))
    if reason:
        st.error(plain(reason), title=t("The run was not started"))
    if marked:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(t("The choice is marked under Options. Keys are kept under Settings."), width="content")
            st.page_link("pages/settings.py", label=t("Settings"), icon=":material/settings:", width="content")
    return bool(reason)


def at_work(bench: Workbench) -> None:
    """What the example is, and the runs that are being worked on."""
    st.caption(
        t(
            "The example works offline: every answer cites what was read, in the CIA World Factbook or in your own "
            "documents. Saved runs are under Runs."
        )
    )
    for row in bench.store.runs(limit=RECENT):
        if row.status == "running" and not head.lost(row):
            label = t("At work: {question}", question=plain(clip(row.question, 100)))
            st.page_link("pages/ask.py", label=label, icon=":material/visibility:", query_params={"run": row.id})


def _anew() -> None:
    st.session_state["question"] = ""
    st.query_params.clear()
