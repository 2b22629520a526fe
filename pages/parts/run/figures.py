"""The charts of an answer that compares things or follows years, with their figures as a table and as files."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from pages.parts.run.downloads import file_name
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import frame, tabular
from research.events.view import RunView
from research.exports.charts import Chart, as_csv, charts
from research.exports.drawing import COLOURS, png

DARK = ("#7fb8de", "#e0a75a", "#6cc48d", "#b59ad6", "#f0857b", "#a4aab1", "#63c5c5", "#d8bd5a")
"""The colours of lines on the dark page; `COLOURS` are those on the light one."""
BOTH = tuple(f"light-dark({light}, {dark})" for light, dark in zip(COLOURS, DARK, strict=True))
"""The browser chooses: the theme may change without a rerun."""
INK = "var(--ink)"


def draw(view: RunView) -> None:
    """Draw the charts; `view` has the numbers of the reader.  Nothing for an answer with nothing to compare."""
    for place, chart in enumerate(charts(view)):
        with st.container(key=f"chart-{place}", gap="xsmall"):
            st.subheader(plain(chart.name), anchor=False)
            told = "; ".join(
                t("{name}: {value}", name=chart.label(point), value=point.written) for point in chart.points
            )
            st.altair_chart(_bars(chart) if chart.kind == "bars" else _lines(chart), alt=plain(told))
            if not chart.tabled:
                _table(chart)
            with st.container(horizontal=True, gap="xsmall"):
                _file(view, chart, place, "CSV", "csv", "text/csv")
                _file(view, chart, place, "PNG", "png", "image/png")


def _table(chart: Chart) -> None:
    head = ["", *([t("Year")] if chart.dated else []), t("Value"), t("Source")]
    rows = [
        [
            plain(point.subject),
            *([str(point.year or "–")] if chart.dated else []),
            plain(point.written),
            f"[{point.n}](#source-{point.n})",
        ]
        for point in chart.points
    ]
    st.markdown(tabular(head, rows), anchors=False)


def _file(view: RunView, chart: Chart, place: int, label: str, suffix: str, mime: str) -> None:
    st.download_button(
        label,
        partial(as_csv if suffix == "csv" else png, chart),
        f"{file_name(view)}-{place + 1}.{suffix}",
        mime,
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
        key=f"chart-{suffix}-{view.run}-{place}",
    )


def _bars(chart: Chart) -> Any:
    import altair as alt

    rows = frame(
        {
            "name": [chart.label(point) for point in chart.points],
            "value": [point.value for point in chart.points],
            "written": [point.written for point in chart.points],
        }
    )
    names = rows["name"].tolist()
    base = alt.Chart(rows).encode(
        y=alt.Y(
            "name:N", sort=names, title=None, axis=alt.Axis(labelLimit=220, labelColor=INK, domain=False, ticks=False)
        ),
        x=alt.X("value:Q", axis=None, scale=alt.Scale(nice=False, padding=0)),
    )
    bars = base.mark_bar(height=20, cornerRadiusEnd=3, color=BOTH[0])
    words = base.mark_text(align="left", dx=5, color=INK).encode(text="written:N")
    return (bars + words).properties(height=alt.Step(32), padding={"right": 110}).configure_view(stroke=None)


def _lines(chart: Chart) -> Any:
    import altair as alt

    rows = frame(
        {
            "subject": [point.subject for point in chart.points],
            "year": [point.year for point in chart.points],
            "value": [point.value for point in chart.points],
            "written": [point.written for point in chart.points],
        }
    )
    subjects = list(dict.fromkeys(rows["subject"].tolist()))
    return (
        alt.Chart(rows)
        .mark_line(point=True, strokeWidth=2.5)
        .encode(
            x=alt.X("year:O", title=None, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
            color=alt.Color(
                "subject:N",
                title=None,
                sort=subjects,
                scale=alt.Scale(domain=subjects, range=[BOTH[n % len(BOTH)] for n in range(len(subjects))]),
                legend=alt.Legend(orient="top") if len(subjects) > 1 else None,
            ),
            tooltip=["subject:N", "year:O", "written:N"],
        )
        .properties(height=260)
    )
