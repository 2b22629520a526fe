"""Saving a run's supported statements to memory as findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from pages.parts.shared import undo
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count
from research.errors import REFUSED
from research.events.events import Remembered
from research.events.view import RunView
from research.exports.blocks import content, parse
from research.memory import Entry, Filters
from research.memory.learning import ANSWERED, supported_findings
from research.text import clip
from research.workbench.workbench import Workbench

_TURN: Final = "keep-turn"
NAME: Final = 160
"""Maximum characters of a finding in the choice."""


def draw(bench: Workbench, view: RunView) -> None:
    """Draw the choice of what to save; nothing if the run has saved by itself, or has nothing to save."""
    if view.running or view.remembered is not None:
        return
    found = supported_findings(view)
    if not found:
        return
    turn = st.session_state.get(_TURN, 0)  # a new key closes the choice once it is saved
    with (
        st.container(key="memory-keep", width="content"),
        st.popover(t("Save"), icon=":material/bookmark_add:", type="tertiary", key=f"keep-{turn}"),
    ):
        st.caption(t("Keep in memory, with quotes, for later runs:"))
        chosen = [each for n, each in enumerate(found) if st.checkbox(_named(each), True, key=f"keep-{view.run}-{n}")]
        pressed = st.button(
            t("Save {findings}", findings=count(len(chosen), "finding")),
            key="memory-keep-button",
            type="primary",
            disabled=not chosen,
        )
    if pressed:
        _save(bench, chosen)


def _named(finding: Entry) -> str:
    return plain(clip(" ".join(content(parse(finding.text, cited=False)).split()), NAME))


def _save(bench: Workbench, chosen: Sequence[Entry]) -> None:
    """Save the findings, and offer to undo it."""
    try:
        with st.spinner(t("Saving to memory")):
            added = bench.memory.add(chosen)
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("Nothing was saved"))
        return
    new = [each.id for each in added if each.new]
    said = t("Memory: {n} added, {known} already there.", n=len(new), known=len(added) - len(new))
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
    if new:
        undo.offer(said, lambda: bench.memory.forget(new))
    else:
        st.toast(said, icon=":material/bookmark_added:")
    st.rerun()


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
