"""One run on a page: header, rounds and report, live or at any earlier round."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts.check import result
from pages.parts.run import (
    after,
    agents,
    branches,
    damaged,
    facts,
    failure,
    forgotten,
    fork,
    head,
    lineage,
    plan,
    recalled,
    reply,
    report,
    scrubber,
    so_far,
    sources,
    timeline,
    watching,
)
from pages.parts.shared import component
from pages.parts.shared.language import t
from research.errors import ConfigError, StoreUnavailable
from research.events.view import RunView
from research.store import RunRow
from research.workbench.workbench import Workbench

TICK_S = 0.3
"""Polling interval for an active run."""
SETTLE = 4
"""Number of new rounds after which the whole page is redrawn, which takes longer than a tick."""


def show(bench: Workbench, run_id: str, above: str = "") -> None:
    """Draw the run with that id, or an error if it does not exist.

    `above` is a question the page shows already.
    """
    found = damaged.found(bench, run_id)
    if found is None:
        return
    row, view = found
    live = view.running and not bench.engine.reclaimer.interrupted(row)
    head.title(row, live)
    with st.container(key="run", gap="small"):
        if row.question != above.strip():
            head.question(row.question)
        top = st.container(key="run-head-live" if live else "run-head", gap="xsmall")
        failure.draw(view, row)
        if not live:
            reply.draw(bench, row, view)
        facts.relatives(bench, row)
        lineage.draw(bench, row, view)
        fork.draw(bench, row, view)
        last = view.last_round
        number = scrubber.choose(row, view, last, live)
        shown = view if number >= last else watching.past(bench, row, number)
        if shown is view and not live:
            report.answer(view) if view.given is None else result.verdict(bench, view)
        at_rest = not (live and shown is view)
        lanes, trace, reading, below = _columns(row, last, follows=not at_rest)
        with lanes:
            agent = agents.choose(bench, row, shown)
            lane = st.container(key="lanes")
        rounds = [r for r in shown.rounds if agent is None or r.agent == agent]
        with trace:
            recalled.draw(shown)
            plan.done(shown)
            timeline.draw(shown, rounds if at_rest else [r for r in rounds if r.done])
            open_rounds = st.container(key="open-rounds", gap="xxsmall")
        with reading:
            report.draw(shown, sources.kept(bench, shown))
            draft = st.container(key="draft", gap="xsmall")
            if at_rest:
                with draft:
                    so_far.draw(shown)
                forgotten.draw(shown)
                branches.draw(shown)
        if live:
            _follow(bench, row, view, agent, (top, lane, open_rounds, draft), at_rest)
            return
        with lane:
            agents.lanes(shown, shown.updated)
        with top:
            head.inactive(view, row, number, last)
            after.actions(bench, row, view)
        if shown is view:
            with below:
                after.draw(bench, row, view)
                facts.draw(bench, view, row)


def _columns(row: RunRow, last: int, follows: bool) -> tuple[DeltaGenerator, ...]:
    """Return the places of agents, rounds, report, and what is below it; `follows` keeps the newest round in sight.

    The report is shown on the left (style.css), so that it begins at the edge of the question; it comes second, because
    the browser holds a reader's place by what is first.
    """
    with st.container(key="sides"):
        trace, reading = st.columns([1, 2], gap="large")
    with trace:
        with st.container(key="trace-head", horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.caption(
                t("Rounds"),
                width="stretch",
                help=t("A round is one request to the model, and the tools that it then used."),
            )
            if follows:
                scrubber.button(row, last)
        lanes = st.container(key="agents", gap="xsmall")
        rounds = st.container(key="rounds", gap="xxsmall")
        if follows:
            component.draw(f"follow-{row.id}", {"kind": "follow", "words": {"latest": t("Latest")}})
    with reading:
        return lanes, rounds, st.container(key="report", gap="xsmall"), st.container(key="after", gap="small")


def _follow(
    bench: Workbench, row: RunRow, view: RunView, agent: str | None, places: Sequence[DeltaGenerator], past: bool
) -> None:
    """Update the header, the active rounds and the words being written from the store; the rest stays as drawn.

    There may be no event yet: then only the row is known.
    """
    drawn, settled, changed = _progress(view), {(r.agent, r.ask) for r in view.rounds if r.done}, False
    above, writing = bool(view.report), False
    top, lane, open_rounds, draft = places

    @st.fragment(run_every=TICK_S)
    def follow() -> None:
        nonlocal changed, writing
        try:
            watching.present(bench, row)
            # What is new is drawn here first, which is quick; the next tick redraws the page with it.
            if changed or not view.running or bench.engine.reclaimer.interrupted(bench.store.run(row.id)):
                st.rerun()
        except ConfigError:
            st.rerun()  # the run was deleted meanwhile
        except StoreUnavailable:
            return  # the next tick asks again
        changed = _outgrown(drawn, _progress(view))
        now = time.time()
        with top:
            head.live(bench, row, view, now)
        if past:
            return
        with lane:
            agents.lanes(view, now)
            st.empty()  # a fragment may only write to places it wrote to on the first run
        with open_rounds:
            if timeline.follows(view.run):
                new = [r for r in view.rounds if not r.done or (r.agent, r.ask) not in settled]
                timeline.at_work(view, [r for r in new if agent in (None, r.agent)], now)
            st.empty()
        with draft:
            # The words that were written stay in sight until the page shows them as the report.
            writing = report.draft(view, now, above, arrived=writing and _progress(view)[2] > drawn[2])
            st.empty()

    follow()


def _outgrown(drawn: tuple[int, int, int], now: tuple[int, int, int]) -> bool:
    """Return whether the page outside the fragment is outdated: by a report, by too many new rounds, or by undone ones."""
    return now[2] != drawn[2] or not 0 <= now[1] - drawn[1] < SETTLE or now[0] < drawn[0]


def _progress(view: RunView) -> tuple[int, int, int]:
    """Return the number of rounds, of finished rounds, and of reports including recalled entries."""
    reports = len(view.reports) + bool(view.citations)
    return len(view.rounds), sum(r.done for r in view.rounds), reports + (view.recalled is not None)
