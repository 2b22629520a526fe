"""The filters of the run list.

The address holds them; the widgets show and change them.
"""

from __future__ import annotations

import streamlit as st

from pages.parts.shared import address, period
from pages.parts.shared.language import later, t
from pages.parts.shared.period import SINCE
from pages.parts.shared.safe import plain
from pages.parts.shared.titles import ENDINGS, context, framework
from research import plugins
from research.store import Filters
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


def query() -> str:
    return st.query_params.get("q", "")


def filters() -> Filters:
    return Filters(
        outcomes=_wanted("outcome"),
        frameworks=_wanted("framework"),
        contexts=_wanted("context"),
        models=_wanted("model"),
        tags=_wanted("tag"),
        since=period.start(),
    )


def turn(number: int) -> None:
    """Go to that page, starting at 0."""
    address.put("page", str(number + 1) if number else "")


def clear() -> None:
    for name in ("q", "since", "page", *NAMES):
        address.put(name, "")


def active() -> bool:
    return any(name in st.query_params for name in ("q", "since", *NAMES))


def draw(bench: Workbench) -> None:
    """Draw the search box, and the filters behind a button that shows how many are set."""
    box = address.shows("runs-q", query())
    st.text_input(
        t("Search runs"),
        key=box,
        type="search",
        placeholder=t("Search questions and answers"),
        live=True,
        label_visibility="collapsed",
        on_change=address.changed,
        args=(box, _changed, "q"),
    )
    chosen = sum(map(len, (_wanted(name) for name in NAMES))) + (st.query_params.get("since") in SINCE)
    label = t("Filters ({n})", n=chosen) if chosen else t("Filters")
    with st.popover(label, icon=":material/filter_list:"):
        offered = _offered(bench)
        for name, title in NAMES.items():
            wanted = _wanted(name)
            options = list(dict.fromkeys([*offered[name], *wanted]))
            key = address.shows(f"runs-{name}", list(wanted))
            st.multiselect(
                t(title),
                options,
                key=key,
                on_change=address.changed,
                args=(key, _changed, name),
                placeholder=t("any"),
                format_func=_NAMED.get(name, str),
                disabled=not options,
            )
        period.choose(t("Asked in"), "runs")
        st.button(
            t("Reset filters"),
            key="runs-clear",
            icon=":material/filter_list_off:",
            disabled=not active(),
            type="tertiary",
            on_click=clear,
        )


def in_words() -> str:
    """Return the search and the filters in words, for an empty list."""
    parts = [plain(repr(query()))] if query() else []
    for name, title in NAMES.items():
        values = ", ".join(plain(_NAMED.get(name, str)(value)) for value in _wanted(name))
        parts += [f"{t(title)}: {values}"] if values else []
    name = st.query_params.get("since", "")
    return " · ".join([*parts, t(SINCE[name])] if name in SINCE else parts)


def _ending(name: str) -> str:
    return t(ENDINGS.get(name, name))


_NAMED = {"outcome": _ending, "framework": framework, "context": context}
"""Functions that return the title of a filter value."""


def _offered(bench: Workbench) -> dict[str, list[str]]:
    recipes = [row.recipe for row in bench.store.runs(limit=_KNOWN)]
    return {
        "outcome": list(ENDINGS),
        "framework": sorted({*plugins.framework.names(), *(recipe.framework for recipe in recipes)}),
        "context": sorted({*plugins.context.names(), *(recipe.context for recipe in recipes)}),
        "model": sorted({recipe.model for recipe in recipes}),
        "tag": bench.store.tags(),
    }


def _wanted(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, st.query_params.get_all(name))))


def _changed(name: str, value: str | list[str] | None) -> None:
    address.put("page", "")
    address.put(name, value)
