"""Undoing a deletion: a bar on every page offers it for ten seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import streamlit as st

from pages.parts.shared.language import t

UNDO_S: Final = 10.0
"""How long the bar is visible; CSS hides it, so that no timer is needed."""
GRACE_S: Final = 5.0
"""Clicks that arrive this much later still count."""


def offer(text: str, restore: Callable[[], None]) -> None:
    """Offer to undo a deletion: `text` describes it, `restore` reverts it.

    Call it in a widget callback.
    """
    st.session_state["undo"] = text, restore, time.time()


def draw() -> None:
    """Draw the bar while there is something to undo."""
    if "undo" not in st.session_state:
        return
    text, restore, since = st.session_state["undo"]
    if time.time() - since > UNDO_S + GRACE_S:
        del st.session_state["undo"]
        return
    # A new key for each deletion restarts the ten seconds.
    with st.container(key=f"undo-bar-{int(since * 1000)}", horizontal=True, vertical_alignment="center"):
        st.markdown(text)
        st.button(t("Undo"), key="undo-button", icon=":material/undo:", on_click=_undo, args=(restore,))


def _undo(restore: Callable[[], None]) -> None:
    del st.session_state["undo"]
    restore()
