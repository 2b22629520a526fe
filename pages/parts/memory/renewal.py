"""Re-indexes the memory in the background after the encoder was changed, and draws the progress."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.workbench.workbench import Workbench

TICK_S: Final = 0.5


def draw(bench: Workbench) -> None:
    """Start re-indexing if necessary and draw its progress; rerun the page when it is done."""
    renewal = bench.reembedding
    if not renewal.running and not renewal.error:
        renewal.start()
    if renewal.error:
        st.error(plain(spoken(renewal.error)), title=t("Memory could not be re-indexed"))
        st.button(t("Try again"), key="memory-renew", icon=":material/sync:", on_click=renewal.start)
        return
    st.info(
        t(
            "It was indexed with {before}, and the encoder is now {now}. Meanwhile you can read, edit and "
            "remove entries. Searching, adding and recalling work again when this is done.",
            before=plain(bench.memory.other_encoder),
            now=plain(bench.embedder.id),
        ),
        title=t("Re-indexing memory"),
    )

    @st.fragment(run_every=TICK_S)
    def follow() -> None:
        if not renewal.running:
            st.rerun()
        share = renewal.done / renewal.total if renewal.total else 0.0
        label = t("{done} of {total} entries", done=f"{renewal.done:,}", total=f"{renewal.total:,}")
        st.progress(min(1.0, share), label if renewal.total else t("Loading the encoder"))

    follow()
