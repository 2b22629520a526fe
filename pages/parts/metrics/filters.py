"""The filters that select the runs to measure.

The page's URL stores them under the parameter names of the Runs page, so that links to it select the same runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.parts.shared import address, filters, period, titles
from pages.parts.shared.language import later, t
from research.defaults import AUDIT
from research.store import EVALUATED, Filters, RunRow
from research.workbench.workbench import Workbench

PERIODS: Mapping[str, str] = {
    "week": period.SINCE["week"],
    "month": period.SINCE["month"],
    "all": later("all time"),
}
"""The first is the shortest, the second is the default."""
EVALUATIONS = "evaluations"
"""Address parameter that also measures the runs of evaluations."""
_SECONDS = {"week": 604_800, "month": 2_678_400}
_EVERY = 1_000_000
"""A limit that no store reaches."""


def chosen_period() -> str:
    name = st.query_params.get("since", "")
    return name if name in PERIODS else "month"


def runs_in_period(bench: Workbench) -> tuple[list[RunRow], int]:
    """Return the runs in the chosen period, newest first, before the other filters, and how many checks of reports it has.

    A check answers nothing, so the metrics leave it out.
    """
    name = chosen_period()
    since = time.time() - _SECONDS[name] if name in _SECONDS else None
    hidden = "" if filters.switched_on(EVALUATIONS) else EVALUATED
    rows = bench.store.runs(limit=_EVERY, filters=Filters(since=since, not_tagged=hidden))
    answering = [row for row in rows if row.recipe.framework != AUDIT]
    return answering, len(rows) - len(answering)


def draw(rows: Sequence[RunRow]) -> list[RunRow]:
    """Draw the filters and return the matching runs."""
    key = address.shows("metrics-since", chosen_period())
    st.segmented_control(
        t("Asked in"),
        list(PERIODS),
        key=key,
        format_func=lambda value: t(PERIODS[value]),
        required=True,
        on_change=address.changed,
        args=(key, filters.change, "since"),
    )
    frameworks = _choice("framework", t("Framework"), [row.recipe.framework for row in rows], titles.framework)
    models = _choice("model", t("Model"), [row.recipe.model for row in rows], titles.model)
    key = address.shows("metrics-evaluations", filters.switched_on(EVALUATIONS))
    st.toggle(t("Runs of evaluations"), key=key, on_change=address.changed, args=(key, filters.change, EVALUATIONS))
    return [
        row
        for row in rows
        if (not frameworks or row.recipe.framework in frameworks) and (not models or row.recipe.model in models)
    ]


def _choice(name: str, title: str, found: Sequence[str], named: Callable[[str], str]) -> tuple[str, ...]:
    wanted = filters.chosen(name)
    filters.multiselect("metrics", name, title, sorted({*found, *wanted}), named, width=280)
    return wanted


def clear() -> None:
    for name in ("framework", "model"):
        address.put(name)
    address.put("since", "all")


def link_parameters(**more: str | list[str]) -> dict[str, str | list[str]]:
    """Return the address parameters that show the measured runs on the Runs page, narrowed by `more`."""
    found: dict[str, str | list[str]] = {}
    for name in ("framework", "model"):
        if values := filters.chosen(name):
            found[name] = list(values)
    if filters.switched_on(EVALUATIONS):
        found[EVALUATIONS] = "1"
    if chosen_period() in _SECONDS:
        found["since"] = chosen_period()
    return found | more
