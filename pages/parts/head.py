"""The state of a run in one line: where it is, how long it took, what it spent, what it found."""

from __future__ import annotations

import time

import streamlit as st

from pages.parts.safe import plain
from pages.parts.words import clock, count, money, short
from research.progress import OUTCOMES
from research.store import RunRow
from research.view import RunView
from research.workbench import Workbench

SILENT_S = 15.0
"""A running run whose engine has said nothing for so long has lost it."""


def lost(row: RunRow) -> bool:
    """Whether the process that worked on the run is gone."""
    return row.status == "running" and time.time() - row.beat > SILENT_S


def present(bench: Workbench, row: RunRow, view: RunView, now: float) -> None:
    """The head of a running run, with the button that stops it."""
    stopping = bench.store.controls([row.id]).get(row.id) == "stop"
    with st.container(horizontal=True, vertical_alignment="center"):
        state = "stopping …" if stopping else f"round {max(1, view.round_count())}"
        st.markdown(f":primary[●] {_line(view, state, now - row.created)}", width="stretch")
        st.button(
            "Stop", key="stop", icon=":material/stop:", disabled=stopping,
            on_click=bench.engine.stop, args=(row.id,),
        )  # fmt: skip


def past(view: RunView, row: RunRow, number: int, last: int) -> None:
    """The head of a run that is over, or of the round of it that is shown."""
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
