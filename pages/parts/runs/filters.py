"""The filters of the run list."""

from __future__ import annotations

import streamlit as st
from msgspec.structs import replace

from pages.parts.shared import address, period
from pages.parts.shared.filters import ListFilters, change, chosen, switched_on
from pages.parts.shared.language import later, t
from pages.parts.shared.period import SINCE
from pages.parts.shared.safe import plain
from pages.parts.shared.titles import ENDINGS, context, framework, model
from research import plugins
from research.store import EVALUATED, Filters
from research.workbench.workbench import Workbench

NAMES = {
    "outcome": later("Outcome"),
    "framework": later("Framework"),
    "context": later("Context"),
    "model": later("Model"),
    "tag": later("Tag"),
}
"""Address parameter and title of each filter."""
_KNOWN = 500
"""Number of newest runs whose models are offered."""
EVALUATIONS = "evaluations"
"""Address parameter that shows the runs of evaluations, too."""
_FILTERS = ListFilters("runs", NAMES, later("Asked in"), {EVALUATIONS: later("Runs of evaluations")})
query, active, clear = _FILTERS.query, _FILTERS.active, _FILTERS.clear


def filters() -> Filters:
    return Filters(
        outcomes=chosen("outcome"),
        frameworks=chosen("framework"),
        contexts=chosen("context"),
        models=chosen("model"),
        tags=chosen("tag"),
        since=period.start(),
        not_tagged=EVALUATED if hiding_evaluations() else "",
    )


def hiding_evaluations() -> bool:
    """Return whether the runs of evaluations are left out: unless they, or a tag, are asked for."""
    return not switched_on(EVALUATIONS) and not chosen("tag")


def show_evaluations() -> None:
    """Show the runs of evaluations, too."""
    change(EVALUATIONS, True)


def draw(bench: Workbench) -> None:
    """Draw the search box, and the filters behind a button that shows how many are set."""
    _FILTERS.search(t("Search runs"), t("Search questions and answers"), live=True)
    _FILTERS.draw(_offered(bench), _NAMED)


def outcomes(bench: Workbench) -> None:
    """Draw the outcomes of the runs that the other filters find, each with their number, to choose by one click."""
    numbers, wanted = bench.store.endings(query(), replace(filters(), outcomes=())), chosen("outcome")
    options = list(dict.fromkeys([*(each for each in ENDINGS if each in numbers), *wanted]))
    if len(options) < 2 and not wanted:
        return
    key = address.shows("runs-outcome", list(wanted))
    st.pills(
        t(NAMES["outcome"]),
        options,
        selection_mode="multi",
        key=key,
        on_change=address.changed,
        args=(key, change, "outcome"),
        format_func=lambda each: plain(f"{_ending(each)} ({numbers.get(each, 0):,})"),
        label_visibility="collapsed",
        wrap=True,
    )


def in_words() -> str:
    """Return the search and the filters in words, for an empty list."""
    parts = [f"“{plain(query())}”"] if query() else []
    for name, title in NAMES.items():
        values = t(", ").join(plain(_NAMED.get(name, str)(value)) for value in chosen(name))
        parts += [t("{name}: {value}", name=t(title), value=values)] if values else []
    name = st.query_params.get("since", "")
    return " · ".join([*parts, t(SINCE[name])] if name in SINCE else parts)


def _ending(name: str) -> str:
    return t(ENDINGS.get(name, name))


_NAMED = {"outcome": _ending, "framework": framework, "context": context, "model": model}
"""Functions that return the title of a filter value."""


def _offered(bench: Workbench) -> dict[str, list[str]]:
    recipes = [row.recipe for row in bench.store.runs(limit=_KNOWN)]
    return {
        "framework": sorted({*plugins.framework.names(), *(recipe.framework for recipe in recipes)}),
        "context": sorted({*plugins.context.names(), *(recipe.context for recipe in recipes)}),
        "model": sorted({recipe.model for recipe in recipes}),
        "tag": bench.store.tags(),
    }
