"""The slider over the rounds of a run, which is its replay, and the button that moves it."""

from __future__ import annotations

import time

import streamlit as st

PLAY_S = 1.2
"""How long a round stands while the run plays."""


def choose(run_id: str, last: int) -> int:
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
