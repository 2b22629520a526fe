"""The question, asked once, whether a cloud model may get private documents."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from research.workbench import leaving
from research.workbench.leaving import MustChoose
from research.workbench.workbench import Workbench


def ask(bench: Workbench, why: str) -> None:
    """Ask, and remember the answer; until then the documents stay here."""
    st.warning(plain(why), title=t("Your documents stay on this machine"))
    with st.container(horizontal=True):
        for label, answer in ((t("Send them to this model"), leaving.OPEN), (t("Keep them here"), leaving.PRIVATE)):
            st.button(label, key=f"egress-{answer}", on_click=leaving.answer, args=(bench.store, answer))


def refused(bench: Workbench, error: Exception, title: str, text: str = "") -> bool:
    """Draw why a recipe cannot be used, or the question that it depends on; return whether it was the question."""
    if isinstance(error, MustChoose):
        ask(bench, error.why)
        return True
    st.error(plain(text or str(error)), title=title)
    return False
