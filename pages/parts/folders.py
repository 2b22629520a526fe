"""Folders of the user's own documents: pick, add, forget."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts.safe import plain
from pages.parts.words import count
from research.errors import ConfigError
from research.search.library import FACTBOOK, FolderReport
from research.workbench import Workbench

ADDED = "folder-added"
"""Where the folder just read, and what was found in it, wait for the page to be drawn again."""


def names(bench: Workbench) -> list[str]:
    """The folders in the library, as absolute paths."""
    return [info.name for info in bench.library.collections() if info.name != FACTBOOK]


def pick(bench: Workbench) -> tuple[str, ...]:
    """Choose among the folders in the library, with a way to add one; what is added here is chosen."""
    known = names(bench)
    chosen: list[str] = []
    if added := st.session_state.get(ADDED):
        st.session_state["folders"] = [*st.session_state.get("folders", []), str(added[0])]
    if known:
        chosen = st.multiselect(
            "Document folders", known, key="folders", format_func=lambda path: Path(path).name,
            placeholder="the Factbook alone", persist_state="session",
        )  # fmt: skip
    with st.popover("Add a document folder", icon=":material/create_new_folder:"):
        add(bench, "options")
    return tuple(chosen)


def add(bench: Workbench, place: str) -> None:
    """A path, and what came of reading it."""
    with st.form(f"add-folder-{place}", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        path = st.text_input(
            "Folder on this computer", placeholder="/home/me/papers", help="md, txt, html, pdf and docx files are read."
        )
        wanted = st.form_submit_button("Add folder")
    if added := st.session_state.pop(ADDED, None):
        _said(*added)
    if not wanted:
        return
    if not path.strip():
        st.error("Name a folder, for example /home/me/papers.")
        return
    folder = Path(path.strip()).expanduser().resolve()
    bar = st.progress(0.0, "Reading")

    def report(done: int, total: int, what: str) -> None:
        bar.progress(done / max(1, total), f"Reading {plain(what)}")

    try:
        found = bench.library.add_folder(folder, report)
    except ConfigError as error:
        bar.empty()
        st.error(plain(str(error)))
        return
    bench.library.start_embedding()
    # Once more from the top: the folder is in lists that are drawn already.
    st.session_state[ADDED] = folder, found
    st.rerun()


def _said(folder: Path, found: FolderReport) -> None:
    read = f"{count(found.indexed, 'file')} read, {found.unchanged:,} unchanged, {found.removed:,} gone"
    st.success(f"{plain(folder.name)}: {read}.")
    for path, reason in found.unreadable:
        st.warning(f"{plain(path.name)}: {plain(reason)}", title="Not read")
