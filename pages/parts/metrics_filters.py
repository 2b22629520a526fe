"""Which runs are measured.  The address says it, in the words of Runs, so that a link leads to the same runs there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.parts import address, runs_filters
from pages.parts.language import later, t
from research.store import Filters, RunRow
from research.workbench import Workbench

PERIODS: Mapping[str, str] = {
    "week": runs_filters.SINCE["week"], "month": runs_filters.SINCE["month"], "all": later("all time"),
}  # fmt: skip
"""Shown by `t`; the first is the shortest, the second is chosen where nothing is."""
_SECONDS = {"week": 604_800, "month": 2_678_400}
_EVERY = 1_000_000
"""More runs than anybody has."""


def period() -> str:
    name = st.query_params.get("since", "")
    return name if name in PERIODS else "month"


def asked(bench: Workbench) -> list[RunRow]:
    """The runs of that time, newest first, whatever else is wanted of them."""
    name = period()
    since = time.time() - _SECONDS[name] if name in _SECONDS else None
    return bench.store.runs(limit=_EVERY, filters=Filters(since=since))


def draw(rows: Sequence[RunRow]) -> list[RunRow]:
    """The three controls; returns those of the runs that are wanted."""
    key = address.shows("metrics-since", period())
    st.segmented_control(
        t("Asked in the"), list(PERIODS), key=key, format_func=lambda value: t(PERIODS[value]), required=True,
        on_change=address.changed, args=(key, _put, "since"),
    )  # fmt: skip
    frameworks = _choice("framework", t("Framework"), [row.recipe.framework for row in rows], runs_filters.framework)
    models = _choice("model", t("Model"), [row.recipe.model for row in rows], str)
    return [
        row
        for row in rows
        if (not frameworks or row.recipe.framework in frameworks) and (not models or row.recipe.model in models)
    ]


def _choice(name: str, label: str, there: Sequence[str], called: Callable[[str], str]) -> tuple[str, ...]:
    wanted = _wanted(name)
    key = address.shows(f"metrics-{name}", list(wanted))
    options = sorted({*there, *wanted})
    st.multiselect(
        label, options, key=key, format_func=called, placeholder=t("any"), disabled=not options, width=280,
        on_change=address.changed, args=(key, _put, name),
    )  # fmt: skip
    return wanted


def _wanted(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, st.query_params.get_all(name))))


def _put(name: str, value: str | Sequence[str] | None) -> None:
    address.put(name, value or "")


def active() -> bool:
    """Whether fewer runs are wanted than there are."""
    return period() != "all" or bool(_wanted("framework") or _wanted("model"))


def clear() -> None:
    for name in ("framework", "model"):
        address.put(name)
    address.put("since", "all")


def same(**more: str) -> dict[str, str | list[str]]:
    """The parameters that show the measured runs on Runs; `more` narrows them down."""
    found: dict[str, str | list[str]] = {name: list(_wanted(name)) for name in ("framework", "model") if _wanted(name)}
    if period() in _SECONDS:
        found["since"] = period()
    return found | more
