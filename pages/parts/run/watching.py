"""The view of the shown run, kept in the session between reruns, so that only new events are read."""

from __future__ import annotations

import streamlit as st
from msgspec import Struct

from research.events.branches import first_rounds
from research.events.view import RunView, fold
from research.store import RunRow
from research.workbench.workbench import Workbench


class _Watched(Struct):
    """The state of one session; it is not shared, so nothing changes it while it is drawn."""

    run: tuple[str, float]
    """Id and creation time, because a deleted run may be imported again under its id."""
    view: RunView
    past: tuple[int, int, RunView] | None = None
    """Sequence number of the last event, round, and the view of that round."""


def present(bench: Workbench, row: RunRow) -> RunView:
    """Return the run with all its events so far."""
    view = _watched(row).view
    for event in bench.store.events(row.id, view.seq):
        view.apply(event)
    return view


def past(bench: Workbench, row: RunRow, number: int) -> RunView:
    """Return the run as it was after that round."""
    watched = _watched(row)
    if watched.past is None or watched.past[:2] != (watched.view.seq, number):
        watched.past = watched.view.seq, number, fold(first_rounds(bench.store.events(row.id), number))
    return watched.past[2]


def _watched(row: RunRow) -> _Watched:
    watched: _Watched | None = st.session_state.get("watched")
    if watched is None or watched.run != (row.id, row.created):
        watched = st.session_state["watched"] = _Watched((row.id, row.created), RunView())
    return watched
