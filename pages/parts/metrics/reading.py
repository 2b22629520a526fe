"""Reads the figures of each run once, showing a progress bar the first time."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts.shared.language import t
from pages.parts.shared.words import count
from research.ops.metrics import Figures, Ledger
from research.store import RunRow
from research.workbench.workbench import Workbench

AT_ONCE_S = 0.4
"""Reading time per rerun; a thousand runs take about a second, and the page must stay responsive."""
EVERY_S = 0.5


@st.cache_resource(show_spinner=False)
def _ledgers() -> dict[tuple[str, str], Ledger]:
    """Return the known figures by workbench; figures of different users are never mixed."""
    return {}


def ledger(bench: Workbench) -> Ledger:
    settings = bench.settings
    return _ledgers().setdefault((str(settings.home), settings.user), Ledger())


def figures(bench: Workbench, rows: Sequence[RunRow]) -> list[Figures]:
    """Return the figures if all runs were read before; otherwise end the page with a progress bar and read on."""
    book = ledger(bench)
    if book.catch_up(bench.store, rows, AT_ONCE_S):
        _follow(bench, book, rows)
        st.stop()
    return book.of(rows)


@st.fragment(run_every=EVERY_S)
def _follow(bench: Workbench, book: Ledger, rows: Sequence[RunRow]) -> None:
    rest = book.catch_up(bench.store, rows, AT_ONCE_S)
    if not rest:
        st.rerun()  # to stop the timer
    st.progress(1 - rest / len(rows), t("Reading {runs} (only once)", runs=count(rest, "run")))
