"""What is wanted of the list of runs.  The address says it; the widgets show it and change it."""

from __future__ import annotations

import time

import streamlit as st

from pages.parts import address
from pages.parts.language import later, t
from pages.parts.safe import plain
from research import registry
from research.errors import ConfigError
from research.store import Filters
from research.workbench import Workbench

ENDINGS = {
    "answered": later("Answered"), "rounds": later("Limit of rounds"), "tokens": later("Token budget spent"),
    "cost": later("Cost budget spent"), "time": later("Time was up"), "tool_errors": later("Tools failed"),
    "loop": later("Repeated itself"), "no_evidence": later("No evidence"), "needs_input": later("Waiting for you"),
    "stopped": later("Stopped"), "failed": later("Failed"), "running": later("Not ended yet"),
}  # fmt: skip
"""Each outcome in a word or two, shown by `t`."""
SINCE = {"day": later("last day"), "week": later("last week"), "month": later("last month"), "year": later("last year")}
_SECONDS = {"day": 86_400, "week": 604_800, "month": 2_678_400, "year": 31_622_400}
NAMES = {
    "outcome": later("Outcome"), "framework": later("Framework"), "context": later("Context"), "model": later("Model"),
    "tag": later("Tag"),
}  # fmt: skip
"""Each filter in the address, and as it is called."""
_KNOWN = 500
"""The models of so many runs are offered."""


def query() -> str:
    return st.query_params.get("q", "")


def filters() -> Filters:
    return Filters(
        outcomes=_wanted("outcome"), frameworks=_wanted("framework"), contexts=_wanted("context"),
        models=_wanted("model"), tags=_wanted("tag"), since=since(),
    )  # fmt: skip


def since() -> float | None:
    """The beginning of the time that is wanted, seconds since the epoch."""
    name = st.query_params.get("since", "")
    return time.time() - _SECONDS[name] if name in SINCE else None


def when(label: str, prefix: str) -> None:
    """The control for that time; `prefix` begins its key."""
    name = st.query_params.get("since", "")
    key = address.shows(f"{prefix}-since", name if name in SINCE else None)
    st.segmented_control(
        label, list(SINCE), key=key, format_func=lambda value: t(SINCE[value]),
        on_change=address.changed, args=(key, _changed, "since"),
    )  # fmt: skip


def turn(number: int) -> None:
    """To the page of that number, from 0."""
    address.put("page", str(number + 1) if number else "")


def clear() -> None:
    for name in ("q", "since", "page", *NAMES):
        address.put(name, "")


def active() -> bool:
    return any(name in st.query_params for name in ("q", "since", *NAMES))


def draw(bench: Workbench) -> None:
    """The search box, and the filters behind a button that says how many are set."""
    box = address.shows("runs-q", query())
    st.text_input(
        t("Search runs"), key=box, type="search", placeholder=t("Search questions and answers"), live=True,
        label_visibility="collapsed", on_change=address.changed, args=(box, _changed, "q"),
    )  # fmt: skip
    chosen = sum(map(len, (_wanted(name) for name in NAMES))) + (st.query_params.get("since") in SINCE)
    label = t("Filters ({n})", n=chosen) if chosen else t("Filters")
    with st.popover(label, icon=":material/filter_list:"):
        offered = _offered(bench)
        for name, title in NAMES.items():
            wanted = _wanted(name)
            options = list(dict.fromkeys([*offered[name], *wanted]))
            key = address.shows(f"runs-{name}", list(wanted))
            st.multiselect(
                t(title), options, key=key, on_change=address.changed, args=(key, _changed, name), placeholder=t("any"),
                format_func=_NAMED.get(name, str),
                disabled=not options,
            )  # fmt: skip
        when(t("Asked in the"), "runs")
        st.button(t("Reset filters"), key="runs-clear", icon=":material/filter_list_off:", disabled=not active(),
                  type="tertiary", on_click=clear)  # fmt: skip


def framework(name: str) -> str:
    """As a reader knows it; a run from a file may name one that is not here."""
    try:
        return t(registry.framework.get(name).title)
    except ConfigError:
        return name


def context(name: str) -> str:
    """As a reader knows it, like a framework."""
    try:
        return t(registry.context.get(name).title)
    except ConfigError:
        return name


def told() -> str:
    """The search and the filters in words, for a list that is empty because of them."""
    parts = [plain(repr(query()))] if query() else []
    for name, title in NAMES.items():
        values = ", ".join(plain(_NAMED.get(name, str)(value)) for value in _wanted(name))
        parts += [f"{t(title)}: {values}"] if values else []
    name = st.query_params.get("since", "")
    return " · ".join([*parts, t(SINCE[name])] if name in SINCE else parts)


def _ending(name: str) -> str:
    return t(ENDINGS.get(name, name))


_NAMED = {"outcome": _ending, "framework": framework, "context": context}
"""How the values of a filter are called, where they are not names themselves."""


def _offered(bench: Workbench) -> dict[str, list[str]]:
    recipes = [row.recipe for row in bench.store.runs(limit=_KNOWN)]
    return {
        "outcome": list(ENDINGS),
        "framework": sorted({*registry.framework.names(), *(recipe.framework for recipe in recipes)}),
        "context": sorted({*registry.context.names(), *(recipe.context for recipe in recipes)}),
        "model": sorted({recipe.model for recipe in recipes}),
        "tag": bench.store.tags(),
    }


def _wanted(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, st.query_params.get_all(name))))


def _changed(name: str, value: str | list[str] | None) -> None:
    address.put("page", "")
    address.put(name, value)
