"""The figures of the measured runs: each run is read once, the first time with a bar that says how far it is."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts.language import t
from pages.parts.words import count
from research.metrics import Figures, Ledger
from research.store import RunRow
from research.workbench import Workbench

AT_ONCE_S = 0.4
"""A thousand runs take about a second to read: so much of it at a time, so that the page stays at hand."""
EVERY_S = 0.5


@st.cache_resource(show_spinner=False)
def _ledgers() -> dict[tuple[str, str], Ledger]:
    """One for each workbench: what one user's runs tell is never looked up for another."""
    return {}


def ledger(bench: Workbench) -> Ledger:
    settings = bench.settings
    return _ledgers().setdefault((str(settings.home), settings.user), Ledger())


def figures(bench: Workbench, rows: Sequence[RunRow]) -> list[Figures]:
    """At once where the runs were read before; otherwise the page ends here until they are."""
    book = ledger(bench)
    if book.catch_up(bench.store, rows, AT_ONCE_S):
        _follow(bench, book, rows)
        st.stop()
    return book.of(rows)


@st.fragment(run_every=EVERY_S)
def _follow(bench: Workbench, book: Ledger, rows: Sequence[RunRow]) -> None:
    rest = book.catch_up(bench.store, rows, AT_ONCE_S)
    if not rest:
        st.rerun()  # without the timer
    st.progress(1 - rest / len(rows), t("Reading {runs}, once", runs=count(rest, "run")))
