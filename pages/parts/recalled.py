"""What the memory gave to a run before its first round: one quiet line above the rounds, which opens to the quotes."""

from __future__ import annotations

import streamlit as st

from pages.parts import cite
from pages.parts.language import t
from pages.parts.safe import plain
from research.recipe import RECALL_MOST
from research.text import clip
from research.types import Source
from research.view import RunView

QUOTE, LONG = 1_500, 40_000
"""Characters drawn of a quote, and of the text that the model sees."""


def draw(view: RunView) -> None:
    """Nothing for a run that did not ask; the reason where the memory could not be asked."""
    seen = view.recalled
    if seen is None:
        return
    if not seen.ok:
        st.warning(plain(clip(seen.text, QUOTE)), title=t("Nothing could be recalled from memory"))
        return
    if not seen.private:
        st.caption(f":material/neurology: {t('Recalled from memory: nothing fits the question')}")
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
        st.caption(t("As the model sees it, beside the question"))
        st.code(seen.text[:LONG], language=None, wrap_lines=True, height=200)


def _title(number: int) -> str:
    if not number:
        return t("Recalled from memory: what can be read and not cited")
    return t("Recalled from memory: 1 entry") if number == 1 else t("Recalled from memory: {n} entries", n=number)
