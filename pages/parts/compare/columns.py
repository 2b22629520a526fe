"""The runs of a comparison, kept in the session between reruns, so that only new events are read."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.parts.run import head
from pages.parts.shared import titles
from pages.parts.shared.safe import plain
from research.compare import forks
from research.errors import ConfigError
from research.events.view import RunView
from research.store import RunRow
from research.store.saved import Comparison
from research.workbench.workbench import Workbench


@dataclass
class Column:
    """One run of a comparison, or the placeholder of a deleted one."""

    place: int
    """Position from the left, starting at 1."""
    run: str
    row: RunRow | None
    view: RunView

    @property
    def key(self) -> str:
        """Return the prefix of the column's element keys; style.css matches it."""
        return f"compare-run-{self.place}"

    @property
    def name(self) -> str:
        """Return `1 · ReAct / Full history` as Markdown."""
        return f"{self.place} · {plain(titles.way(self.view.recipe))}"

    @property
    def working(self) -> bool:
        return self.row is not None and self.view.running and not head.is_interrupted(self.row)

    @property
    def signature(self) -> tuple[object, ...]:
        """Return a value that changes when something permanent was added, but not while words are streamed."""
        view = self.view
        done = sum(current.done for current in view.rounds)
        seen = sum(call.observation is not None for current in view.rounds for call in current.calls)
        return self.row is None, self.working, view.status, done, seen, len(view.reports)


def columns(bench: Workbench, comparison: Comparison) -> list[Column]:
    """Return every run of the comparison with its events so far."""
    kept: dict[str, Column] = st.session_state.get("compared", {})
    found = {run: kept.get(run) or Column(place, run, None, RunView()) for place, run in enumerate(comparison.runs, 1)}
    for place, each in enumerate(found.values(), 1):
        each.place = place
        refresh(bench, each)
    st.session_state["compared"] = found  # only the runs of this comparison
    return list(found.values())


def refresh(bench: Workbench, column: Column) -> None:
    """Apply the events since the last call to the column's view."""
    before = column.row
    try:
        column.row = bench.store.run(column.run)
    except ConfigError:
        column.row = None
        return
    if before is None or before.created != column.row.created:
        column.view = RunView()  # new here, or imported again under the same id
    for event in bench.store.events(column.run, column.view.seq):
        column.view.apply(event)
    if column.view.seq < 0:
        # There are no events yet, only the row.
        column.view.run, column.view.question, column.view.recipe = column.run, column.row.question, column.row.recipe


def common(bench: Workbench, columns: list[Column]) -> forks.CommonRounds | None:
    """Return the rounds that forks of the same run share, computed once because they never change."""
    runs = tuple((column.run, column.row.created if column.row else 0.0) for column in columns)
    kept: tuple[object, forks.CommonRounds | None] = st.session_state.get("compared-common", (None, None))
    if kept[0] != runs:
        kept = st.session_state["compared-common"] = runs, forks.common_rounds(bench.store, [run for run, _ in runs])
    return kept[1]
