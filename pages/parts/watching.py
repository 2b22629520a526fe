"""The view of the run that a visitor looks at, kept between two drawings: only new events are read."""

from __future__ import annotations

import streamlit as st
from msgspec import Struct

from research.store import RunRow
from research.view import RunView, fold, until
from research.workbench import Workbench


class _Kept(Struct):
    """What one visitor's session remembers: nothing of it is shared, so nobody else changes it while it is drawn."""

    run: tuple[str, float]
    """Id and time: a run that was deleted for good may come back from a file under its own id."""
    view: RunView
    past: tuple[int, int, RunView] | None = None
    """Up to which event, up to which round, and the view."""


def present(bench: Workbench, row: RunRow) -> RunView:
    """The run as far as it has come."""
    view = _kept(row).view
    for event in bench.store.events(row.id, view.seq):
        view.apply(event)
    return view


def past(bench: Workbench, row: RunRow, number: int) -> RunView:
    """The run as it was after the main agent's round of that number."""
    kept = _kept(row)
    if kept.past is None or kept.past[:2] != (kept.view.seq, number):
        kept.past = kept.view.seq, number, fold(until(bench.store.events(row.id), number))
    return kept.past[2]


def _kept(row: RunRow) -> _Kept:
    kept: _Kept | None = st.session_state.get("watched")
    if kept is None or kept.run != (row.id, row.created):
        kept = st.session_state["watched"] = _Kept((row.id, row.created), RunView())
    return kept
