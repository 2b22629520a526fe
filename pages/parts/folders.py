"""Folders of the user's own documents: pick, add, forget."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts import upload
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import apart, count
from research import users
from research.errors import REFUSED
from research.search.indexing import FACTBOOK, FolderReport
from research.workbench import Workbench

ADDED = "folder-added"
"""Where the folder just read, and what was found in it, wait for the page to be drawn again."""


def names(bench: Workbench) -> list[str]:
    """The folders in the library, as absolute paths."""
    return [info.name for info in bench.library.collections() if info.name != FACTBOOK]


def pick(bench: Workbench) -> tuple[str, ...]:
    """Choose among the folders in the library, with ways to add to them; what is added here is chosen."""
    above = st.container()
    added = st.session_state.get(ADDED)
    with st.popover(t("Add documents"), icon=":material/upload_file:"):
        uploaded = upload.draw(bench, "options")
        st.divider()
        add(bench, "options")
    fresh = [str(each) for each in (added and added[0], uploaded) if each]
    known = names(bench)
    chosen = [name for name in st.session_state.get("folders", []) if name in known]
    if fresh or chosen != st.session_state.get("folders", []):  # forgotten on another page
        st.session_state["folders"] = list(dict.fromkeys([*chosen, *fresh]))
    if not known:
        return ()
    return tuple(
        above.multiselect(
            t("Your documents"), known, key="folders", format_func=apart(known, lambda path: plain(Path(path).name)),
            placeholder=t("the Factbook alone"), persist_state="session",
        )
    )  # fmt: skip


def add(bench: Workbench, place: str) -> None:
    """A path, and what came of reading it.  Not for users who may name none; see `research.users.readable`."""
    if bench.settings.user and not bench.settings.allow_folders:
        return
    with st.form(f"add-folder-{place}", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        path = st.text_input(
            t("Folder on this computer"), key=f"folder-path-{place}", placeholder="/home/me/papers",
            help=t("md, txt, html, pdf and docx files are read where they are."),
        )  # fmt: skip
        wanted = st.form_submit_button(t("Add folder"), key=f"add-folder-button-{place}")
    if added := st.session_state.pop(ADDED, None):
        _said(*added)
    if not wanted:
        return
    if not path.strip():
        st.error(t("Name a folder, for example /home/me/papers."))
        return
    bar = st.progress(0.0, t("Reading"))

    def report(done: int, total: int, what: str) -> None:
        bar.progress(done / max(1, total), t("Reading {name}", name=plain(what)))

    try:
        folder = users.readable(bench.settings, Path(path.strip()))
        found = bench.library.add_folder(folder, report)
    except REFUSED as error:
        bar.empty()
        st.error(plain(str(error)))
        return
    bench.library.start_embedding()
    # Once more from the top: the folder is in lists that are drawn already.
    st.session_state[ADDED] = folder, found
    st.rerun()


def _said(folder: Path, found: FolderReport) -> None:
    st.success(
        t("{name}: {files} read, {unchanged} unchanged, {removed} gone.", name=plain(folder.name),
          files=count(found.indexed, "file"), unchanged=f"{found.unchanged:,}", removed=f"{found.removed:,}")
    )  # fmt: skip
    for path, reason in found.unreadable:
        st.warning(f"{plain(path.name)}: {plain(reason)}", title=t("Not read"))
