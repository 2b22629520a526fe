"""One quiet line about what is listed: how many runs, how many rounds they take, how often tools fail."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from pages.parts.language import t
from pages.parts.words import count, lasted
from research.metrics import Figures, figures, together
from research.store import RunRow
from research.view import fold
from research.workbench import Workbench

AT_ONCE_S = 0.3
"""Long runs take a while to read: so much of it at a time, so that the page stays at hand."""
EVERY_S = 0.5


@st.cache_resource(show_spinner=False)
def _known(home: str) -> dict[tuple[str, float], Figures | None]:
    """By run and the time of its end: what has ended does not change any more.  Each user has figures of his own."""
    return {}


def draw(bench: Workbench, rows: Sequence[RunRow], more: bool) -> None:
    """At once where the runs were read before; otherwise the line grows while they are."""
    ended = [row for row in rows if row.outcome and row.status != "waiting_input"]
    if not _read(bench, ended):
        _line(bench, rows, ended, more, 0)
        return

    @st.fragment(run_every=EVERY_S)
    def follow() -> None:
        rest = _read(bench, ended)
        if not rest:
            st.rerun()  # without the timer
        _line(bench, rows, ended, more, rest)

    follow()


def _read(bench: Workbench, ended: Sequence[RunRow]) -> int:
    """Read runs for a moment; how many are left."""
    known, begun = _known(str(bench.settings.home)), time.monotonic()
    missing = [row for row in ended if (row.id, row.updated) not in known]
    while missing and time.monotonic() - begun < AT_ONCE_S:
        row = missing.pop(0)
        known[row.id, row.updated] = figures(fold(bench.store.events(row.id)))
    return len(missing)


def _line(bench: Workbench, rows: Sequence[RunRow], ended: Sequence[RunRow], more: bool, rest: int) -> None:
    known = _known(str(bench.settings.home))
    found = together([each for row in ended if (each := known.get((row.id, row.updated)))])
    runs = count(len(rows), "run")
    parts = [t("{runs} of more", runs=runs) if more else runs]
    if found:
        parts.append(t("{n} rounds on average", n=f"{found.average_rounds:.1f}"))
        parts.append(t("{share} of tool calls failed", share=f"{found.tool_failure_rate:.1%}"))
        parts.append(t("half took less than {time}", time=lasted(found.seconds_p50)))
    if rest:
        parts.append(t("still reading {runs}", runs=count(rest, "run")))
    st.caption(" · ".join(parts))
