"""A map of points in which similar things are close and a click selects one.

Always next to a list with the same content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import altair as alt
import pandas as pd
import streamlit as st
from msgspec import Struct

from pages.parts.shared.language import t
from pages.parts.shared.table import rows_frame
from research.text import clip

MOST = 2_000
"""Maximum number of points drawn."""
GROUPS = 7
"""Maximum number of groups with their own colour, the largest ones."""
HEIGHT_PX = 260
LABEL = 160
"""Maximum characters of a label."""
# Equal lightness, distinct hues, legible on both backgrounds; the last one is for all other groups.
INK = "light-dark(#5f656b, #a4aab1)"
"""The theme's grey; the browser picks the variant."""
COLOURS = ["#3f87b5", "#c27f2f", "#4f9a68", "#9a6fb8", "#bd5f6e", "#3f9a9c", "#94804f", "#85898f"]


class Point(Struct, frozen=True):
    """One point of the map; `x` and `y` are within -1 and 1."""

    id: str
    x: float
    y: float
    label: str
    """Text shown on hover."""
    group: str
    """Meaning of the colour, translated."""


def draw(points: Sequence[Point], key: str, selected: str = "") -> str | None:
    """Draw the map and return the id of the point that was just clicked, or None."""
    shown = points[:MOST]
    groups = [name for name, _ in Counter(point.group for point in shown).most_common(GROUPS)]
    others = t("others")
    rows = [
        (
            point.id,
            point.x,
            point.y,
            clip(" ".join(point.label.split()), LABEL),
            point.group if point.group in groups else others,
            point.id == selected,
        )
        for point in shown
    ]
    if any(group == others for *_, group, _ in rows):
        groups.append(others)
    state = st.altair_chart(
        _chart(rows_frame(("id", "x", "y", "label", "group", "open"), rows), groups),
        key=key,
        on_select="rerun",
        selection_mode="picked",
        height=HEIGHT_PX,
        alt=t("Map of {n} entries by meaning; the list next to it has the same entries", n=f"{len(shown):,}"),
    )
    if len(points) > MOST:
        st.caption(t("The first {n} of {total} are shown.", n=f"{MOST:,}", total=f"{len(points):,}"))
    found = [str(each["id"]) for each in state["selection"].get("picked", [])]  # type: ignore[index]
    picked = found[0] if found else None
    # The chart keeps its selection; report only changes.
    before = st.session_state.get(f"{key}-before")
    st.session_state[f"{key}-before"] = picked
    return picked if picked != before and any(point.id == picked for point in shown) else None


def _chart(data: pd.DataFrame, groups: list[str]) -> alt.Chart:
    place = {"axis": None, "scale": alt.Scale(domain=[-1.08, 1.08], nice=False)}
    colours = [*COLOURS[: min(len(groups), GROUPS)], COLOURS[-1]][: len(groups)]
    legend = alt.Legend(title=None, orient="bottom", columns=2, labelLimit=220, labelColor=INK, padding=0)
    picked = alt.selection_point("picked", fields=["id"], on="click", toggle="false", empty=False)
    chart: alt.Chart = (
        alt.Chart(data)
        .mark_circle(opacity=0.8, cursor="pointer")
        .encode(
            x=alt.X("x:Q", **place),
            y=alt.Y("y:Q", **place),
            color=alt.Color("group:N", scale=alt.Scale(domain=groups, range=colours), legend=legend),
            size=alt.condition("datum.open", alt.value(260), alt.value(70)),
            stroke=alt.condition("datum.open", alt.value("#85898f"), alt.value("transparent")),
            strokeWidth=alt.value(2),
            tooltip=[alt.Tooltip("label:N", title=t("Text")), alt.Tooltip("group:N", title=t("Color"))],
        )
        .add_params(picked)
    )
    return chart
