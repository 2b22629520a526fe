"""The memory as a map of points: similar entries are close, coloured by run or kind."""

from __future__ import annotations

import streamlit as st

from pages.parts.memory import filters as memory_filters
from pages.parts.shared import address
from pages.parts.shared import map as points
from pages.parts.shared.language import later, t
from research.memory import Entry, Filters
from research.workbench.workbench import Workbench

COLOURED = {"run": later("Run"), "kind": later("Kind")}
LEAST = 3
"""A map needs at least this many entries."""


def draw(bench: Workbench, filters: Filters, opened: str) -> None:
    """Draw the newest matching entries; a click opens one."""
    placed = bench.memory.map_points(filters, points.MOST)
    if len(placed) < LEAST:
        return
    with st.container(key="memory-map", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.caption(
                t("Each dot is an entry; similar ones sit close together. Click one to open it."), width="stretch"
            )
            coloured = st.segmented_control(
                t("Color by"),
                list(COLOURED),
                default="run",
                required=True,
                key="memory-coloured",
                format_func=lambda name: t(COLOURED[name]),
                persist_state="session",
            )
        names: dict[str, str] = {}

        def group(entry: Entry) -> str:
            if coloured == "kind":
                return t(memory_filters.KIND_NAMES[entry.kind])
            if entry.run not in names:
                names[entry.run] = memory_filters.question(bench, entry.run) if entry.run else t("no run")
            return names[entry.run]

        drawn = [points.Point(each.entry.id, each.x, each.y, each.entry.text, group(each.entry)) for each in placed]
        if picked := points.draw(drawn, "memory-points", opened):
            address.put("entry", picked)
            st.rerun()
