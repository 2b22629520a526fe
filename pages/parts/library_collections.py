"""What the library holds, a row for each collection, with what can be done to it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st

from pages.parts import address, home, undo
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import count, when
from research.errors import REFUSED, ConfigError
from research.search.indexing import FACTBOOK, FolderReport
from research.search.overview import CollectionInfo
from research.workbench import Workbench

CHANGED: Final = "library-changed"
EVERY_S = 2.0
"""How often the numbers are looked at while vectors are being made."""


def title(name: str) -> str:
    """As a reader knows the collection; foreign text."""
    return t("CIA World Factbook") if name == FACTBOOK else Path(name).name or name


def draw(bench: Workbench) -> None:
    """Every collection; the numbers move by themselves as long as something is being made."""
    st.session_state.pop(CHANGED, None)
    infos = bench.library.collections()
    missing = any(info.vectors < info.passages for info in infos)

    def rows() -> None:
        if st.session_state.pop(CHANGED, False):
            st.rerun()  # a button of this part was pressed: the way back and what came of it stand above
        now = bench.library.collections()
        for info in now:
            _row(bench, info)
        if missing and not home.preparing() and all(info.vectors == info.passages for info in now):
            st.rerun()  # without the timer

    st.fragment(rows, run_every=EVERY_S if missing or home.preparing() else None)()
    if bench.library.embedding_error:
        st.warning(plain(bench.library.embedding_error), title=t("Vectors cannot be made; words are searched alone"))


def _row(bench: Workbench, info: CollectionInfo) -> None:
    with st.container(key=f"collection-{info.name}", border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(title(info.name))}**  \n:gray[{numbers(info)}]", width="stretch")
            st.button(t("Browse"), key=f"browse-{info.name}", icon=":material/list:", type="tertiary", on_click=_browse,
                      args=(info.name,))  # fmt: skip
            if info.name != FACTBOOK:
                actions(bench, info.name)
        joining(info)


def numbers(info: CollectionInfo) -> str:
    """How much it holds, and since when."""
    parts = [
        count(info.documents, "document"),
        count(info.passages, "passage"),
        t("{n} of {total} vectors ready", n=f"{info.vectors:,}", total=f"{info.passages:,}"),
        t("{n} MB of text", n=f"{info.characters / 1e6:.1f}"),
    ]
    if info.indexed:
        parts.append(t("indexed {when}", when=when(info.indexed)))
    if info.unreadable:
        parts.append(t("{files} not read", files=count(info.unreadable, "file")))
    return " · ".join(parts)


def joining(info: CollectionInfo) -> None:
    """How far the vectors of a collection are, while they are being made."""
    if info.vectors < info.passages:
        share = info.vectors / info.passages
        st.progress(share, f":small[:gray[{t('Vectors are being made: {share}', share=f'{share:.0%}')}]]")


def actions(bench: Workbench, name: str) -> None:
    """Look at its files again, or forget it."""
    st.button(t("Refresh"), key=f"refresh-{name}", icon=":material/refresh:", type="tertiary", on_click=_refresh,
              args=(bench, name), help=t("Read what is new or has changed, and drop what is gone."))  # fmt: skip
    st.button(t("Forget"), key=f"forget-{name}", icon=":material/delete:", type="tertiary", on_click=_forget,
              args=(bench, name))  # fmt: skip


def said() -> None:
    """What came of a refresh, once."""
    name, found = st.session_state.pop("library-refreshed", ("", None))
    if isinstance(found, str):
        st.error(plain(found), title=t("{name} could not be read again", name=plain(title(name))))
    elif isinstance(found, FolderReport):
        st.success(
            t("{name}: {files} read anew, {unchanged} unchanged, {removed} gone.", name=plain(title(name)),
              files=count(found.indexed, "file"), unchanged=f"{found.unchanged:,}", removed=f"{found.removed:,}")
        )  # fmt: skip


def _browse(name: str) -> None:
    address.put("collection", name)
    st.session_state[CHANGED] = True


def _refresh(bench: Workbench, name: str) -> None:
    try:
        found: FolderReport | str = bench.library.add_folder(Path(name))
        bench.library.start_embedding()
    except REFUSED as error:
        found = str(error)
    st.session_state["library-refreshed"] = name, found
    st.session_state[CHANGED] = True


def _forget(bench: Workbench, name: str) -> None:
    """Hidden at once and removed later, so that it can be taken back; the files themselves are never touched."""
    try:
        bench.library.forget(name)
    except ConfigError:
        return  # forgotten in another window
    if st.query_params.get("collection") == name:
        del st.query_params["collection"]
    text = t("{name} will no longer be searched. Its files stay where they are.", name=plain(title(name)))
    undo.offer(text, lambda: bench.library.restore(name))
    st.session_state[CHANGED] = True
