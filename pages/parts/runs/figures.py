"""What is read of the listed runs: their answers, how long they worked, and a summary line, which only counts checks."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec
import streamlit as st
from msgspec import Struct

from pages.parts.run.report import UNFINISHED
from pages.parts.search import found
from pages.parts.shared.language import t
from pages.parts.shared.words import count, lasted
from research.defaults import AUDIT
from research.errors import ConfigError, StoreUnavailable
from research.events.view import RunView, fold
from research.exports.charts import headline
from research.ops.metrics import Figures, combined, figures
from research.store import RunRow
from research.store.saved import readable
from research.workbench.workbench import Workbench

AT_ONCE_S = 0.3
"""Reading time per rerun, so that the page stays responsive with long runs."""
EVERY_S = 0.5
_QUOTED = re.compile(r"^[^“”]{1,300}[:：]\s?(“[^”]+”).*")
"""Matches a title with the quote that is the answer, and what follows it."""


class Ended(Struct, frozen=True):
    """What was read of a run that has ended."""

    figures: Figures
    answer: str
    """The short answer, or the first sentence of the report; empty without an answer."""


class _Kept(Struct, frozen=True):
    """What the store keeps of a run that ended at this time."""

    updated: float
    ended: Ended | None


@st.cache_resource(show_spinner=False)
def _known(home: str) -> dict[tuple[str, float], Ended | None]:
    """Return what is known, by run and end time; each home folder has its own."""
    return {}


def draw(bench: Workbench, rows: Sequence[RunRow], more: bool) -> None:
    """Draw the line at once if all runs were read before; otherwise it grows while they are read."""
    checks = sum(row.recipe.framework == AUDIT for row in rows)
    done = _ended(rows)
    named = zip((len(rows) - checks, checks), ("run", "report check"), strict=True)
    runs = " · ".join(count(number, name) for number, name in named if number)
    if not _read(bench, done):
        _line(bench, runs, done, more, 0)
        return

    @st.fragment(run_every=EVERY_S)
    def follow() -> None:
        rest = _read(bench, done)
        if not rest:
            st.rerun()  # to stop the timer
        _line(bench, runs, done, more, rest)

    follow()


def ended(bench: Workbench, rows: Sequence[RunRow]) -> dict[str, Ended]:
    """Return the runs that have ended, by id; a run that was not yet read is missing."""
    _read(bench, _ended(rows))
    known = _known(str(bench.settings.home))
    return {row.id: each for row in rows if (each := known.get((row.id, row.updated)))}


def _ended(rows: Sequence[RunRow]) -> list[RunRow]:
    return [row for row in rows if row.outcome and row.status != "waiting_input"]


def _read(bench: Workbench, done: Sequence[RunRow]) -> int:
    """Read runs for up to `AT_ONCE_S` and return how many are left."""
    known, begun = _known(str(bench.settings.home)), time.monotonic()
    missing = [row for row in done if (row.id, row.updated) not in known]
    while missing and time.monotonic() - begun < AT_ONCE_S:
        row = missing.pop(0)
        known[row.id, row.updated] = _of(bench, row)
    return len(missing)


def _of(bench: Workbench, row: RunRow) -> Ended | None:
    """Return what the store keeps of a run; the first time, read its events and keep it."""
    for kept in readable(bench.store.values("ended", row.id), _Kept, "summary of a run"):
        if kept.updated == row.updated:
            return kept.ended
    try:
        view = fold(bench.store.events(row.id))
    except ConfigError:  # an event of it is damaged
        return None
    of_run = figures(view)
    ended = Ended(of_run, _answer(row, view)) if of_run else None
    with suppress(StoreUnavailable):  # it is read again the next time
        bench.store.put("ended", row.id, msgspec.json.encode(_Kept(row.updated, ended)))
    return ended


def _answer(row: RunRow, view: RunView) -> str:
    if view.outcome in UNFINISHED:
        return ""
    return headline(view) if view.short else _QUOTED.sub(r"\1", found.excerpt(row, ""))


def _line(bench: Workbench, runs: str, done: Sequence[RunRow], more: bool, rest: int) -> None:
    known = _known(str(bench.settings.home))
    asked = [row for row in done if row.recipe.framework != AUDIT]
    of_all = combined([each.figures for row in asked if (each := known.get((row.id, row.updated)))])
    parts = [t("{runs} on this page", runs=runs) if more else runs]
    if of_all:
        parts.append(t("{n} rounds on average", n=f"{of_all.average_rounds:.1f}"))
        parts.append(t("{share} of tool calls failed", share=f"{of_all.tool_failure_rate:.1%}"))
        parts.append(t("median time {time}", time=lasted(of_all.seconds_p50)))
    if rest:
        parts.append(t("still reading {runs}", runs=count(rest, "run")))
    st.caption(" · ".join(parts))
