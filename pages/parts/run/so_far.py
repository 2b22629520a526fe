"""What a run knows before it has a report: how many sources it saw and opened, and its latest thought."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.parts.run import details
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain, prose
from pages.parts.shared.words import count
from research.events.view import RunView
from research.text import clip

THOUGHT: Final = 500
"""Maximum characters of the latest thought, from its end."""
TITLES, TITLE = 6, 80
"""Maximum number of opened pages that are named, and characters of each."""


def draw(view: RunView) -> None:
    """Draw what is known so far; nothing once there is a report or the run has ended."""
    if view.report or view.error or view.outcome not in (None, "needs_input"):
        return
    with st.container(key="so-far", gap="xxsmall"):
        st.caption(t("The report appears here. So far: {found}.", found=_found(view)))
        if titles := list(dict.fromkeys(_opened(view).values()))[-TITLES:]:
            st.caption(t("Opened: {pages}", pages="; ".join(plain(clip(each, TITLE)) for each in titles)))
        if said := _latest_thought(view):
            st.caption(t("Latest thought"))
            st.markdown(prose(said))


def _found(view: RunView) -> str:
    if not view.sources:
        return t("no sources yet")
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
