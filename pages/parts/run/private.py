"""The question, asked once, whether a cloud model may get private documents."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from research.workbench import leaving
from research.workbench.workbench import Workbench


def ask(bench: Workbench, why: str) -> None:
    """Ask, and remember the answer; until then the documents stay here."""
    st.warning(plain(why), title=t("Your documents stay on this machine"))
    with st.container(horizontal=True):
        for label, answer in ((t("Send them to this model"), leaving.OPEN), (t("Keep them here"), leaving.PRIVATE)):
            st.button(label, key=f"egress-{answer}", on_click=leaving.answer, args=(bench.store, answer))
