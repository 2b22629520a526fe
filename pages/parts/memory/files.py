"""Exporting the listed entries to a file, and importing such files."""

from __future__ import annotations

import streamlit as st

from pages.parts.memory import filters
from pages.parts.shared import files
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.errors import REFUSED
from research.workbench.workbench import Workbench

MOST_MB = 50


def draw(bench: Workbench) -> None:
    """Draw export and import behind one button."""
    turn = st.session_state.setdefault("memory-files", 0)
    if message := st.session_state.pop("memory-imported", None):
        st.toast(message, icon=":material/check:")
    with st.popover(t("Import, export"), icon=":material/swap_vert:", key=f"memory-files-{turn}"):
        wanted = filters.filters()
        st.download_button(
            t("Export {n} entries", n=f"{bench.memory.count(wanted):,}"),
            lambda: "".join(bench.memory.export(wanted)).encode(),
            "memory.jsonl",
            "application/jsonl",
            key="memory-export",
            icon=":material/download:",
            on_click="ignore",
            help=t("The filtered entries, one JSON line each, with their sources."),
        )
        file = files.pick(
            t("Import entries"),
            ["jsonl"],
            MOST_MB,
            key=f"memory-file-{turn}",
            help=t("A file exported here or from another workbench."),
        )
        if file is None:
            return
        try:
            bench.caps.uploads([file.size])
            with st.spinner(t("Saving to memory")):
                done = bench.memory.load(file.getvalue().splitlines())
        except REFUSED as error:
            st.error(plain(spoken(error)), title=t("Nothing was imported"))
            return
    st.session_state["memory-files"] = turn + 1
    st.session_state["memory-imported"] = t("{n} added, {known} already there.", n=done.added, known=done.known)
    st.rerun()
