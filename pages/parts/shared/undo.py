"""Undoing a deletion: a bar on every page offers it for ten seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Literal

import streamlit as st

from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.errors import REFUSED

UNDO_S: Final = 10.0
"""How long the bar is visible; CSS hides it, so that no timer is needed."""
GRACE_S: Final = 5.0
"""Clicks that arrive this much later still count."""


def offer(text: str, restore: Callable[[], None]) -> None:
    """Offer to undo a deletion: `text` describes it, `restore` reverts it.

    Call it in a widget callback.
    """
    st.session_state["undo"] = text, restore, time.time()


def delete_button(
    label: str,
    key: str,
    delete: Callable[[], Callable[[], None]],
    text: str,
    *,
    help: str | None = None,
    type: Literal["secondary", "tertiary"] = "tertiary",
) -> None:
    """Draw a button that deletes something and then offers to undo it.

    `delete` returns the function that reverts it; if it raises one of the errors in `REFUSED`, a toast shows why.
    `text` describes the deletion in the bar.
    """
    st.button(label, key=key, icon=":material/delete:", type=type, on_click=_delete, args=(delete, text), help=help)


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


def _delete(delete: Callable[[], Callable[[], None]], text: str) -> None:
    try:
        restore = delete()
    except REFUSED as error:
        st.toast(plain(spoken(error)), icon=":material/info:")
        return
    offer(text, restore)


def _undo(restore: Callable[[], None]) -> None:
    del st.session_state["undo"]
    restore()
