"""The slider over the rounds of a run, with play, speed, round number and links: the replay."""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

from pages.parts.run import fork
from pages.parts.shared.language import t
from research.events.view import RunView
from research.store import RunRow

PLAY_S = 1.2
"""How long each round is shown during playback."""
SPEEDS = {"0.5×": 0.5, "1×": 1.0, "2×": 2.0, "4×": 4.0}


def button(row: RunRow, last: int) -> None:
    """Draw the button that replays the run from its first round; nothing while the controls are open."""
    if last < 2 or _opened(row):
        return

    def replay() -> None:
        st.session_state[f"replay-{row.id}"] = True
        st.session_state[f"playing-{row.id}"] = True
        st.session_state[f"chosen-{row.id}"] = 1

    st.button(
        t("Replay"),
        key=f"replay-button-{row.id}",
        icon=":material/play_arrow:",
        type="tertiary",
        shortcut="K",
        on_click=replay,
    )


def _opened(row: RunRow) -> bool:
    return bool(st.session_state.get(f"replay-{row.id}") or st.query_params.get("round"))


def choose(row: RunRow, view: RunView, last: int, live: bool) -> int:
    """Return the round to show, by default the last one; draw the replay controls if they are open.

    An active run is followed while its last round is shown.
    """
    if last < 2 or not _opened(row):
        return last
    st.session_state[f"replay-{row.id}"] = True
    chosen, playing, linked = f"chosen-{row.id}", f"playing-{row.id}", f"linked-{row.id}"
    from_link = st.query_params.get("round", "")
    if st.session_state.get(linked, "") != from_link:  # the round comes from a link, not from the slider
        st.session_state[chosen] = max(1, int(from_link[:9])) if from_link.isdecimal() else None
    number = min(last, st.session_state.get(chosen) or last)
    # The choice is stored outside the widgets, because the end of the slider moves with the run.
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
            t("Pause replay") if on else t("Play"),
            key=f"play-{row.id}",
            on_click=play,
            shortcut="K",
            icon=f":material/{'pause' if on else 'play_arrow'}:",
        )
        _position(last, slider, jump, moved)
        if number < last:
            speed = _speed()
            _back(row, chosen, live)
        else:
            _close(row)
        if (number < last or not live) and number <= view.forkable:
            fork.link(t("Fork from this round …"), f"fork-{row.id}", number)
    st.session_state[linked] = str(number) if number < last else ""
    if number < last:
        st.query_params["round"] = str(number)
    else:
        st.query_params.pop("round", None)
    if on:
        _play_on(number, last, chosen, playing, PLAY_S / speed)
    return number


def _position(last: int, slider: str, jump: str, moved: Callable[[str], None]) -> None:
    """Draw the slider and the number, which show and change the round."""
    for widget, label, key, width in (
        (st.slider, t("Round"), slider, "stretch"),
        (st.number_input, t("Jump to round"), jump, 110),
    ):
        widget(label, 1, last, key=key, label_visibility="collapsed", on_change=moved, args=(key,), width=width)


def _speed() -> float:
    chosen = st.segmented_control(
        t("Speed"),
        list(SPEEDS),
        default="1×",
        required=True,
        key="replay-speed",
        persist_state="session",
        label_visibility="collapsed",
    )
    return SPEEDS[chosen or "1×"]


def _back(row: RunRow, chosen: str, live: bool) -> None:
    def back() -> None:
        st.session_state[chosen] = None

    st.button(
        t("Back to live") if live else t("Go to the end"),
        key=f"last-{row.id}",
        icon=":material/last_page:",
        on_click=back,
    )


def _close(row: RunRow) -> None:
    def close() -> None:
        st.session_state[f"replay-{row.id}"] = False

    st.button(t("Close replay"), key=f"close-{row.id}", icon=":material/close:", type="tertiary", on_click=close)


def _play_on(number: int, last: int, chosen: str, playing: str, every_s: float) -> None:
    drawn = time.monotonic()

    @st.fragment(run_every=every_s)
    def advance() -> None:
        if time.monotonic() - drawn < every_s / 2:
            return  # drawn with the page rather than by the timer
        at_end = number + 1 >= last
        st.session_state[chosen] = None if at_end else number + 1
        st.session_state[playing] = not at_end
        st.rerun()

    advance()
