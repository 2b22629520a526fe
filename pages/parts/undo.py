"""Taking a deletion back: what was deleted can be restored for ten seconds, on every page."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import streamlit as st

from pages.parts.language import t

UNDO_S: Final = 10.0
"""How long the bar stands; `app.py` hides it by CSS, so that no timer runs."""
GRACE_S: Final = 5.0
"""A click that was on its way when the bar went still counts."""


def offer(text: str, restore: Callable[[], None]) -> None:
    """Something was deleted: `text` says what, `restore` brings it back.  To be called in a widget's callback."""
    st.session_state["undo"] = text, restore, time.time()


def draw() -> None:
    """The bar with the button, while there is something to take back."""
    if "undo" not in st.session_state:
        return
    text, restore, since = st.session_state["undo"]
    if time.time() - since > UNDO_S + GRACE_S:
        del st.session_state["undo"]
        return
    # The key is new for each deletion, so that its ten seconds begin anew.
    with st.container(key=f"undo-bar-{int(since * 1000)}", horizontal=True, vertical_alignment="center"):
        st.markdown(text)
        st.button(t("Undo"), key="undo-button", icon=":material/undo:", on_click=_undo, args=(restore,))


def _undo(restore: Callable[[], None]) -> None:
    del st.session_state["undo"]
    restore()
