"""What a run does and knows before it has a report: its step, the sources seen and opened, and its latest thought."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.parts.run import details, naming
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain, prose
from pages.parts.shared.words import count
from research.events.view import RunView
from research.text import clip

THOUGHT: Final = 500
"""Maximum characters of the latest thought, from its end."""
TITLES, TITLE = 6, 80
"""Maximum number of opened pages that are named, and characters of each."""


def draw(view: RunView, now: float | None = None) -> None:
    """Draw what is known so far, and what is done `now` if the run is active; nothing once there is a report or an end."""
    if view.report or view.error or view.outcome not in (None, "needs_input"):
        return
    with st.container(key="so-far", gap="xxsmall"):
        if view.sources:
            st.caption(t("The report appears here. So far: {found}.", found=_found(view)))
        else:
            st.caption(t("The report appears here once sources are found."))
        if now is not None and (step := _step(view, now)):
            st.caption(t(":material/pending: Now: {step}", step=plain(clip(step, TITLE))))
        if titles := list(dict.fromkeys(_opened(view).values()))[-TITLES:]:
            st.caption(t("Opened: {pages}", pages="; ".join(plain(clip(each, TITLE)) for each in titles)))
        if said := _latest_thought(view):
            st.caption(t("Latest thought"))
            st.markdown(prose(said))


def _step(view: RunView, now: float) -> str:
    """Return the step that the run works on; empty between two steps."""
    at_work = next((each for each in reversed(view.rounds) if not each.done), None)
    if at_work is not None:
        return naming.name(view, at_work, now)
    return "" if view.rounds else t("Starting")


def _found(view: RunView) -> str:
    seen = count(len(view.sources), "source")
    if opened := len(_opened(view)):
        return t("{sources} seen, {opened} opened", sources=seen, opened=opened)
    return t("{sources} seen", sources=seen)


def _opened(view: RunView) -> dict[int, str]:
    """Return the title of each source that was opened, by its number."""
    return {
        source.n: source.title
        for current in view.rounds
        for call in current.calls
        if call.call.name == "visit" and call.observation and call.observation.ok
        for source in call.observation.sources
    }


def _latest_thought(view: RunView) -> str:
    for current in reversed(view.rounds):
        if said := details.thought(current)[0].strip():
            return details.end_of(said, THOUGHT)
    return ""
