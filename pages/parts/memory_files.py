"""The memory as a file: export what is listed, import what was exported."""

from __future__ import annotations

import streamlit as st

from pages.parts import memory_filters
from pages.parts.language import t
from pages.parts.safe import plain
from research.errors import REFUSED
from research.workbench import Workbench

MOST_MB = 50


def draw(bench: Workbench) -> None:
    """Both, behind one button."""
    turn = st.session_state.setdefault("memory-files", 0)
    if said := st.session_state.pop("memory-imported", None):
        st.toast(said, icon=":material/check:")
    with st.popover(t("Import, export"), icon=":material/swap_vert:", key=f"memory-files-{turn}"):
        wanted = memory_filters.filters()
        st.download_button(
            t("Export {n} entries", n=f"{bench.memory.count(wanted):,}"),
            lambda: "".join(bench.memory.export(wanted)).encode(), "memory.jsonl", "application/jsonl",
            key="memory-export", icon=":material/download:", on_click="ignore",
            help=t("What the filters leave, one entry a line of JSON, with sources and without vectors."),
        )  # fmt: skip
        file = st.file_uploader(
            t("Import entries"), type=["jsonl"], key=f"memory-file-{turn}", max_upload_size=MOST_MB,
            help=t("A file that was exported here or in another workbench."),
        )  # fmt: skip
        if file is None:
            return
        try:
            with st.spinner(t("Remembering")):
                done = bench.memory.load(file.getvalue().splitlines())
        except REFUSED as error:
            st.error(plain(str(error)), title=t("Nothing was imported"))
            return
    st.session_state["memory-files"] = turn + 1
    st.session_state["memory-imported"] = t("{n} added, {known} known already.", n=done.added, known=done.known)
    st.rerun()
