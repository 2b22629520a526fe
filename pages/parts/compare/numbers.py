"""The metrics of the runs: a table, two charts, and the sources they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import streamlit as st
from msgspec import structs

from pages.parts.compare.columns import Column
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import rows_frame, tabular
from pages.parts.shared.words import VERDICTS, count, lasted, money, times
from research.compare.numbers import Figures, costs, figures, requests, sources
from research.compare.run_verdict import CLEAR, CLEAR_S, clearly_more
from research.events.view import RunView
from research.exports.charts import headline
from research.exports.progress import OUTCOMES
from research.text import clip
from research.types import HOLDS

COLOURS = ["#3a86b8", "#8b9096", "#9673c9", "#2f9e8f"]
"""Chart colours of the runs, legible in both themes; green, amber and red are reserved for verdicts."""
BETTER = ":green[:material/check:]"
NOTHING = "–"
"""A cell without a value; a row of nothing else is left out."""
LISTED = 30
"""Maximum number of sources listed per group."""


class Metric(NamedTuple):
    """A row of the table."""

    title: str
    value: Callable[[Figures], str]
    less: Callable[[Figures], float | None] | None = None
    """The amount, if less is better."""
    clear: float = 0.0
    """Share by which an effort must differ to count, compared only between runs that answered in full; 0: no effort."""


def table(columns: Sequence[Column]) -> None:
    """Draw one row per metric and one column per run; the better value of ended runs is marked."""
    found = [_figures(column.view) if column.row else None for column in columns]
    over = all(each is None or each.outcome for each in found)
    drawn = [(each.title, _cells(each, found, over)) for each in _metrics()]
    rows = [[title, *cells] for title, cells in drawn if any(cell not in ("", NOTHING) for cell in cells)]
    with st.container(key="compare-figures", gap="xsmall"):
        st.markdown(tabular([t("Metric"), *(column.name for column in columns)], rows))
        if any(f"{BETTER} **" in cell for row in rows for cell in row):
            st.caption(
                t(
                    ":green[:material/check:] marks the better value where the difference is clear; of effort, only runs "
                    "that answered in full count."
                )
            )


def _figures(view: RunView) -> Figures:
    """Return the numbers of a run, with the short answer as on the run's page."""
    return structs.replace(figures(view), short=headline(view) if view.short else "")


def _cells(metric: Metric, found: Sequence[Figures | None], over: bool) -> list[str]:
    """Return the cells of a row; an empty one for a deleted run."""
    cells = [metric.value(each) if each else "" for each in found]
    amounts = [
        metric.less(each) if metric.less and each and (each.outcome == "answered" or not metric.clear) else None
        for each in found
    ]
    known = [each for each in amounts if each is not None]
    if not over or not known or not clearly_more(max(known), min(known), metric.clear):
        return cells
    return [
        cell if amount is None or clearly_more(amount, min(known), metric.clear) else f"{BETTER} **{cell}**"
        for cell, amount in zip(cells, amounts, strict=True)
    ]


def _metrics() -> list[Metric]:
    def tokens(each: Figures, number: int) -> str:
        return t("about {tokens}", tokens=f"{number:,}") if each.estimated else f"{number:,}"

    return [
        Metric(t("Outcome"), lambda each: plain(t(OUTCOMES[each.outcome]).partition(";")[0]) if each.outcome else ""),
        Metric(t("Answer"), lambda each: plain(clip(each.short, 80)) or (NOTHING if each.outcome else "")),
        Metric(
            t("Parts answered"),
            lambda each: t("{good} of {all}", good=each.parts[0], all=each.parts[1]) if each.parts else "",
            lambda each: -each.parts[0] / max(1, each.parts[1]) if each.parts else None,
        ),
        Metric(t("Citations"), _verdicts, lambda each: denied(each.citations)),
        Metric(
            t("Statements without a source"),
            lambda each: "" if each.uncited is None else f"{each.uncited:,}",
            lambda each: each.uncited,
        ),
        Metric(t("Tokens"), lambda each: tokens(each, each.tokens), lambda each: each.tokens, CLEAR),
        Metric(t("Cost"), lambda each: plain(money(each.cost_usd)), lambda each: each.cost_usd, CLEAR),
        Metric(t("Time"), lambda each: lasted(each.seconds), lambda each: round(each.seconds, 1), CLEAR_S),
        Metric(t("Rounds"), lambda each: f"{each.rounds:,}"),
        Metric(t("Model calls"), lambda each: f"{each.model_calls:,}", lambda each: each.model_calls, CLEAR),
        Metric(t("Tool calls"), lambda each: f"{each.tool_calls:,}"),
        Metric(t("Input tokens"), lambda each: tokens(each, each.prompt_tokens)),
        Metric(t("Output tokens"), lambda each: tokens(each, each.completion_tokens)),
        Metric(t("Sources read"), lambda each: f"{each.sources:,}"),
        Metric(t("Sources cited"), lambda each: f"{each.cited:,}"),
    ]


def denied(citations: Mapping[str, int] | None) -> int | None:
    """Return how many citations lack support in their source; None if nothing is cited."""
    if not citations or not any(citations.values()):
        return None
    return sum(number for status, number in citations.items() if status not in HOLDS)


def _verdicts(each: Figures) -> str:
    """Return the number of citations per verdict, with the icons used on every page."""
    found = [(status, number) for status, number in (each.citations or {}).items() if number]
    words = " · ".join(
        f":{VERDICTS[status][0]}[:material/{VERDICTS[status][1]}:] {times(number, status)}" for status, number in found
    )
    return words or (NOTHING if each.outcome else "")


def charts(columns: Sequence[Column]) -> None:
    """Draw the prompt tokens per request and the cumulative cost."""
    prompts = [(column.name, each.number, each.prompt_tokens) for column in columns for each in requests(column.view)]
    spent = [(column.name, n, usd) for column in columns for n, usd in enumerate(costs(column.view), 1)]
    left, right = st.columns(2, gap="large")
    with left:
        st.caption(t("Prompt tokens per request"))
        if prompts:
            most = max(prompts, key=lambda each: each[2])
            alt = t("Prompt tokens per request; at most {tokens}, in {run}", tokens=f"{most[2]:,}", run=most[0])
            _lines(prompts, t("Request"), t("Tokens"), alt)
    with right:
        st.caption(t("Cost so far (US dollars)"))
        unknown = [column.name for column in columns if column.view.cost_usd is None]
        if spent and any(usd for _, _, usd in spent):
            alt = t("Cost after each request; at most {cost}", cost=money(max(usd for _, _, usd in spent)))
            _lines(spent, t("Request"), t("US dollars"), alt)
        elif not unknown:
            st.markdown(t("No cost: all models are free."))
        if unknown:
            st.markdown(t("Price unknown: {runs}", runs=t(", ").join(unknown)))


def _lines(points: Sequence[tuple[str, int, float]], x: str, y: str, alt: str) -> None:
    import altair as alt_

    data = rows_frame(("run", "x", "y"), [(name.replace("\\", ""), *rest) for name, *rest in points])
    run = alt_.Legend(title=None, orient="bottom", columns=1, labelLimit=400)
    chart = (
        alt_.Chart(data)
        .mark_line(point=True)
        .encode(
            x=alt_.X("x:Q", title=x, axis=alt_.Axis(tickMinStep=1, format="d")),
            y=alt_.Y("y:Q", title=y),
            color=alt_.Color("run:N", legend=run, scale=alt_.Scale(range=COLOURS)),
            strokeDash=alt_.StrokeDash("run:N", legend=run),  # distinguishable without colour too
            tooltip=["run", "x", "y"],
        )
        .properties(height=260)
    )
    st.altair_chart(chart, alt=alt)


def shared_sources(columns: Sequence[Column]) -> None:
    """Draw the sources that every run read, those that several read, and those that only one read."""
    pages = sources([column.view for column in columns])
    common = [page for page in pages if len(page.runs) == len(columns)]
    st.caption(t("{common} of {all} read by every run", common=count(len(common), "source"), all=f"{len(pages):,}"))
    several = [page for page in pages if 1 < len(page.runs) < len(columns)]
    groups = [(name, group) for name, group in ((t("In all"), common), (t("In several"), several)) if group]
    for place, column in enumerate(columns):
        alone = [page for page in pages if page.runs == (place,)]
        if alone:
            groups.append((t("Only {run}", run=column.name), alone))
    for name, group in groups:
        with st.expander(t("{name}: {value}", name=name, value=f"{len(group):,}"), type="compact"):
            lines = []
            for page in group[:LISTED]:
                held = zip(page.numbers, page.cited, columns, strict=True)
                where = [_where(own, cited, column) for own, cited, column in held if own]
                lines.append(f"- {plain(clip(page.title or page.url, 120))} :gray[:small[{' · '.join(where)}]]")
            st.markdown("\n".join(lines))
            if len(group) > LISTED:
                st.caption(t("and {number} more", number=f"{len(group) - LISTED:,}"))


def _where(numbers: tuple[int, ...], cited: bool, column: Column) -> str:
    marks = " ".join(f"\\[{n}\\]" for n in numbers)
    return t("{run}: {marks} cited", run=column.place, marks=marks) if cited else f"{column.place}: {marks}"
