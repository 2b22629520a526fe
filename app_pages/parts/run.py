"""One run on a page: its state, its rounds and its report, live or at any round of its past."""

from __future__ import annotations

import time

import streamlit as st

from app_pages.parts import report, timeline
from app_pages.parts.safe import plain
from app_pages.parts.words import clock, count, money, short
from research.errors import ConfigError
from research.progress import OUTCOMES
from research.store import RunRow
from research.view import RunView, fold, until
from research.workbench import Workbench

SILENT_S = 15.0
"""A running run whose engine has said nothing for so long has lost it."""
TICK_S, PLAY_S = 0.5, 1.2


def lost(row: RunRow) -> bool:
    """Whether the process that worked on the run is gone."""
    return row.status == "running" and time.time() - row.beat > SILENT_S


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
        if view.running and not lost(row):
            _live(bench, row, view)
            return
        last = max((r.number for r in view.rounds if r.agent == "main"), default=0)
        head = st.container()
        number = _scrubber(row.id, last)
        if number < last:
            view = fold(until(events, number))
        with head:
            _past(view, row, number, last)
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
    head = st.container()
    rounds, words = _columns()
    settled = _settled(view)
    with rounds:
        timeline.draw(view, view.rounds[:settled])

    @st.fragment(run_every=TICK_S)
    def follow() -> None:
        for event in bench.store.events(row.id, view.seq):
            view.apply(event)
        if not view.running or _settled(view) > settled or lost(bench.store.run(row.id)):
            st.rerun()
        now = time.time()
        with head:
            _present(bench, row, view, now)
        with rounds:
            timeline.draw(view, view.rounds[settled:], now)
        with words:
            report.draw(view)

    follow()


def _settled(view: RunView) -> int:
    """How many leading rounds will not change any more."""
    return next((index for index, r in enumerate(view.rounds) if not r.done), len(view.rounds))


def _present(bench: Workbench, row: RunRow, view: RunView, now: float) -> None:
    stopping = bench.store.controls([row.id]).get(row.id) == "stop"
    with st.container(horizontal=True, vertical_alignment="center"):
        state = "stopping …" if stopping else f"round {max(1, view.round_count())}"
        st.markdown(f":primary[:material/circle:] {_line(view, state, now - row.created)}", width="stretch")
        st.button(
            "Stop", key="stop", icon=":material/stop:", disabled=stopping,
            on_click=bench.engine.stop, args=(row.id,),
        )  # fmt: skip


def _past(view: RunView, row: RunRow, number: int, last: int) -> None:
    if number < last:
        st.markdown(_line(view, f"Round {number} of {last}", view.updated - view.started))
    elif view.running:
        state = "**Interrupted**: the process that worked on it ended; what was found is kept"
        st.markdown(f":material/power_off: {_line(view, state, view.updated - view.started)}")
    else:
        icon = "check_circle" if view.outcome == "answered" else "flag"
        state = f"**{OUTCOMES[view.outcome or 'failed']}** in {count(view.round_count(), 'round')}"
        st.markdown(f":material/{icon}: {_line(view, state, view.seconds)}")
    st.caption(f"{plain(row.recipe.label)} · {row.id}")


def _line(view: RunView, state: str, seconds: float) -> str:
    about = "about " if view.estimated else ""
    tokens = f"{about}{short(view.prompt_tokens + view.completion_tokens)} tokens"
    cost = f"cost {plain(money(view.cost_usd))}"
    return " · ".join([state, clock(seconds), tokens, cost, count(len(view.sources), "source")])


def _scrubber(run_id: str, last: int) -> int:
    """The round to show: from the slider, the link or the play button; the last one when nothing was chosen."""
    if last < 2:
        return last
    key, wanted, playing = f"round-{run_id}", f"wanted-{run_id}", f"playing-{run_id}"
    linked = st.query_params.get("round", "")
    if wanted in st.session_state:
        st.session_state[key] = st.session_state.pop(wanted)
    elif key not in st.session_state:
        st.session_state[key] = min(last, max(1, int(linked))) if linked.isdecimal() else last

    def play() -> None:
        st.session_state[playing] = not st.session_state.get(playing)
        if st.session_state[playing] and st.session_state[key] == last:
            st.session_state[wanted] = 1

    on = bool(st.session_state.get(playing))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Pause" if on else "Play", key=f"play-{run_id}", on_click=play,
            icon=f":material/{'pause' if on else 'play_arrow'}:",
        )  # fmt: skip
        number: int = st.slider("Round", 1, last, key=key, label_visibility="collapsed")
    if number < last:
        st.query_params["round"] = str(number)
    else:
        st.query_params.pop("round", None)
    if on:
        _play_on(number, last, wanted, playing)
    return number


def _play_on(number: int, last: int, wanted: str, playing: str) -> None:
    drawn = time.monotonic()

    @st.fragment(run_every=PLAY_S)
    def advance() -> None:
        if time.monotonic() - drawn < PLAY_S / 2:
            return  # drawn with the page, not by the timer
        st.session_state[wanted] = min(last, number + 1)
        st.session_state[playing] = number + 1 < last
        st.rerun()

    advance()
