"""The rounds of a run, one line each until opened; live and replay share these functions."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts.run import details, naming
from pages.parts.shared import titles
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import lasted, read
from research.events.rounds import RoundView
from research.events.view import RunView

PAGE = 25
"""Rounds of a page.  The last page grows until it is full, so rounds above the reader scroll away only once in 25 rounds."""


def follows(run: str) -> bool:
    """Return whether the latest rounds are shown rather than an earlier page."""
    return st.session_state.get(_place(run)) is None


@st.fragment
def draw(view: RunView, rounds: Sequence[RoundView]) -> None:
    """Draw a page of these rounds, at first the latest.

    Opening one reruns only this fragment.
    """
    chosen = st.session_state.get(_place(view.run))
    end = min(len(rounds), chosen or len(rounds))
    start = max(0, (end - PAGE) // PAGE * PAGE)
    if len(rounds) > PAGE:
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="rounds-head"):
            _pages(view.run, start, end, [naming.is_round(each) for each in rounds])
    for current in rounds[start:end]:
        _step(view, current)


def at_work(view: RunView, rounds: Sequence[RoundView], now: float) -> None:
    """Draw the newest rounds at time `now`, in seconds since the epoch.

    Kept short because every tick redraws it.
    """
    for current in rounds[-PAGE:]:
        with st.expander(
            naming.line(view, current, now),
            expanded=not current.done,
            type="step",
            icon=naming.icon(current) if current.done else "spinner",
            # An expander keeps its state under its key, so a finished one gets a new key and is closed.
            key=f"{'ended' if current.done else 'open'}-{view.run}-{current.agent}-{current.ask}",
        ):
            st.caption(_spent(current))
            if not current.done:
                details.unfinished(current)


def _step(view: RunView, current: RoundView) -> None:
    with st.expander(
        naming.line(view, current, None),
        type="step",
        icon=naming.icon(current),
        key=f"round-{view.run}-{current.agent}-{current.ask}",
        on_change="rerun",
    ) as opened:
        # A step needs content to be openable; long content is drawn once it is open.
        st.caption(_spent(current))
        if opened.open:
            details.draw(view, current)


def _pages(run: str, start: int, end: int, numbered: Sequence[bool]) -> None:
    """Draw which rounds are shown, and what turns the page; `numbered` says of each step whether it counts as a round."""
    place, total = _place(run), len(numbered)

    def turn(to: int) -> None:
        st.session_state[place] = None if to > total - PAGE else max(PAGE, to)

    last = sum(numbered[:end])
    first = min(sum(numbered[:start]) + 1, last)
    st.caption(t("Rounds {first} to {last} of {total}", first=first, last=last, total=sum(numbered)))
    st.button(
        t("Earlier"),
        key="rounds-earlier",
        icon=":material/expand_less:",
        type="tertiary",
        disabled=start == 0,
        on_click=turn,
        args=(start,),
    )
    st.button(
        t("Later"),
        key="rounds-later",
        icon=":material/expand_more:",
        type="tertiary",
        disabled=end == total,
        on_click=turn,
        args=(end + PAGE,),
    )


def _place(run: str) -> str:
    return f"rounds-until-{run}"


def _spent(current: RoundView) -> str:
    """Return the model, tokens and duration of a round."""
    model = plain(titles.model(current.model))
    if current.usage is None:
        return t("{model} · about {tokens} input tokens", model=model, tokens=f"{current.prompt_tokens:,}")
    usage = current.usage
    given, written = read(usage.prompt_tokens, usage.cache_read_tokens), f"{usage.completion_tokens:,}"
    took = lasted(current.seconds)
    if usage.estimated:
        return t(
            "{model} · about {given} input tokens, {written} output · {took}",
            model=model,
            given=given,
            written=written,
            took=took,
        )
    return t(
        "{model} · {given} input tokens, {written} output · {took}",
        model=model,
        given=given,
        written=written,
        took=took,
    )
