"""Saving a run's supported statements to memory as findings."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count
from research.errors import REFUSED
from research.events.events import Remembered
from research.events.view import RunView
from research.memory import Filters
from research.memory.learning import ANSWERED, supported_findings
from research.workbench.workbench import Workbench


def draw(bench: Workbench, view: RunView) -> None:
    """Draw the button that saves; nothing if the run has saved by itself, or has nothing to save."""
    if view.running or view.remembered is not None:
        return
    found = supported_findings(view)
    if not found:
        return
    with st.container(key="memory-keep", width="content"):
        pressed = st.button(
            t("Save"),
            key="memory-keep-button",
            icon=":material/bookmark_add:",
            type="tertiary",
            help=t(
                "Saves the {findings} that a source supports to memory, with quotes, for later runs.",
                findings=count(len(found), "statement"),
            ),
        )
    if pressed:
        try:
            with st.spinner(t("Saving to memory")):
                added = bench.memory.add(found)
        except REFUSED as error:
            st.error(plain(spoken(error)), title=t("Nothing was saved"))
            return
        new = sum(each.new for each in added)
        st.toast(
            t("Memory: {n} added, {known} already there.", n=new, known=len(added) - new),
            icon=":material/bookmark_added:",
        )


def kept(bench: Workbench, view: RunView) -> None:
    """Draw what memory holds from the run, with a link."""
    if view.remembered is not None:
        _saved(bench, view, view.remembered)
        return
    if view.recipe.remember != "off" and view.status == "completed":
        st.caption(f":material/info: {t('Nothing was kept in memory at the end; see the last round for the reason.')}")
    if saved := bench.memory.count(Filters(runs=(view.run,))):
        _link(view, t("{findings} of this run in memory", findings=count(saved, "finding")))
    elif view.outcome in ANSWERED and view.given is None and not supported_findings(view):
        st.caption(t("Nothing to save to memory: no confirmed statement here makes sense on its own."))


def _saved(bench: Workbench, view: RunView, saved: Remembered) -> None:
    """Draw what memory holds from the run, with a link."""
    if not saved.added:
        what = t("nothing new")
    elif view.recipe.remember == "findings":
        what = count(len(saved.added), "new finding")
    else:
        what = t("1 new entry") if len(saved.added) == 1 else t("{n} new entries", n=f"{len(saved.added):,}")
    if saved.known:
        what += t(" ({n} already there)", n=f"{len(saved.known):,}")
    label = t("Kept in memory: {what}", what=what)
    if bench.memory.count(Filters(runs=(view.run,))):
        _link(view, label)
    else:
        st.caption(f":material/neurology: {label}")


def _link(view: RunView, label: str) -> None:
    st.page_link(
        "pages/memory.py", label=label, icon=":material/neurology:", query_params={"run": view.run}, width="content"
    )
