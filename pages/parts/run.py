"""One run on a page: its state, its rounds and its report, live or at any round of its past."""

from __future__ import annotations

import time

import streamlit as st

from pages.parts import head, reply, report, scrubber, timeline
from pages.parts.safe import plain
from research.errors import ConfigError
from research.store import RunRow
from research.view import RunView, fold, until
from research.workbench import Workbench

TICK_S = 0.5
"""How often a running run is looked at."""


def show(bench: Workbench, run_id: str, above: str = "") -> None:
    """The run of that id, or the reason why there is none.  `above`: a question that the page shows already."""
    try:
        row = bench.store.run(run_id)
    except ConfigError as error:
        st.error(plain(str(error)), title="No such run")
        return
    events = bench.store.events(row.id)
    view = fold(events)
    with st.container(key="run", gap="small"):
        if row.question != above.strip():
            st.subheader(plain(row.question), anchor=False)
        if view.running and not head.lost(row):
            _live(bench, row, view)
            return
        last = max((r.number for r in view.rounds if r.agent == "main"), default=0)
        top = st.container()
        number = scrubber.choose(row.id, last)
        if number < last:
            view = fold(until(events, number))
        with top:
            head.past(view, row, number, last)
            reply.draw(bench, row)
        rounds, words = _columns()
        with rounds:
            timeline.draw(view, view.rounds)
        with words:
            report.draw(view)


def _columns() -> tuple[st.delta_generator.DeltaGenerator, st.delta_generator.DeltaGenerator]:
    left, right = st.columns([5, 7], gap="large")
    with left:
        st.caption("Rounds")
        rounds = st.container(key="rounds", gap="xxsmall")
    with right:
        st.caption("Report")
        return rounds, st.container(key="report", gap="xsmall")


def _live(bench: Workbench, row: RunRow, view: RunView) -> None:
    """Finished rounds are drawn once; the head, the open rounds and the draft follow the store.

    At first there may be no event at all: the run is known by its row.
    """
    top = st.container()
    rounds, words = _columns()
    settled = _settled(view)
    with rounds:
        timeline.draw(view, view.rounds[:settled])

    @st.fragment(run_every=TICK_S)
    def follow() -> None:
        for event in bench.store.events(row.id, view.seq):
            view.apply(event)
        if not view.running or _settled(view) > settled or head.lost(bench.store.run(row.id)):
            st.rerun()
        now = time.time()
        with top:
            head.present(bench, row, view, now)
        with rounds:
            timeline.draw(view, view.rounds[settled:], now)
            if len(view.rounds) == settled:
                st.empty()  # a fragment may only write where it has written when the page was drawn
        with words:
            report.draw(view)

    follow()


def _settled(view: RunView) -> int:
    """How many leading rounds will not change any more."""
    return next((index for index, r in enumerate(view.rounds) if not r.done), len(view.rounds))
