"""Writing into the memory: a new note, or other words and tags for an entry."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from pages.parts import address
from pages.parts.language import t
from pages.parts.safe import plain
from research.errors import REFUSED
from research.memory import Entry
from research.workbench import Workbench

TAGS_MOST = 20


def add(bench: Workbench) -> None:
    """The button with the form for a note."""
    # A new key closes the popover and empties the form after a note was added.
    turn = st.session_state.setdefault("memory-notes", 0)
    with st.popover(t("Add a note"), type="primary", icon=":material/add:", key=f"memory-add-{turn}"):
        form(bench, f"memory-note-{turn}")


def form(bench: Workbench, key: str, *, primary: bool = False) -> None:
    """What to remember, and its tags."""
    with st.form(key, border=False):
        text = st.text_area(
            t("Note"), key=f"{key}-text", placeholder=t("For example: board reports cite the annual accounts, not the press.")
        )  # fmt: skip
        tags = _tags(bench, f"{key}-tags", ())
        kind: Literal["primary", "secondary"] = "primary" if primary else "secondary"
        wanted = st.form_submit_button(t("Remember"), icon=":material/add:", type=kind)
    if wanted:
        try:
            with st.spinner(t("Remembering")):
                (added,) = bench.memory.add([Entry(text or "", tags=tuple(tags))])
        except REFUSED as error:
            st.error(plain(str(error)), title=t("The note was not kept"))
            return
        if not added.new:
            st.toast(t("An entry says this already; here it is."), icon=":material/info:")
        st.session_state["memory-notes"] = st.session_state.get("memory-notes", 0) + 1
        address.put("entry", added.id)
        st.rerun()


def edit(bench: Workbench, entry: Entry) -> None:
    """The button with the form for another text and other tags."""
    key = f"memory-edit-{entry.id}-{st.session_state.get('memory-edits', 0)}"
    with st.popover(t("Edit"), icon=":material/edit:", key=key):
        with st.form(f"{key}-form", border=False):
            text = st.text_area(t("Text"), entry.text, key=f"{key}-text", height=180)
            tags = _tags(bench, f"{key}-tags", entry.tags)
            if entry.provenance != "user":
                st.caption(t("With another text it counts as written by you; its source stays."))
            wanted = st.form_submit_button(t("Save"), icon=":material/check:")
        if not wanted:
            return
        try:
            with st.spinner(t("Remembering")):
                bench.memory.edit(entry.id, text=text or "", tags=tags)
        except REFUSED as error:
            st.error(plain(str(error)), title=t("The change was not kept"))
            return
    st.session_state["memory-edits"] = st.session_state.get("memory-edits", 0) + 1
    st.rerun()


def _tags(bench: Workbench, key: str, chosen: tuple[str, ...]) -> list[str]:
    return st.multiselect(
        t("Tags"), sorted({*bench.memory.tags(), *chosen}), list(chosen), key=key, accept_new_options=True,
        placeholder=t("Choose or type a tag"), max_selections=TAGS_MOST,
    )  # fmt: skip
