"""A comparison: its runs side by side, live until the last has ended."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts import compare_heads, compare_numbers, compare_reports, compare_runs, compare_steps
from pages.parts.compare_runs import Column
from pages.parts.language import later, t
from pages.parts.safe import plain
from pages.parts.words import when
from research.comparing import differences
from research.desk import Comparison
from research.errors import ConfigError
from research.exports.comparison import markdown
from research.workbench import Workbench

TICK_S, REST_S = 0.7, 4.0
"""How often runs at work are looked at; when all rest, how often for what others changed."""
UNLIKE = {
    "question": later("The runs were not asked the same question."),
    "budget": later("The runs do not have the same budget."),
}


def show(bench: Workbench, key: str) -> None:
    """The comparison of that id, or the reason why there is none."""
    try:
        comparison = bench.desk.comparison(key)
    except ConfigError as error:
        st.error(plain(str(error)), title=t("No such comparison"))
        st.button(t("All comparisons"), icon=":material/arrow_back:", on_click=_leave)
        return
    columns = compare_runs.columns(bench, comparison)
    _top(bench, comparison, columns)
    chosen = st.session_state.get("compare-shown", 1)
    with st.container(key=f"compare-only-{chosen}", gap="small"):
        _switch(columns)
        heads = st.container(key="compare-heads")
        steps, doing, rest = st.container(), st.container(key="compare-doing"), st.container(gap="small")
    _follow(bench, comparison, columns, heads, doing)  # first, because people look there first
    common = compare_runs.common(bench, columns)
    with steps:
        if common:
            # They went the same way up to there: what came of going on differently is what is asked for.
            compare_reports.apart(columns, opened=True)
        if common and common.rounds:
            compare_steps.shared(columns, common)
        compare_steps.draw(columns, common.rounds if common else 0)
    with rest:
        compare_reports.draw(columns)
        compare_reports.opinions(bench, comparison, columns)
        if not common:
            compare_reports.apart(columns)
        st.subheader(t("Numbers"), anchor=False)
        compare_numbers.table(columns)
        compare_numbers.charts(columns)
        st.subheader(t("Sources"), anchor=False)
        compare_numbers.shared(columns)


def _follow(
    bench: Workbench, comparison: Comparison, columns: list[Column], heads: DeltaGenerator, doing: DeltaGenerator
) -> None:
    """Heads and the words being written follow the store; what is there to stay is drawn once, with the whole page."""
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
    return [column.signature for column in columns], bench.desk.opinions(comparison.id)


def _top(bench: Workbench, comparison: Comparison, columns: list[Column]) -> None:
    """The question, what can be done with the whole, and what keeps the runs from being compared."""
    st.subheader(plain(comparison.question), anchor=False)
    views = [column.view for column in columns if column.row is not None]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            t("Compared {when}; the address of this page is its link", when=when(comparison.created)), width="stretch"
        )
        if working := [column.run for column in columns if column.working]:
            st.button(t("Stop all"), key="compare-stop-all", icon=":material/stop:", on_click=compare_heads.stop,
                      args=(bench, working))  # fmt: skip
        st.download_button(
            t("Export Markdown"), lambda: markdown(comparison, views, bench.desk.opinions(comparison.id)),
            f"comparison-{comparison.id}.md", "text/markdown", key="compare-export", icon=":material/download:",
            on_click="ignore",
        )  # fmt: skip
        st.button(t("New comparison"), key="compare-new", icon=":material/add:", on_click=_leave)
    for each in differences(views):
        st.warning(t(UNLIKE[each]), title=t("Compare with care"))


def _leave() -> None:
    # A link to the page itself would leave the address as it is.
    st.query_params.pop("id", None)


def _switch(columns: list[Column]) -> None:
    """Which run a narrow screen shows."""
    with st.container(key="compare-switch"):
        st.segmented_control(
            t("Shown run"), [column.place for column in columns], default=1, key="compare-shown", required=True,
            format_func=lambda place: columns[place - 1].name, label_visibility="collapsed", width="stretch",
        )  # fmt: skip
