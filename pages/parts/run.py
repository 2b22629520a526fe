"""One run on a page: its state, its rounds and its report, live or at any round of its past."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts import after, agents, fork_form, fork_kept, head, recalled, reply, report, scrubber, timeline, watching
from pages.parts.language import t
from pages.parts.safe import plain
from research.errors import ConfigError, StoreUnavailable
from research.store import RunRow
from research.text import clip
from research.view import RunView
from research.workbench import Workbench

TICK_S = 0.4
"""How often a running run is looked at."""
SETTLE = 4
"""New rounds at which the page is drawn again: that takes longer than a tick, so not each round does it."""
SHOWN = 300
"""Characters of the question that stand over the run."""


def show(bench: Workbench, run_id: str, above: str = "") -> None:
    """The run of that id, or the reason why there is none.  `above`: a question that the page shows already."""
    try:
        row = bench.store.run(run_id)
    except ConfigError as error:
        st.error(plain(str(error)), title=t("No such run"))
        return
    view = watching.present(bench, row)
    live = view.running and not bench.engine.forsaken(row)
    head.title(row, live)
    with st.container(key="run", gap="small"):
        if row.question != above.strip():
            _question(row.question)
        top = st.container(gap="xsmall")
        fork_kept.draw(bench, row, view)
        fork_form.draw(bench, row, view)
        last = max((r.number for r in view.rounds if r.agent == "main"), default=0)
        number = scrubber.choose(row, view, last, live)
        shown = view if number >= last else watching.past(bench, row, number)
        agent = agents.choose(bench, row, shown)
        rounds = [r for r in shown.rounds if agent is None or r.agent == agent]
        at_rest = not (live and shown is view)
        left, right, below = _columns(finished=not live)
        with left:
            recalled.draw(shown)
            timeline.draw(shown, rounds if at_rest else [r for r in rounds if r.done], live=not at_rest)
            open_rounds = st.container(key="open-rounds", gap="xxsmall")
        with right:
            report.draw(shown, row)
            draft = st.container(key="draft", gap="xsmall")
        if live:
            _follow(bench, row, view, agent, (top, open_rounds, draft), at_rest)
            return
        with top:
            head.at_rest(bench, view, row, number, last)
            reply.draw(bench, row)
        if shown is view:
            with below:
                after.draw(bench, row, view)


def _question(question: str) -> None:
    line = " ".join(question.split())
    st.subheader(plain(clip(line, SHOWN)), anchor=False)
    if len(line) > SHOWN:
        with st.expander(t("The whole question"), type="compact"):
            st.text(question)


def _columns(finished: bool) -> tuple[DeltaGenerator, DeltaGenerator, DeltaGenerator]:
    """Rounds, report, and what stands below it; on a narrow screen the report of a finished run comes first (style.css)."""
    with st.container(key="sides-finished" if finished else "sides-live"):
        left, right = st.columns([5, 7], gap="large")
    with left:
        rounds = st.container(key="rounds", gap="xxsmall")
    with right:
        return rounds, st.container(key="report", gap="xsmall"), st.container(key="after", gap="small")


def _follow(
    bench: Workbench, row: RunRow, view: RunView, agent: str | None, places: Sequence[DeltaGenerator], past: bool
) -> None:
    """The head, the open rounds and the words being written follow the store; all else was drawn and stays.

    At first there may be no event at all: the run is known by its row.
    """
    drawn, settled, changed = _standing(view), {(r.agent, r.ask) for r in view.rounds if r.done}, False
    top, open_rounds, draft = places

    @st.fragment(run_every=TICK_S)
    def follow() -> None:
        nonlocal changed
        try:
            watching.present(bench, row)
            # What is new is drawn here first, which is quick; with the next tick the page settles it where it stays.
            if changed or not view.running or bench.engine.forsaken(bench.store.run(row.id)):
                st.rerun()
        except ConfigError:
            st.rerun()  # it was deleted meanwhile
        except StoreUnavailable:
            return  # the next tick asks again
        changed = _outgrown(drawn, _standing(view))
        now = time.time()
        with top:
            head.live(bench, row, view, now)
        if past:
            return
        with open_rounds:
            if timeline.follows(view.run):
                new = [r for r in view.rounds if not r.done or (r.agent, r.ask) not in settled]
                timeline.at_work(view, [r for r in new if agent in (None, r.agent)], now)
            st.empty()  # a fragment may only write where it has written when the page was drawn
        with draft:
            report.draft(view)
            st.empty()

    follow()


def _outgrown(drawn: tuple[int, int, int], now: tuple[int, int, int]) -> bool:
    """Whether what stands outside the fragment is out of date: the report, what was recalled, or rounds that are too many
    or undone."""
    return now[2] != drawn[2] or not 0 <= now[1] - drawn[1] < SETTLE or now[0] < drawn[0]


def _standing(view: RunView) -> tuple[int, int, int]:
    """Rounds, finished rounds, and reports with what was recalled."""
    return len(view.rounds), sum(r.done for r in view.rounds), len(view.reports) + (view.recalled is not None)
