"""The memory on a map: each entry a point, alike ones close together, coloured by run or by kind."""

from __future__ import annotations

import streamlit as st

from pages.parts import address, memory_filters
from pages.parts import map as points
from pages.parts.language import later, t
from research.memory import Entry, Filters
from research.workbench import Workbench

COLOURED = {"run": later("by run"), "kind": later("by kind")}
LEAST = 3
"""Fewer entries make no map."""


def draw(bench: Workbench, filters: Filters, opened: str) -> None:
    """What the filters leave, the newest; a click opens the entry."""
    placed = bench.memory.placed(filters, points.MOST)
    if len(placed) < LEAST:
        return
    with st.container(key="memory-map", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(t("Map: what is alike lies close together."), width="stretch")
            coloured = st.segmented_control(
                t("Coloured"), list(COLOURED), default="run", required=True, key="memory-coloured",
                format_func=lambda name: t(COLOURED[name]), label_visibility="collapsed", persist_state="session",
            )  # fmt: skip
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
