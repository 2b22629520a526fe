"""A comparison: its runs side by side, live until the last one has ended."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts.compare import columns as compare_runs
from pages.parts.compare import heads as compare_heads
from pages.parts.compare import numbers, reports, verdict
from pages.parts.compare import steps as compare_steps
from pages.parts.compare.columns import Column
from pages.parts.run import downloads
from pages.parts.shared.language import later, spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import when
from research.compare.forks import CommonRounds
from research.compare.numbers import differences
from research.errors import ConfigError
from research.exports.comparison import markdown
from research.store.saved import Comparison
from research.text import clip
from research.workbench.workbench import Workbench

TITLE = 300
"""Maximum characters of the question above the comparison."""
TICK_S, REST_S = 0.7, 4.0
"""Polling intervals in seconds while runs are active, and when none is (for changes made by other users)."""
UNLIKE = {
    "question": later("These runs answered different questions."),
    "budget": later("These runs had different budgets."),
}


def show(bench: Workbench, key: str) -> None:
    """Draw the comparison with that id, or an error if it does not exist."""
    try:
        comparison = bench.saved.comparison(key)
    except ConfigError as error:
        st.error(plain(spoken(error)), title=t("Comparison not found"))
        st.button(t("All comparisons"), icon=":material/arrow_back:", on_click=_leave)
        return
    columns = compare_runs.columns(bench, comparison)
    _top(bench, comparison, columns)
    chosen = st.session_state.get("compare-shown", 1)
    with st.container(key=f"compare-only-{chosen}", gap="small"):
        _switch(columns)
        heads = st.container(key="compare-heads")
        steps, doing, rest = st.container(), st.container(key="compare-doing"), st.container(gap="small")
    _follow(bench, comparison, columns, heads, doing)  # drawn first, because readers look there first
    common = compare_runs.common(bench, columns)
    with steps:
        if any(column.working for column in columns):
            _steps(columns, common)
        else:
            verdict.draw(columns)
            st.subheader(t("Metrics"), anchor=False)
            numbers.table(columns)
    with rest:
        st.subheader(t("Answers"), anchor=False)
        reports.draw(columns)
        reports.opinions(bench, comparison, columns)
        # Forks are identical up to a round, so the differences after it are what matters.
        reports.differences(columns, opened=bool(common))
        if any(column.working for column in columns):
            st.subheader(t("Metrics"), anchor=False)
            numbers.table(columns)
        else:
            st.subheader(t("Steps"), anchor=False)
            _steps(columns, common)
        numbers.charts(columns)
        st.subheader(t("Sources"), anchor=False)
        numbers.shared_sources(columns)


def _steps(columns: list[Column], common: CommonRounds | None) -> None:
    if common and common.rounds:
        compare_steps.shared_rounds(columns, common)
    compare_steps.draw(columns, common.rounds if common else 0)


def _follow(
    bench: Workbench, comparison: Comparison, columns: list[Column], heads: DeltaGenerator, doing: DeltaGenerator
) -> None:
    """Update the headers and the words being written from the store; everything else is drawn once with the page."""
    working = any(column.working for column in columns)
    drawn = _signature(bench, comparison, columns)
    by_timer = False

    @st.fragment(run_every=TICK_S if working else REST_S)
    def follow() -> None:
        nonlocal by_timer
        if by_timer:
            for column in columns:
                compare_runs.refresh(bench, column)
            if _signature(bench, comparison, columns) != drawn:
                st.rerun()
        by_timer = True
        with heads:
            compare_heads.draw(bench, columns)
        with doing:
            compare_steps.now(columns)

    follow()


def _signature(bench: Workbench, comparison: Comparison, columns: list[Column]) -> object:
    return [column.signature for column in columns], bench.saved.opinions(comparison.id)


def _top(bench: Workbench, comparison: Comparison, columns: list[Column]) -> None:
    """Draw the question, the actions for the whole comparison, and warnings about runs that are not comparable."""
    with st.container(key="page-title"):
        st.title(plain(clip(" ".join(comparison.question.split()), TITLE)), anchor=False)
    views = [column.view for column in columns if column.row is not None]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            t("Compared {when}. Copy the page address to share it.", when=when(comparison.created)), width="stretch"
        )
        if working := [column.run for column in columns if column.working]:
            st.button(
                t("Stop all"),
                key="compare-stop-all",
                icon=":material/stop:",
                on_click=compare_heads.stop,
                args=(bench, working),
            )
        downloads.papers(
            lambda: markdown(comparison, views, bench.saved.opinions(comparison.id)), f"comparison-{comparison.id}"
        )
        st.button(t("New comparison"), key="compare-new", icon=":material/add:", on_click=_leave)
    for each in differences(views):
        st.warning(t(UNLIKE[each]), title=t("Not directly comparable"))


def _leave() -> None:
    # A page link to the open page would not change the address.
    st.query_params.pop("id", None)


def _switch(columns: list[Column]) -> None:
    """Draw the selector for the run that a narrow screen shows."""
    with st.container(key="compare-switch"):
        st.segmented_control(
            t("Run to show"),
            [column.place for column in columns],
            default=1,
            key="compare-shown",
            required=True,
            format_func=lambda place: columns[place - 1].name,
            label_visibility="collapsed",
            width="stretch",
        )
