"""Folders with the user's own documents: choosing and adding them."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts.library import upload
from pages.parts.shared import once
from pages.parts.shared.language import current, spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count
from research._util.retold import retold
from research.config import users
from research.errors import REFUSED
from research.search.library.indexing import FolderReport
from research.workbench.workbench import Workbench

ADDED = "folder-added"
"""Session key of the folder just read and its report, shown once."""


def add_documents(bench: Workbench, place: str) -> None:
    """Draw the ways to add documents: uploading files, and naming a folder, for users who may.

    See `research.config.users.readable`.
    """
    if bench.settings.user and not bench.settings.allow_folders:
        upload.draw(bench, place)
        return
    files, folder = st.tabs([t("Upload files"), t("Use a folder")])
    with files:
        upload.draw(bench, place)
    with folder:
        _add(bench, place)


def _add(bench: Workbench, place: str) -> None:
    """Draw the form that adds a folder, and its result."""
    with st.form(f"add-folder-{place}", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        path = st.text_input(
            t("Folder on this computer"),
            key=f"folder-path-{place}",
            placeholder="/home/me/papers",
            help=t("Reads text, web pages, pdf, Office files, spreadsheets, books and messages in place."),
        )
        wanted = st.form_submit_button(t("Add folder"), key=f"add-folder-button-{place}")
    if added := once.take(ADDED):
        _report(*added)
    if not wanted:
        return
    if not path.strip():
        st.error(t("Enter a folder, for example /home/me/papers."))
        return
    bar, progress = upload.reading()
    try:
        folder = users.readable(bench.settings, Path(path.strip()))
        found = bench.library.add_folder(folder, progress)
    except REFUSED as error:
        bar.empty()
        st.error(plain(spoken(error)))
        return
    bench.library.start_embedding()
    # Rerun, because lists drawn above are missing the new folder.
    st.session_state[ADDED] = folder, found
    st.rerun()


def _report(folder: Path, found: FolderReport) -> None:
    st.success(
        t(
            "{name}: {files} read, {unchanged} unchanged, {removed} removed.",
            name=plain(folder.name),
            files=count(found.indexed, "file"),
            unchanged=f"{found.unchanged:,}",
            removed=f"{found.removed:,}",
        )
    )
    for path, reason in found.unreadable:
        st.warning(plain(spoken(f"{path.name} {reason}")), title=t("Not read"))
    for path, note in found.partial:
        st.info(f"{plain(path.name)}: {plain(retold(note, current()))}", title=t("Read in part"))
