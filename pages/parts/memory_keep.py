"""Keeping what a run has learned: its supported statements become findings of the memory."""

from __future__ import annotations

import streamlit as st

from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import count
from research.errors import REFUSED
from research.events import Remembered
from research.memory import Filters
from research.memory.learning import remember
from research.view import RunView
from research.workbench import Workbench


def draw(bench: Workbench, view: RunView) -> None:
    """Below the report of a finished run: what it has kept by itself, else the button; nothing where nothing is supported."""
    if view.remembered is not None:
        _kept(bench, view, view.remembered)
        return
    if view.recipe.remember != "off" and view.status == "completed":
        st.caption(f":material/info: {t('Nothing was kept in memory at the end; the last round says why.')}")
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
            except REFUSED as error:
                st.error(plain(str(error)), title=t("Nothing was kept"))
                return
            new = sum(each.new for each in added)
            st.toast(
                t("{n} added, {known} known already.", n=new, known=len(added) - new), icon=":material/bookmark_added:"
            )
        if kept := bench.memory.count(Filters(runs=(view.run,))):
            _link(view, t("{findings} of this run in the memory", findings=count(kept, "finding")))


def _kept(bench: Workbench, view: RunView, kept: Remembered) -> None:
    """What the memory has of the run, and the way there."""
    if not kept.added:
        said = t("nothing new")
    elif view.recipe.remember == "findings":
        said = count(len(kept.added), "new finding")
    else:
        said = t("1 new entry") if len(kept.added) == 1 else t("{n} new entries", n=f"{len(kept.added):,}")
    if kept.known:
        said += t(" ({n} known already)", n=f"{len(kept.known):,}")
    label = t("Kept in memory: {what}", what=said)
    if bench.memory.count(Filters(runs=(view.run,))):
        _link(view, label)
    else:
        st.caption(f":material/neurology: {label}")


def _link(view: RunView, label: str) -> None:
    st.page_link(
        "pages/memory.py", label=label, icon=":material/neurology:", query_params={"run": view.run}, width="content"
    )
