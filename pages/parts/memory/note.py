"""Forms that add a note or edit an entry."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from pages.parts.shared import address
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.errors import REFUSED
from research.memory import Entry
from research.workbench.workbench import Workbench

TAGS_MOST = 20


def add(bench: Workbench) -> None:
    """Draw the button with the form for a note."""
    # A new key closes the popover and empties the form after a note was added.
    turn = st.session_state.setdefault("memory-notes", 0)
    with st.popover(t("Add a note"), type="primary", icon=":material/add:", key=f"memory-add-{turn}"):
        form(bench, f"memory-note-{turn}")


def form(bench: Workbench, key: str, *, primary: bool = False) -> None:
    """Draw the form for a note and its tags."""
    with st.form(key, border=False):
        text = st.text_area(
            t("Note"),
            key=f"{key}-text",
            placeholder=t("For example: board reports cite the annual accounts, not the press."),
        )
        tags = _tags(bench, f"{key}-tags", ())
        kind: Literal["primary", "secondary"] = "primary" if primary else "secondary"
        wanted = st.form_submit_button(t("Save note"), icon=":material/add:", type=kind)
    if wanted:
        try:
            with st.spinner(t("Saving to memory")):
                (added,) = bench.memory.add([Entry(text or "", tags=tuple(tags))])
        except REFUSED as error:
            st.error(plain(spoken(error)), title=t("The note was not saved"))
            return
        if not added.new:
            st.toast(t("This is already in memory; here is the entry."), icon=":material/info:")
        st.session_state["memory-notes"] = st.session_state.get("memory-notes", 0) + 1
        address.put("entry", added.id)
        st.rerun()


def edit(bench: Workbench, entry: Entry) -> None:
    """Draw the button with the form that edits text and tags."""
    key = f"memory-edit-{entry.id}-{st.session_state.get('memory-edits', 0)}"
    with st.popover(t("Edit"), icon=":material/edit:", key=key):
        with st.form(f"{key}-form", border=False):
            text = st.text_area(t("Text"), entry.text, key=f"{key}-text", height=180)
            tags = _tags(bench, f"{key}-tags", entry.tags)
            if entry.provenance != "user":
                st.caption(t("If you change the text, it counts as your words; the source stays."))
            wanted = st.form_submit_button(t("Save"), icon=":material/check:")
        if not wanted:
            return
        try:
            with st.spinner(t("Saving to memory")):
                bench.memory.edit(entry.id, text=text or "", tags=tags)
        except REFUSED as error:
            st.error(plain(spoken(error)), title=t("The change was not saved"))
            return
    st.session_state["memory-edits"] = st.session_state.get("memory-edits", 0) + 1
    st.rerun()


def _tags(bench: Workbench, key: str, chosen: tuple[str, ...]) -> list[str]:
    return st.multiselect(
        t("Tags"),
        sorted({*bench.memory.tags(), *chosen}),
        list(chosen),
        key=key,
        accept_new_options=True,
        placeholder=t("Choose or type a tag"),
        max_selections=TAGS_MOST,
    )
