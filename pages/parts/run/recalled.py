"""What memory gave to a run before its first round: one line above the rounds that expands to the quotes."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared import cite
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from research.events.recipe import RECALL_MOST
from research.events.view import RunView
from research.text import clip
from research.types import Source

QUOTE, LONG = 1_500, 40_000
"""Maximum characters of a quote, and of the text sent to the model."""


def draw(view: RunView) -> None:
    """Draw the recalled entries, or why memory could not be searched; nothing if the run recalls nothing."""
    seen = view.recalled
    if seen is None:
        return
    if not seen.ok:
        st.warning(plain(clip(seen.text, QUOTE)), title=t("Memory could not be searched"))
        return
    if not seen.private:
        st.caption(f":material/neurology: {t('Recalled from memory: no matching entries')}")
        return
    entries: dict[str, Source] = {}
    for source in seen.sources:
        entries.setdefault(source.memory, source)
    with st.expander(_title(len(entries)), type="compact", icon=":material/neurology:"), st.container(gap="small"):
        for source in list(entries.values())[:RECALL_MOST]:
            with st.container(gap="xxsmall"):
                st.caption(f"\\[{source.n}\\] {plain(clip(source.title, cite.TITLE))}")
                cite.quoted(clip(source.quote, QUOTE))
                with st.container(horizontal=True, gap="small"):
                    cite.link(source)
        st.caption(t("As sent to the model with the question"))
        st.code(seen.text[:LONG], language=None, wrap_lines=True, height=200)


def _title(number: int) -> str:
    if not number:
        return t("Recalled from memory: background only, not citable")
    return t("Recalled from memory: 1 entry") if number == 1 else t("Recalled from memory: {n} entries", n=number)
