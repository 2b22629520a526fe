"""The matrix of framework and strategy, and the chart of quality against tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import pandas as pd
import streamlit as st

from pages.parts.evaluate.words import EFFORT, NUMBERS, column_of, metric, number, row_of, shown, span
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import rows_frame
from research.evaluation import Candidate, Evaluation, Figure, Plan
from research.evaluation.overview import Point, figure, points

PALE, DEEP, INK, PAPER = "#e3edf4", "#1f5f8b", "#101316", "#ffffff"
"""Both ends of the colour scale in either theme, and the text colours on them."""
MARKED: Final = ("#3a86b8", "#8b9096")
"""Colours of Pareto-optimal and dominated recipes, legible in both themes."""
SHAPES: Final = {"front": "diamond", "behind": "circle", "oracle": "cross"}
NAMED: Final = 10
"""With more recipes than this, only Pareto-optimal ones are labelled."""
ROW_PX: Final = 44
HEAD_PX, AXIS_PX = 40, 78
"""Heights of the names above a grid and of an axis with its title: a chart that fills its width has a height in pixels."""


def matrix(plan: Plan, found: Evaluation, measure: str) -> None:
    """Draw framework × strategy for one model at a time, with the metric in each cell; nothing if no two share a line."""
    places = {(row_of(each), column_of(each)) for each in plan.candidates}
    if all(len(set(line)) == len(places) for line in zip(*places, strict=True)):
        return
    st.subheader(t("Framework and strategy: {measure}", measure=metric(measure)), anchor=False)
    models = list(dict.fromkeys(each.recipe.model for each in plan.candidates))
    model = models[0]
    if len(models) > 1:
        model = st.segmented_control(
            t("Model"), models, default=models[0], key=f"evaluate-model-{plan.name}", required=True, format_func=plain
        )
    some = [each for each in plan.candidates if each.recipe.model == model]
    cells = {(row_of(each), column_of(each)): figure(found.rows[each.name], measure) for each in some}
    _heat(some, {place: value for place, value in cells.items() if value is not None}, measure)
    st.caption(
        t(
            "Darker means higher; for {measure}, lower is better. Empty cells were not measured.",
            measure=metric(measure).lower(),
        )
        if measure in EFFORT
        else t("Darker means higher. Empty cells were not measured.")
    )


def _heat(some: list[Candidate], cells: Mapping[tuple[str, str], Figure], measure: str) -> None:
    import altair as alt

    rows, columns = (list(dict.fromkeys(of(each) for each in some)) for of in (row_of, column_of))
    data = rows_frame(
        ("row", "column", "value", "text", "span", "n"),
        [
            (row, column, value.mean, number(value.mean, measure), span(value, measure), value.n)
            for (row, column), value in cells.items()
        ],
    )
    low, high = (0.0, 1.0) if measure not in NUMBERS else (0.0, max(data["value"], default=1.0) or 1.0)
    base = alt.Chart(data).encode(
        x=alt.X(
            "column:N",
            title=None,
            sort=columns,
            scale=alt.Scale(domain=columns),
            axis=alt.Axis(orient="top", labelAngle=0, labelLimit=110, labelOverlap=False),
        ),
        y=alt.Y("row:N", title=None, sort=rows, scale=alt.Scale(domain=rows), axis=alt.Axis(labelLimit=170)),
    )
    tips = [
        alt.Tooltip("row", title=t("Framework")),
        alt.Tooltip("column", title=t("Context strategy")),
        alt.Tooltip("text", title=metric(measure)),
        alt.Tooltip("span", title=t("95 % interval")),
        alt.Tooltip("n", title=t("Questions")),
    ]
    scale = alt.Scale(domain=[low, high], range=[PALE, DEEP])
    every = rows_frame(("row", "column"), [(row, column) for row in rows for column in columns])
    frames = base.properties(data=every).mark_rect(stroke=MARKED[1], strokeWidth=0.5, fillOpacity=0)
    fill = base.mark_rect(stroke=MARKED[1], strokeWidth=0.5).encode(
        color=alt.Color("value:Q", scale=scale, legend=None), tooltip=tips
    )
    ink = alt.condition(f"datum.value > {low + 0.5 * (high - low)}", alt.value(PAPER), alt.value(INK))
    figures = base.mark_text(fontSize=14, fontWeight=600).encode(text="text:N", color=ink, tooltip=tips)
    description = "; ".join(f"{row} / {column}: {number(each.mean, measure)}" for (row, column), each in cells.items())
    st.altair_chart((frames + fill + figures).properties(height=ROW_PX * len(rows) + HEAD_PX), alt=description)


def forest(plan: Plan, found: Evaluation, measure: str, names: Mapping[str, str]) -> None:
    """Draw the value of each recipe as a point with its interval, the best recipe on top."""
    import altair as alt

    st.subheader(t("{measure} by recipe", measure=metric(measure)), anchor=False)
    values = {each.name: figure(found.rows[each.name], measure) for each in plan.candidates}
    known = {name: value for name, value in values.items() if value is not None}
    if not known:
        st.markdown(t("No data yet."))
        return
    order = sorted(known, key=lambda name: known[name].mean, reverse=measure not in EFFORT)
    scale = 1 if measure in NUMBERS else 100
    data = rows_frame(
        ("recipe", "x", "low", "high", "text", "span", "n"),
        [
            (
                names[name],
                scale * value.mean,
                *(scale * end for end in value.interval or (value.mean, value.mean)),
                number(value.mean, measure),
                span(value, measure),
                value.n,
            )
            for name, value in ((name, known[name]) for name in order)
        ],
    )
    title = metric(measure) if measure in NUMBERS else t("{measure}, %", measure=metric(measure))
    ends = alt.Scale(zero=True) if measure in NUMBERS else alt.Scale(domain=[0, 100])
    base = alt.Chart(data).encode(
        y=alt.Y("recipe:N", title=None, sort=list(data["recipe"]), axis=alt.Axis(labelLimit=240)),
        tooltip=[
            alt.Tooltip("recipe", title=t("Recipe")),
            alt.Tooltip("text", title=metric(measure)),
            alt.Tooltip("span", title=t("95 % interval")),
            alt.Tooltip("n", title=t("Questions")),
        ],
    )
    reach = base.mark_rule(color=MARKED[0], strokeWidth=2).encode(
        x=alt.X("low:Q", title=title, scale=ends, axis=alt.Axis(tickCount=5)), x2="high:Q"
    )
    dots = base.mark_point(color=MARKED[0], filled=True, size=110, opacity=1).encode(x=alt.X("x:Q", title=title))
    words = base.mark_text(dy=-13, fontSize=13, fontWeight=600, color=MARKED[1]).encode(
        x=alt.X("x:Q", title=title), text="text:N"
    )
    described = "; ".join(
        t("{name}: {value}", name=names[name], value=number(known[name].mean, measure))
        + t(" ({n})", n=span(known[name], measure))
        for name in order
    )
    st.altair_chart((reach + dots + words).properties(height=ROW_PX * len(order) + AXIS_PX), alt=described)
    st.caption(
        t(
            "Each line is a 95 % interval. Recipes are compared question by question, so a difference can be certain even "
            "where lines overlap."
        )
    )


def scatter(plan: Plan, found: Evaluation, measure: str, names: Mapping[str, str]) -> None:
    """Draw quality against cost; the Pareto front holds the recipes that no other recipe beats in both."""
    quality = measure if measure not in EFFORT else "right"
    known = points(plan, found, quality)
    st.subheader(t("{measure} against tokens", measure=metric(quality)), anchor=False)
    if not known:
        st.markdown(t("No data yet."))
        return
    ahead = [each for each in sorted(known, key=lambda point: point.tokens.mean) if each.front]
    optimal = t(", ").join(f"{names[each.name]}{t(' ({n})', n=shown(each.quality, quality))}" for each in ahead)
    oracles = {each.name for each in plan.candidates if each.oracle}
    _dots(known, quality, names, oracles, t("Fewest tokens for their quality: {recipes}", recipes=optimal))
    st.caption(t("No other recipe does as well with fewer tokens: {recipes}.", recipes=plain(optimal)))


def _dots(
    known: Sequence[Point], quality: str, names: Mapping[str, str], oracles: Collection[str], alt_text: str
) -> None:
    """Draw each recipe as a numbered point with its interval, distinguished by shape as well as colour."""
    import altair as alt

    kinds = {"front": t("best for its cost"), "behind": t("another is better for less"), "oracle": t("oracle")}
    kind_of = ["oracle" if each.name in oracles else "front" if each.front else "behind" for each in known]
    share = quality not in NUMBERS
    data = _rows(known, quality, names, [kinds[kind] for kind in kind_of])
    title = t("{measure}, %", measure=metric(quality)) if share else metric(quality)
    ends = alt.Scale(domain=[0, 110], nice=False) if share else alt.Scale(zero=True)
    y = alt.Y("y:Q", title=title, scale=ends, axis=alt.Axis(values=[0, 25, 50, 75, 100]) if share else alt.Axis())
    base = alt.Chart(data).encode(
        x=alt.X(
            "x:Q",
            title=t("Tokens per question"),
            scale=alt.Scale(zero=False, padding=36),
            axis=alt.Axis(format="~s", tickCount=5),
        )
    )
    present = [name for name in kinds if name in kind_of]
    domain, legend = [kinds[name] for name in present], alt.Legend(title=None, orient="top")
    shape = alt.Scale(domain=domain, range=[SHAPES[name] for name in present])
    colour = alt.Scale(domain=domain, range=[MARKED[name != "front"] for name in present])
    reach = base.mark_rule(color=MARKED[1], opacity=0.5).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    front = (
        base.transform_filter(alt.datum.kind == kinds["front"])
        .mark_line(color=MARKED[0], interpolate="step-after", strokeDash=[4, 3])
        .encode(y=y)
    )
    dots = base.mark_point(size=130, filled=True, opacity=1).encode(
        y=y,
        shape=alt.Shape("kind:N", legend=legend, scale=shape),
        color=alt.Color("kind:N", legend=legend, scale=colour),
        tooltip=[
            alt.Tooltip("recipe", title=t("Recipe")),
            alt.Tooltip("quality", title=metric(quality)),
            alt.Tooltip("span", title=t("95 % interval")),
            alt.Tooltip("tokens", title=t("Tokens")),
            alt.Tooltip("kind", title=t("Beside the others")),
        ],
    )
    named = base if len(known) <= NAMED else base.transform_filter(alt.datum.kind == kinds["front"])
    marks = named.mark_text(
        align="left", dx=6, dy=-11, fontSize=13, fontWeight=600, color=MARKED[1], limit=70, tooltip=None
    ).encode(y=y, text="place:N")
    st.altair_chart((reach + front + dots + marks).properties(height=300), alt=alt_text)


def _rows(known: Sequence[Point], quality: str, names: Mapping[str, str], kinds: Sequence[str]) -> pd.DataFrame:
    """Return one row per recipe; recipes at the same point share a label."""
    places: dict[tuple[float, float], str] = {}
    for each in known:  # several recipes may share a point
        at, place = (each.tokens.mean, each.quality.mean), names[each.name].partition(" ")[0]
        places[at] = f"{places[at]}, {place}" if at in places else place
    scale = 1 if quality in NUMBERS else 100
    return rows_frame(
        ("place", "recipe", "kind", "x", "y", "low", "high", "tokens", "quality", "span"),
        [
            (
                places[each.tokens.mean, each.quality.mean],
                names[each.name],
                kind,
                each.tokens.mean,
                scale * each.quality.mean,
                *(scale * end for end in each.quality.interval or (each.quality.mean,) * 2),
                shown(each.tokens, "tokens"),
                shown(each.quality, quality),
                span(each.quality, quality),
            )
            for each, kind in zip(known, kinds, strict=True)
        ],
    )
