"""The collections of the library, one row each, with their actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import urlsplit

import streamlit as st

from pages.parts.library import folders, upload
from pages.parts.shared import address, home, once, undo
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count, when
from research.defaults import FACTBOOK, PAGES
from research.errors import REFUSED
from research.exports.progress import place_name
from research.search.library.indexing import FolderReport
from research.search.library.kept import BYTES, MOST
from research.search.library.listings import CollectionInfo
from research.workbench.workbench import Workbench

CHANGED: Final = "library-changed"
REFRESH: Final = "library-refresh"
"""Session key of the collection to refresh, until that has begun."""
REFRESHED: Final = "library-refreshed"
"""Session key of a refreshed collection and the report or error, shown once."""
EVERY_S = 2.0
"""Polling interval while the semantic index is being built."""


def title(name: str) -> str:
    """Return the title of a collection, or the name of a search service; not escaped for Markdown."""
    ours = {FACTBOOK: t("CIA World Factbook"), PAGES: t("Pages read")}
    return ours.get(name) or place_name(name)


def kind(url: str) -> str:
    """Return the kind of a document's file, such as `PDF`; empty if it has none."""
    return PurePosixPath(urlsplit(url).path).suffix.removeprefix(".").upper()


def draw(bench: Workbench) -> None:
    """Draw every collection; the numbers refresh while an index is being built."""
    st.session_state.pop(CHANGED, None)
    infos = bench.library.collections()
    missing = any(info.missing for info in infos)

    def rows() -> None:
        if st.session_state.pop(CHANGED, False):
            st.rerun()  # a button in this fragment was pressed: the result and the undo bar are drawn outside it
        now = bench.library.collections()
        if any(info.missing for info in now):
            note_on_index()
        for info in now:
            if not info.of_evaluation:
                _row(bench, info)
        _of_evaluations(bench, [info for info in now if info.of_evaluation])
        if missing and not home.preparing() and not any(info.missing for info in now):
            once.rerun(folders.ADDED, "uploaded-library", REFRESHED)  # to stop the timer

    st.fragment(rows, run_every=EVERY_S if missing or home.preparing() else None)()
    if bench.library.embedding_error:
        st.warning(
            plain(bench.library.embedding_error),
            title=t("The semantic index can't be built; only keyword search works"),
        )


def _row(bench: Workbench, info: CollectionInfo) -> None:
    with st.container(key=f"collection-{info.name}", border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(title(info.name))}**  \n:gray[{numbers(info)}]", width="stretch")
            st.button(
                t("List documents"),
                key=f"browse-{info.name}",
                icon=":material/list:",
                type="tertiary",
                on_click=_browse,
                args=(info.name,),
            )
            if info.name != FACTBOOK:
                actions(bench, info.name)
        index_progress(info)


def _of_evaluations(bench: Workbench, infos: Sequence[CollectionInfo]) -> None:
    """Draw the documents of evaluations apart: they are not the user's."""
    if not infos:
        return
    with st.expander(t("Documents of evaluations"), icon=":material/grid_on:"):
        st.caption(
            t("Only the questions of their sets search them. An evaluation brings them again when it needs them.")
        )
        for info in infos:
            _row(bench, info)


def numbers(info: CollectionInfo) -> str:
    """Return the size of a collection and the time it was indexed."""
    if info.name == PAGES:
        most = t("at most {n} and {size} MB; the oldest go first", n=count(MOST, "page"), size=f"{BYTES / 1e6:.0f}")
        return f"{count(info.documents, 'page')} · {most}"
    parts = [
        count(info.documents, "document"),
        count(info.passages, "passage"),
        t("{n} MB of text", n=f"{info.characters / 1e6:.1f}")
        if info.characters >= 100_000
        else t("{n} kB of text", n=f"{info.characters / 1e3:.1f}"),
    ]
    if info.indexed:
        parts.append(t("indexed {when}", when=when(info.indexed)))
    if info.unreadable:
        parts.append(t("{files} not read", files=count(info.unreadable, "file")))
    return " · ".join(parts)


def index_progress(info: CollectionInfo) -> None:
    """Draw how much of a collection can be found by meaning, until all can."""
    if info.missing:
        done = info.vectors / info.passages
        said = t(
            "Search by meaning is being prepared: {done} of {total} passages ({share})",
            done=f"{info.vectors:,}",
            total=f"{info.passages:,}",
            share=f"{done:.0%}",
        )
        st.progress(done, f":small[:gray[{said}]]")


def note_on_index() -> None:
    """Say what works until the index is complete."""
    st.caption(
        t(
            "You can ask now: documents are found by the words of the question. Once the index of all that is searched is "
            "complete, they are also found by what they mean. Your own documents come first, small collections before "
            "large ones."
        )
    )


def actions(bench: Workbench, name: str) -> None:
    """Draw the buttons that refresh or remove a collection."""
    gone = t("The kept pages are removed.")
    if name != PAGES:
        gone = t("{name} is no longer searched. Its files stay where they are.", name=plain(title(name)))
        st.button(
            t("Refresh"),
            key=f"refresh-{name}",
            icon=":material/refresh:",
            type="tertiary",
            on_click=_refresh,
            args=(name,),
            help=t("Read new and changed files, and drop deleted ones."),
        )
    undo.delete_button(t("Remove"), f"forget-{name}", lambda: _forget(bench, name), gone)


def refresh(bench: Workbench) -> None:
    """Refresh the collection whose button was pressed, with the progress, and draw the result once."""
    if wanted := st.session_state.pop(REFRESH, ""):
        bar, progress = upload.reading()
        try:
            result: FolderReport | str = bench.library.add_folder(Path(wanted), progress)
            bench.library.start_embedding()
        except REFUSED as error:
            result = spoken(error)
        bar.empty()
        st.session_state[REFRESHED] = wanted, result
    name, found = once.take(REFRESHED) or ("", None)
    if isinstance(found, str):
        st.error(plain(found), title=t("{name} could not be refreshed", name=plain(title(name))))
    elif isinstance(found, FolderReport):
        st.success(
            t(
                "{name}: {files} read, {unchanged} unchanged, {removed} removed.",
                name=plain(title(name)),
                files=count(found.indexed, "file"),
                unchanged=f"{found.unchanged:,}",
                removed=f"{found.removed:,}",
            )
        )


def _browse(name: str) -> None:
    address.put("collection", name)
    st.session_state[CHANGED] = True


def _refresh(name: str) -> None:
    st.session_state[REFRESH] = name
    st.session_state[CHANGED] = True


def _forget(bench: Workbench, name: str) -> Callable[[], None]:
    """Hide the collection now and delete it later, so that it can be restored; its files are not touched."""
    st.session_state[CHANGED] = True
    bench.library.forget(name)
    if st.query_params.get("collection") == name:
        del st.query_params["collection"]
    return lambda: bench.library.restore(name)
