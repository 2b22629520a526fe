"""A memory whose encoder was changed: it is encoded anew in the background, and the page says how far that is."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.parts.language import t
from pages.parts.safe import plain
from research.workbench import Workbench

TICK_S: Final = 0.5


def draw(bench: Workbench) -> None:
    """Starts it where it is not at work.  The page is drawn anew once it is done."""
    renewal = bench.renewal
    if not renewal.running and not renewal.error:
        renewal.start()
    if renewal.error:
        st.error(plain(renewal.error), title=t("The memory could not be encoded anew"))
        st.button(t("Try again"), key="memory-renew", icon=":material/sync:", on_click=renewal.start)
        return
    st.info(
        t(
            "Its vectors were made by {before}, and the encoder is now {now}. What is kept can be read, changed and "
            "forgotten meanwhile; it can be searched and added to when this is done, and runs can recall from it.",
            before=plain(bench.memory.other_encoder), now=plain(bench.embedder.id),
        ),
        title=t("The memory is being encoded anew"),
    )  # fmt: skip

    @st.fragment(run_every=TICK_S)
    def follow() -> None:
        if not renewal.running:
            st.rerun()
        share = renewal.done / renewal.total if renewal.total else 0.0
        said = t("{done} of {total} entries", done=f"{renewal.done:,}", total=f"{renewal.total:,}")
        st.progress(min(1.0, share), said if renewal.total else t("Loading the encoder"))

    follow()
