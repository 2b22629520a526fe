"""The question box: filled by links, with errors below, and the links back to it."""

from __future__ import annotations

import streamlit as st

from pages.parts.run import presets
from pages.parts.shared import home
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.errors import REFUSED
from research.store import RunRow
from research.workbench.presets import fit, of

LINKED = ("q", "preset", "again")
"""Address parameters that fill in the form."""


def address() -> None:
    """Sync the browser's address with the page's parameters, because a link from the page to itself does not."""
    parameters = st.query_params.to_dict()
    if st.session_state.get("address") not in (None, parameters):
        st.query_params.from_dict(parameters)
    st.session_state["address"] = parameters


def way_back() -> None:
    """Draw the button that leaves the run and empties the question box."""
    st.session_state.pop("linked", None)  # so that the same link fills the form in again
    st.button(t("New question"), key="new-question", icon=":material/add:", type="tertiary", on_click=_clear)


def arrive() -> RunRow | None:
    """Fill in what the address says, once, and return the run to be rerun.

    Never starts anything.
    """
    linked = tuple(st.query_params.get(name) for name in LINKED)
    question, preset, again = linked
    row = None
    try:
        row = home.bench().store.run(again) if again else None
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("Run not found"))
    if linked != st.session_state.get("linked"):
        st.session_state["linked"] = linked
        if row is not None:
            st.session_state["question"], st.session_state[presets.CHOSEN] = row.question, None
            found = fit(home.bench(), of(row.recipe))
            presets.fill(found)
        if question is not None:
            st.session_state["question"] = question
        if preset:
            try:
                presets.choose(home.bench(), preset)
            except REFUSED as error:
                st.error(plain(spoken(error)))
    if row is not None:
        st.caption(t("Question and options come from run {run}. Change anything you like, then start.", run=row.id))
    return row


def keys() -> None:
    """Show which key asks; `static/workbench.js` presses the button."""
    with st.container(key="box-keys"):
        st.caption(t("**Enter** to send, **Shift+Enter** for a new line"))


def refuse(reason: str) -> None:
    """Report why a run was not started; keep the input, and open the options if one of them is invalid."""
    st.session_state["refused"] = reason, st.session_state["options-wrong"]
    st.session_state["options-open"] = st.session_state["options-open"] or st.session_state["options-wrong"]
    st.rerun()


def refused() -> bool:
    """Draw once why the run could not be started; return whether there was a reason."""
    reason, marked = st.session_state.pop("refused", ("", False))
    if reason:
        st.error(plain(reason), title=t("The run could not be started"))
        if marked:
            st.caption(t("The problem is marked under Customize."))
        else:
            st.page_link("pages/settings.py", label=t("Open Settings"), icon=":material/settings:", width="content")
    return bool(reason)


def turn() -> int:
    """Return a number that is different in each run of the script: the page has answered the last click."""
    st.session_state["ask-turn"] = number = st.session_state.get("ask-turn", 0) + 1
    return int(number)


def _clear() -> None:
    st.session_state.pop("question", None)
    st.query_params.clear()
