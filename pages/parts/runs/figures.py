"""A summary line for the listed runs: number, rounds, tool failures, median time; checks are only counted, as on Metrics."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from pages.parts.shared.language import t
from pages.parts.shared.words import count, lasted
from research.defaults import AUDIT
from research.errors import ConfigError
from research.events.view import fold
from research.ops.metrics import Figures, combined, figures
from research.store import RunRow
from research.workbench.workbench import Workbench

AT_ONCE_S = 0.3
"""Reading time per rerun, so that the page stays responsive with long runs."""
EVERY_S = 0.5


@st.cache_resource(show_spinner=False)
def _known(home: str) -> dict[tuple[str, float], Figures | None]:
    """Return the known figures by run and end time; each home folder has its own."""
    return {}


def draw(bench: Workbench, rows: Sequence[RunRow], more: bool) -> None:
    """Draw the line at once if all runs were read before; otherwise it grows while they are read."""
    checks = sum(row.recipe.framework == AUDIT for row in rows)
    ended = _ended(rows)
    named = zip((len(rows) - checks, checks), ("run", "report check"), strict=True)
    runs = " · ".join(count(number, name) for number, name in named if number)
    if not _read(bench, ended):
        _line(bench, runs, ended, more, 0)
        return

    @st.fragment(run_every=EVERY_S)
    def follow() -> None:
        rest = _read(bench, ended)
        if not rest:
            st.rerun()  # to stop the timer
        _line(bench, runs, ended, more, rest)

    follow()


def took(bench: Workbench, rows: Sequence[RunRow]) -> dict[str, float]:
    """Return the seconds that ended runs worked, without the time they waited; a run that was not yet read is missing."""
    _read(bench, _ended(rows))
    known = _known(str(bench.settings.home))
    return {row.id: each.seconds for row in rows if (each := known.get((row.id, row.updated)))}


def _ended(rows: Sequence[RunRow]) -> list[RunRow]:
    return [row for row in rows if row.outcome and row.status != "waiting_input"]


def _read(bench: Workbench, ended: Sequence[RunRow]) -> int:
    """Read runs for up to `AT_ONCE_S` and return how many are left."""
    known, begun = _known(str(bench.settings.home)), time.monotonic()
    missing = [row for row in ended if (row.id, row.updated) not in known]
    while missing and time.monotonic() - begun < AT_ONCE_S:
        row = missing.pop(0)
        try:
            known[row.id, row.updated] = figures(fold(bench.store.events(row.id)))
        except ConfigError:  # an event of it is damaged
            known[row.id, row.updated] = None
    return len(missing)


def _line(bench: Workbench, runs: str, ended: Sequence[RunRow], more: bool, rest: int) -> None:
    known = _known(str(bench.settings.home))
    asked = [row for row in ended if row.recipe.framework != AUDIT]
    found = combined([each for row in asked if (each := known.get((row.id, row.updated)))])
    parts = [t("{runs} on this page", runs=runs) if more else runs]
    if found:
        parts.append(t("{n} rounds on average", n=f"{found.average_rounds:.1f}"))
        parts.append(t("{share} of tool calls failed", share=f"{found.tool_failure_rate:.1%}"))
        parts.append(t("median time {time}", time=lasted(found.seconds_p50)))
    if rest:
        parts.append(t("still reading {runs}", runs=count(rest, "run")))
    st.caption(" · ".join(parts))
