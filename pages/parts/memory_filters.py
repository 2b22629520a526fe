"""What is wanted of the memory.  The address says it; the widgets show it and change it."""

from __future__ import annotations

import streamlit as st

from pages.parts import address, runs_filters
from pages.parts.language import later, t
from pages.parts.words import apart
from research.errors import ConfigError
from research.memory import KINDS, PROVENANCES, Filters
from research.text import clip
from research.workbench import Workbench

KIND_NAMES = {
    "finding": later("Finding"), "passage": later("Passage"), "report": later("Report"), "note": later("Note"),
}  # fmt: skip
WRITTEN = {"user": later("written by you"), "model": later("written by a model"), "page": later("words of a page")}
"""Each kind and each provenance, shown by `t`."""
NAMES = {
    "kind": later("Kind"), "by": later("Written by"), "tag": later("Tag"), "run": later("Run"),
}  # fmt: skip
"""Each filter in the address, and as it is called."""
_RUNS = 200
"""Runs that are offered, the latest."""


def query() -> str:
    return st.query_params.get("q", "").strip()


def filters() -> Filters:
    return Filters(
        kinds=_wanted("kind"), provenance=_wanted("by"), tags=_wanted("tag"), runs=_wanted("run"), pinned=_pinned(),
        since=runs_filters.since(),
    )  # fmt: skip


def kept() -> dict[str, list[str]]:
    """What the address says beside the open entry, for links."""
    return {name: st.query_params.get_all(name) for name in st.query_params if name != "entry"}


def clear() -> None:
    for name in ("q", "pinned", "since", "page", *NAMES):
        address.put(name, "")


def active() -> bool:
    return any(name in st.query_params for name in ("q", "pinned", "since", *NAMES))


def search() -> None:
    """The box."""
    box = address.shows("memory-q", query())
    st.text_input(
        t("Search the memory"), key=box, type="search", placeholder=t("Search by meaning or by words"),
        label_visibility="collapsed", on_change=address.changed, args=(box, _changed, "q"),
    )  # fmt: skip


def draw(bench: Workbench) -> None:
    """The filters, behind a button that says how many are set."""
    chosen = sum(len(_wanted(name)) for name in NAMES) + _pinned() + (runs_filters.since() is not None)
    label = t("Filters ({n})", n=chosen) if chosen else t("Filters")
    with st.popover(label, icon=":material/filter_list:"):
        offered = {
            "kind": list(KINDS), "by": list(PROVENANCES), "tag": bench.memory.tags(), "run": bench.memory.runs()[:_RUNS]
        }  # fmt: skip
        named = {
            "kind": lambda value: t(KIND_NAMES.get(value, value)), "by": lambda value: t(WRITTEN.get(value, value)),
            "tag": str, "run": lambda value: question(bench, value),
        }  # fmt: skip
        for name, title in NAMES.items():
            wanted = _wanted(name)
            options = list(dict.fromkeys([*offered[name], *wanted]))
            key = address.shows(f"memory-{name}", list(wanted))
            st.multiselect(
                t(title), options, key=key, on_change=address.changed, args=(key, _changed, name), placeholder=t("any"),
                format_func=apart(options, named[name]), disabled=not options,
            )  # fmt: skip
        runs_filters.when(t("Learned in the"), "memory")
        key = address.shows("memory-pinned", _pinned())
        st.toggle(t("Only pinned"), key=key, on_change=address.changed, args=(key, _changed, "pinned"))
        st.button(t("Clear all"), key="memory-clear", icon=":material/filter_list_off:", disabled=not active(),
                  type="tertiary", on_click=clear)  # fmt: skip


def question(bench: Workbench, run: str) -> str:
    """A run as a reader knows it: what was asked; its id where it is not kept any more."""
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
