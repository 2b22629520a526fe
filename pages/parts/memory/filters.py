"""The filters of the memory list."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared import period
from pages.parts.shared.filters import ListFilters, chosen, switched_on
from pages.parts.shared.language import later, t
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
_FILTERS = ListFilters("memory", NAMES, later("Learned in"), {"pinned": later("Only pinned")})
query = _FILTERS.query


def filters() -> Filters:
    return Filters(
        kinds=chosen("kind"),
        provenance=chosen("by"),
        tags=chosen("tag"),
        runs=chosen("run"),
        pinned=switched_on("pinned"),
        since=period.start(),
    )


def for_links() -> dict[str, list[str]]:
    """Return the address parameters other than the open entry, for links."""
    return {name: st.query_params.get_all(name) for name in st.query_params if name != "entry"}


def search() -> None:
    """Draw the search box."""
    _FILTERS.search(t("Search the memory"), t("Search by meaning or words"))


def draw(bench: Workbench) -> None:
    """Draw the filters behind a button that shows how many are set."""
    offered = {
        "kind": KINDS,
        "by": PROVENANCES,
        "tag": bench.memory.tags(),
        "run": bench.memory.runs()[:_RUNS],
    }
    named = {
        "kind": lambda value: t(KIND_NAMES.get(value, value)),
        "by": lambda value: t(WRITTEN.get(value, value)),
        "run": lambda value: question(bench, value),
    }
    _FILTERS.draw(offered, named)


def question(bench: Workbench, run: str) -> str:
    """Return the question of a run, or its id if the run was deleted."""
    try:
        return clip(" ".join(bench.store.run(run).question.split()), 60)
    except ConfigError:
        return run
