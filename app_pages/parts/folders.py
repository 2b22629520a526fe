"""Folders of the user's own documents: pick, add, forget."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app_pages.parts.safe import plain
from app_pages.parts.words import count
from research.errors import ConfigError
from research.search.library import FACTBOOK, FolderReport
from research.workbench import Workbench


def names(bench: Workbench) -> list[str]:
    """The folders in the library, as absolute paths."""
    return [info.name for info in bench.library.collections() if info.name != FACTBOOK]


def pick(bench: Workbench) -> tuple[str, ...]:
    """Choose among the folders in the library, with a way to add one."""
    known = names(bench)
    chosen: list[str] = []
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
    if not wanted:
        return
    if not path.strip():
        st.error("Name a folder, for example /home/me/papers.")
        return
    bar = st.progress(0.0, "Reading")
    try:
        found = bench.library.add_folder(
            Path(path.strip()).expanduser().resolve(),
            lambda done, total, what: bar.progress(done / max(1, total), f"Reading {plain(what)}") and None,
        )
    except ConfigError as error:
        bar.empty()
        st.error(plain(str(error)))
        return
    bar.empty()
    bench.library.start_embedding()
    _said(found)


def _said(found: FolderReport) -> None:
    st.success(f"{count(found.indexed, 'file')} read, {found.unchanged:,} unchanged, {found.removed:,} gone.")
    for path, reason in found.unreadable:
        st.warning(f"{plain(path.name)}: {plain(reason)}", title="Not read")
