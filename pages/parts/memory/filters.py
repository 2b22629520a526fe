"""The filters of the memory list.

The address holds them; the widgets show and change them.
"""

from __future__ import annotations

import streamlit as st

from pages.parts.shared import address, period
from pages.parts.shared.language import later, t
from pages.parts.shared.words import unique_labels
from research.errors import ConfigError
from research.memory import KINDS, PROVENANCES, Filters
from research.text import clip
from research.workbench.workbench import Workbench

KIND_NAMES = {
    "finding": later("Finding"),
    "passage": later("Passage"),
    "report": later("Report"),
    "note": later("Note"),
}
WRITTEN = {"user": later("your words"), "model": later("summary"), "page": later("quote")}
"""Titles of the kinds and provenances."""
NAMES = {
    "kind": later("Kind"),
    "by": later("Origin"),
    "tag": later("Tag"),
    "run": later("Run"),
}
"""Address parameter and title of each filter."""
_RUNS = 200
"""Number of newest runs offered."""


def query() -> str:
    return st.query_params.get("q", "").strip()


def filters() -> Filters:
    return Filters(
        kinds=_wanted("kind"),
        provenance=_wanted("by"),
        tags=_wanted("tag"),
        runs=_wanted("run"),
        pinned=_pinned(),
        since=period.start(),
    )


def for_links() -> dict[str, list[str]]:
    """Return the address parameters other than the open entry, for links."""
    return {name: st.query_params.get_all(name) for name in st.query_params if name != "entry"}


def clear() -> None:
    for name in ("q", "pinned", "since", "page", *NAMES):
        address.put(name, "")


def active() -> bool:
    return any(name in st.query_params for name in ("q", "pinned", "since", *NAMES))


def search() -> None:
    """Draw the search box."""
    box = address.shows("memory-q", query())
    st.text_input(
        t("Search the memory"),
        key=box,
        type="search",
        placeholder=t("Search by meaning or words"),
        label_visibility="collapsed",
        on_change=address.changed,
        args=(box, _changed, "q"),
    )


def draw(bench: Workbench) -> None:
    """Draw the filters behind a button that shows how many are set."""
    chosen = sum(len(_wanted(name)) for name in NAMES) + _pinned() + (period.start() is not None)
    label = t("Filters ({n})", n=chosen) if chosen else t("Filters")
    with st.popover(label, icon=":material/filter_list:"):
        offered = {
            "kind": list(KINDS),
            "by": list(PROVENANCES),
            "tag": bench.memory.tags(),
            "run": bench.memory.runs()[:_RUNS],
        }
        named = {
            "kind": lambda value: t(KIND_NAMES.get(value, value)),
            "by": lambda value: t(WRITTEN.get(value, value)),
            "tag": str,
            "run": lambda value: question(bench, value),
        }
        for name, title in NAMES.items():
            wanted = _wanted(name)
            options = list(dict.fromkeys([*offered[name], *wanted]))
            key = address.shows(f"memory-{name}", list(wanted))
            st.multiselect(
                t(title),
                options,
                key=key,
                on_change=address.changed,
                args=(key, _changed, name),
                placeholder=t("any"),
                format_func=unique_labels(options, named[name]),
                disabled=not options,
            )
        period.choose(t("Learned in"), "memory")
        key = address.shows("memory-pinned", _pinned())
        st.toggle(t("Only pinned"), key=key, on_change=address.changed, args=(key, _changed, "pinned"))
        st.button(
            t("Clear all"),
            key="memory-clear",
            icon=":material/filter_list_off:",
            disabled=not active(),
            type="tertiary",
            on_click=clear,
        )


def question(bench: Workbench, run: str) -> str:
    """Return the question of a run, or its id if the run was deleted."""
    try:
        return clip(" ".join(bench.store.run(run).question.split()), 60)
    except ConfigError:
        return run


def _wanted(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, st.query_params.get_all(name))))


def _pinned() -> bool:
    return st.query_params.get("pinned") == "1"


def _changed(name: str, value: str | list[str] | bool) -> None:
    address.put("page", "")
    address.put(name, "1" if value is True else value or "")
