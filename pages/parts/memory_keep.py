"""Keeping what a run has learned: its supported statements become findings of the memory."""

from __future__ import annotations

import streamlit as st

from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import count
from research.errors import ConfigError
from research.memory import Filters
from research.memory.learning import remember
from research.view import RunView
from research.workbench import Workbench


def draw(bench: Workbench, view: RunView) -> None:
    """The button below the report of a finished run, and what is kept of it already; nothing where nothing is supported."""
    found = () if view.running else remember(view)
    if not found:
        return
    with st.container(key="memory-keep", horizontal=True, vertical_alignment="center", gap="small"):
        pressed = st.button(
            t("Keep in memory"), key="memory-keep-button", icon=":material/bookmark_add:",
            help=t("The {findings} that a source supports, each with its quote, to be found again in later runs.",
                   findings=count(len(found), "statement")),
        )  # fmt: skip
        if pressed:
            try:
                with st.spinner(t("Remembering")):
                    added = bench.memory.add(found)
            except ConfigError as error:
                st.error(plain(str(error)), title=t("Nothing was kept"))
                return
            new = sum(each.new for each in added)
            st.toast(
                t("{n} added, {known} known already.", n=new, known=len(added) - new), icon=":material/bookmark_added:"
            )
        if kept := bench.memory.count(Filters(runs=(view.run,))):
            st.page_link(
                "pages/memory.py", label=t("{findings} of this run in the memory", findings=count(kept, "finding")),
                icon=":material/neurology:", query_params={"run": view.run},
            )  # fmt: skip
