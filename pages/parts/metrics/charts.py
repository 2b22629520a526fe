"""The charts of the finished runs, each with a table of the same figures."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.parts.metrics import figures
from pages.parts.metrics.figures import GROUPS
from pages.parts.shared import titles
from pages.parts.shared.language import current, t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import rows_frame, tabular
from pages.parts.shared.words import money, short
from research.ops.metrics import Day, Figures, by_cell, by_day

COLOURS = ["#3a86b8", "#8b9096"]
"""Legible in both themes; green, amber and red are reserved for outcomes and verdicts."""
OWN = {
    "Limit reached": "#dba95e",
    "Stopped": "#b4b9be",
    "Tools failed": "#e39a92",
}
"""Groups of outcomes that share a colour with another group."""
LEAST_DAYS = 14
"""Days with a column, even if runs started on fewer."""
AXIS_PX = 110
"""Height of an axis with its title: a chart that fills its width has a height in pixels, not for each row."""
CELLS = 12
"""Pairs of framework and strategy in the chart; the table has all of them."""


def endings(found: Sequence[Figures]) -> None:
    """Draw how runs end, by framework and context strategy."""
    import altair as alt

    drawn = by_cell(found)[:CELLS]
    seen = {each.outcome for each in found}
    tints = {
        t(group): OWN.get(group) or titles.TINTS[titles.look(names[0])[0]]
        for group, names in GROUPS.items()
        if seen.intersection(names)
    }
    points = [
        (
            f"{titles.framework(cell.framework)} · {titles.context(cell.context)}",
            t(group),
            place,
            sum(cell.outcomes.get(name, 0) for name in names),
        )
        for cell in drawn
        for place, (group, names) in enumerate(GROUPS.items())
        if t(group) in tints
    ]
    data = rows_frame(("cell", "ending", "place", "runs"), points)
    names = alt.Axis(labelLimit=180, labelOverlap=False)
    chart = (
        alt.Chart(data)
        .mark_bar()
        .encode(
            x=alt.X("runs:Q", title=t("Finished runs"), axis=alt.Axis(format=",d", tickMinStep=1)),
            y=alt.Y("cell:N", title=None, sort=list(dict.fromkeys(data["cell"])), axis=names),
            color=alt.Color(
                "ending:N",
                sort=list(tints),
                scale=alt.Scale(domain=list(tints), range=list(tints.values())),
                legend=alt.Legend(title=None, orient="top", columns=3, labelLimit=200),
            ),
            order="place:Q",
            tooltip=[
                alt.Tooltip("cell", title=t("Framework")),
                alt.Tooltip("ending", title=t("Outcome")),
                alt.Tooltip("runs", title=t("Finished runs"), format=",d"),
            ],
        )
        .properties(height=30 * len(drawn) + 20 * -(-len(tints) // 3) + AXIS_PX)
    )
    st.altair_chart(
        chart, alt=t("How runs end, by framework and context strategy; the table below has the same figures.")
    )
    with st.expander(t("As a table"), type="compact"):
        figures.cells(found)


def days(found: Sequence[Figures]) -> None:
    """Draw the tokens and the known cost per day."""
    known = _filled(by_day(found))
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(t("Tokens per day"), anchor=False)
        points = [
            (each.day, name, number)
            for each in known
            for name, number in ((t("input"), each.prompt_tokens), (t("output"), each.completion_tokens))
        ]
        most = max(known, key=lambda each: each.prompt_tokens + each.completion_tokens)
        tokens = short(most.prompt_tokens + most.completion_tokens)
        _bars(points, "~s", t("Tokens"), t("Tokens per day; at most {tokens}, on {day}", tokens=tokens, day=most.day))
    with right:
        st.subheader(t("Known cost per day"), anchor=False)
        if any(each.cost_usd for each in known):
            dearest = max(known, key=lambda each: each.cost_usd)
            alt = t("Known cost per day; at most {cost}, on {day}", cost=money(dearest.cost_usd), day=dearest.day)
            _bars([(each.day, "", each.cost_usd) for each in known], "$,.2f", t("US dollars"), alt)
        else:
            unknown = any(each.unknown_costs for each in known)
            st.markdown(t("No known cost.") if unknown else t("No cost: all models are free."))
    with st.expander(t("Daily figures as a table"), type="compact"):
        _table([each for each in known if each.runs])


def _filled(known: Sequence[Day]) -> list[Day]:
    """Return all days from the first to the last, and at least `LEAST_DAYS`, so that each has a column."""
    by_date = {each.day: each for each in known}
    last = known[-1].day
    number = max((last - known[0].day).days + 1, LEAST_DAYS)
    dates = [last - datetime.timedelta(days=back) for back in reversed(range(number))]
    return [by_date.get(each) or Day(each, 0, 0, 0, 0.0, 0) for each in dates]


def _bars(points: Sequence[tuple[Any, str, float]], shape: str, title: str, alt_text: str) -> None:
    import altair as alt

    data = rows_frame(("day", "what", "value"), [(pd.Timestamp(day), name, value) for day, name, value in points])
    names = list(dict.fromkeys(data["what"]))
    legend = alt.Legend(title=None, orient="top") if len(names) > 1 else None
    dates = "%d %b" if current() == "en" else "%-m月%-d日"
    tips = [alt.Tooltip("day:T", title=t("Day"), format="%Y-%m-%d"), alt.Tooltip("value:Q", title=title, format=shape)]
    chart = (
        alt.Chart(data)
        .mark_bar()
        .encode(
            x=alt.X(
                "yearmonthdate(day):O",
                title=None,
                axis=alt.Axis(format=dates, formatType="time", labelOverlap=True, labelAngle=0),
                scale=alt.Scale(paddingInner=0.25),
            ),
            y=alt.Y("value:Q", title=title, axis=alt.Axis(format=shape, tickCount=5)),
            color=alt.Color(
                "what:N", sort=names, scale=alt.Scale(domain=names, range=COLOURS[: len(names)]), legend=legend
            ),
            tooltip=[*tips, alt.Tooltip("what:N", title=t("Details"))] if len(names) > 1 else tips,
        )
        .properties(height=240, padding={"left": 5, "right": 24, "top": 5, "bottom": 5})  # room for the last date
    )
    st.altair_chart(chart, alt=alt_text)


def _table(known: Sequence[Day]) -> None:
    """Draw the daily figures, newest first."""
    head = [
        t("Day"),
        t("Finished runs"),
        t("Input tokens"),
        t("Output tokens"),
        t("Known cost"),
        t("Runs with unknown cost"),
    ]
    rows = [
        [
            f"{each.day}",
            f"{each.runs:,}",
            f"{each.prompt_tokens:,}",
            f"{each.completion_tokens:,}",
            plain(money(each.cost_usd)),
            f"{each.unknown_costs:,}",
        ]
        for each in reversed(known)
    ]
    with st.container(key="metrics-days", height=300 if len(rows) > 8 else "content"):
        st.markdown(tabular(head, rows))
