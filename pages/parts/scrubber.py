"""The slider over the rounds of a run, which is its replay, and what moves it: play, speed, a number, the link."""

from __future__ import annotations

import time

import streamlit as st

from pages.parts import fork_form
from pages.parts.language import t
from research.store import RunRow
from research.view import RunView

PLAY_S = 1.2
"""How long a round stands while the run plays."""
SPEEDS = {"0.5×": 0.5, "1×": 1.0, "2×": 2.0, "4×": 4.0}


def choose(row: RunRow, view: RunView, last: int, live: bool) -> int:
    """The round to show, from the slider, the number, the link or the play button; the last one when none was chosen.

    A run at work is followed as long as its last round is shown.
    """
    if last < 2:
        return last
    chosen, playing, linked = f"chosen-{row.id}", f"playing-{row.id}", f"linked-{row.id}"
    told = st.query_params.get("round", "")
    if st.session_state.get(linked) != told:  # the visitor came by a link, not by the slider
        st.session_state[chosen] = max(1, int(told[:9])) if told.isdecimal() else None
    number = min(last, st.session_state[chosen] or last)
    # Widgets show what was chosen; they are not where it is kept, because the end of the slider moves with the run.
    slider, jump = f"slider-{row.id}", f"jump-{row.id}"
    st.session_state[slider] = st.session_state[jump] = number

    def moved(widget: str) -> None:
        to = st.session_state[widget]
        st.session_state[chosen] = to if to is not None and to < last else None

    def play() -> None:
        st.session_state[playing] = not st.session_state.get(playing)
        if st.session_state[playing] and number == last:
            st.session_state[chosen] = 1

    on = bool(st.session_state.get(playing)) and number < last
    speed = 1.0
    with st.container(key="scrubber", horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            t("Pause replay") if on else t("Play"), key=f"play-{row.id}", on_click=play, shortcut="K",
            icon=f":material/{'pause' if on else 'play_arrow'}:",
        )  # fmt: skip
        st.slider(
            t("Round"), 1, last, key=slider, label_visibility="collapsed", on_change=moved, args=(slider,), width="stretch"
        )  # fmt: skip
        st.number_input(
            t("Jump to round"), 1, last, key=jump, label_visibility="collapsed", on_change=moved, args=(jump,), width=110
        )  # fmt: skip
        if number < last:
            speed = _speed()
            _back(row, chosen, live)
        if (number < last or not live) and number <= view.forkable:
            fork_form.link(t("Fork from this round …"), f"fork-{row.id}", number)
    st.session_state[linked] = str(number) if number < last else ""
    if number < last:
        st.query_params["round"] = str(number)
    else:
        st.query_params.pop("round", None)
    if on:
        _play_on(number, last, chosen, playing, PLAY_S / speed)
    return number


def _speed() -> float:
    chosen = st.segmented_control(
        t("Speed"), list(SPEEDS), default="1×", required=True, key="replay-speed", persist_state="session",
        label_visibility="collapsed",
    )  # fmt: skip
    return SPEEDS[chosen or "1×"]


def _back(row: RunRow, chosen: str, live: bool) -> None:
    def back() -> None:
        st.session_state[chosen] = None

    st.button(
        t("Back to now") if live else t("To the end"), key=f"last-{row.id}", icon=":material/last_page:", on_click=back
    )


def _play_on(number: int, last: int, chosen: str, playing: str, every_s: float) -> None:
    drawn = time.monotonic()

    @st.fragment(run_every=every_s)
    def advance() -> None:
        if time.monotonic() - drawn < every_s / 2:
            return  # drawn with the page, not by the timer
        at_end = number + 1 >= last
        st.session_state[chosen] = None if at_end else number + 1
        st.session_state[playing] = not at_end
        st.rerun()

    advance()
