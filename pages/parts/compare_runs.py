"""The runs of a comparison as a visitor sees them: kept between two drawings, so that only new events are read."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.parts import head
from pages.parts.language import t
from pages.parts.safe import plain
from research import comparing, registry
from research.desk import Comparison
from research.errors import ConfigError
from research.recipe import Recipe
from research.store import RunRow
from research.view import RunView
from research.workbench import Workbench


@dataclass
class Column:
    """One run of a comparison, or the place of one that was deleted."""

    place: int
    """From 1, left to right."""
    run: str
    row: RunRow | None
    view: RunView

    @property
    def key(self) -> str:
        """What the keys of its elements begin with; the style sheet goes by it."""
        return f"compare-run-{self.place}"

    @property
    def name(self) -> str:
        """`1 · ReAct / Full history`, as Markdown."""
        return f"{self.place} · {title(self.view.recipe)}"

    @property
    def working(self) -> bool:
        return self.row is not None and self.view.running and not head.lost(self.row)

    @property
    def signature(self) -> tuple[object, ...]:
        """Changes when something of the run is there to stay, and not while words are written."""
        view = self.view
        done = sum(current.done for current in view.rounds)
        seen = sum(call.observation is not None for current in view.rounds for call in current.calls)
        return self.row is None, self.working, view.status, done, seen, len(view.reports)


def title(recipe: Recipe) -> str:
    """Framework and strategy in the words of the pages, as Markdown; a run from a file may name what is not here."""
    said = []
    for known, name in ((registry.framework, recipe.framework), (registry.context, recipe.context)):
        try:
            said.append(plain(t(known.get(name).title)))
        except ConfigError:
            said.append(plain(name))
    return " / ".join(said)


def columns(bench: Workbench, comparison: Comparison) -> list[Column]:
    """Every run of the comparison as far as it has come."""
    kept: dict[str, Column] = st.session_state.get("compared", {})
    found = {run: kept.get(run) or Column(place, run, None, RunView()) for place, run in enumerate(comparison.runs, 1)}
    for place, each in enumerate(found.values(), 1):
        each.place = place
        refresh(bench, each)
    st.session_state["compared"] = found  # of this comparison alone
    return list(found.values())


def refresh(bench: Workbench, column: Column) -> None:
    """Take in what has happened since."""
    before = column.row
    try:
        column.row = bench.store.run(column.run)
    except ConfigError:
        column.row = None
        return
    if before is None or before.created != column.row.created:
        column.view = RunView()  # new here, or brought back from a file under its own id
    for event in bench.store.events(column.run, column.view.seq):
        column.view.apply(event)
    if column.view.seq < 0:
        # Nothing has happened yet: the run is known by its row.
        column.view.run, column.view.question, column.view.recipe = column.run, column.row.question, column.row.recipe


def common(bench: Workbench, columns: list[Column]) -> comparing.Common | None:
    """The rounds that forks of one run have in common; they are there from the beginning and stay, so it is asked once."""
    runs = tuple((column.run, column.row.created if column.row else 0.0) for column in columns)
    kept: tuple[object, comparing.Common | None] = st.session_state.get("compared-common", (None, None))
    if kept[0] != runs:
        kept = st.session_state["compared-common"] = runs, comparing.common(bench.store, [run for run, _ in runs])
    return kept[1]
