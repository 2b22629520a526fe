"""The figures of the finished runs, and links to the runs behind them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

import streamlit as st

from pages.parts.metrics.filters import link_parameters
from pages.parts.shared import titles
from pages.parts.shared.language import later, spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import tabular
from pages.parts.shared.words import count, lasted, money, short, tool_title
from research.errors import ConfigError
from research.ops.alerts import alerts, parse
from research.ops.metrics import Figures, Metrics, Times, by_cell, by_tool, combined
from research.ops.metrics import times as measured
from research.store import RunRow
from research.text import clip
from research.types import Outcome

RUNS = "pages/runs.py"
MOST = 5
"""Runs listed per category."""
SPARKS = 14
"""Days of a sparkline: the last ones with runs."""
COLUMNS = "▁▂▃▄▅▆▇█"
GROUPS: dict[str, tuple[Outcome, ...]] = {
    later("Answered"): ("answered",),
    later("Partly answered"): ("partly_answered", "rejected"),
    later("Limit reached"): ("rounds", "tokens", "cost", "time", "loop"),
    later("No answer found"): ("no_evidence",),
    later("Stopped"): ("stopped",),
    later("Tools failed"): ("tool_errors",),
    later("Failed"): ("failed",),
}
"""Outcomes grouped as on this page, by title; those of a group have one colour on every page."""


def headline(found: Sequence[Figures], rows: Sequence[RunRow], checks: int) -> None:
    """Draw the figures of all these runs together; `checks` of reports are not included."""
    all_ = combined(found)
    if all_ is None:
        return
    days = [each for group in _by_day(found) if (each := combined(group))]
    tiles: list[tuple[str, str, str, Callable[[Metrics], float]]] = [
        (
            t("Finished runs"),
            f"{all_.runs:,}",
            t(
                "Runs that are active, that you paused, or that wait for a reply are not included. What stopped at an error "
                "counts as failed."
            ),
            lambda each: each.runs,
        ),
        (
            t("Average rounds"),
            f"{all_.average_rounds:.1f}",
            t("Counted as on the page of a run."),
            lambda each: each.average_rounds,
        ),
        (
            t("Tool calls failed"),
            f"{all_.tool_failure_rate:.1%}",
            t("Out of {calls}.", calls=count(all_.tool_calls, "tool call")),
            lambda each: each.tool_failure_rate,
        ),
        (
            t("Median time"),
            lasted(all_.seconds_p50),
            t("Working time, without pauses and waiting."),
            lambda each: each.seconds_p50,
        ),
        (
            t("Tokens"),
            short(all_.prompt_tokens + all_.completion_tokens),
            t("Input and output tokens of all models."),
            lambda each: each.prompt_tokens + each.completion_tokens,
        ),
        (t("Known cost"), plain(money(all_.cost_usd)), _unknown(all_.unknown_costs), lambda each: each.cost_usd),
    ]
    verified = sum(each.verified for each in found)
    with st.container(key="metrics-tiles", horizontal=True, gap="small"):
        st.metric(
            t("Verified answers"),
            t("{n} of {all}", n=f"{verified:,}", all=f"{all_.runs:,}"),
            help=t("Runs that answered, and in which a source supports every statement that cites one."),
            width=160,
            border=True,
        )
        for label, value, note, of in tiles:
            line = _sparkline([of(each) for each in days[-SPARKS:]])
            st.metric(label, value, line, delta_color="off", delta_arrow="off", help=note, width=160, border=True)
    at_work = sum(row.status in ("queued", "running") for row in rows)
    if at_work:
        st.caption(t("{runs} still running", runs=count(at_work, "run")))
    if checks:
        st.caption(t("Not counted: {checks}", checks=count(checks, "report check")))


def _sparkline(values: Sequence[float]) -> str | None:
    """Return the values as columns: `▁▃█`; None for values that never change."""
    low, high = min(values), max(values)
    if low == high:
        return None
    low = min(0.0, low)
    return "".join(COLUMNS[round((each - low) / (high - low) * (len(COLUMNS) - 1))] for each in values)


def _by_day(found: Sequence[Figures]) -> list[list[Figures]]:
    """Return the figures of each day with runs, oldest first."""
    days: dict[datetime.date, list[Figures]] = {}
    for each in sorted(found, key=lambda one: one.started):
        days.setdefault(datetime.datetime.fromtimestamp(each.started).date(), []).append(each)
    return list(days.values())


ALERTS = {
    "rounds_with_tools": later("**Average tool rounds** are {value}, above {limit}"),
    "multi_round": later("**Multi-round runs**: {value} of the runs, above {limit}"),
    "tool_failures": later("**Tool calls failed**: {value}, above {limit}"),
    "seconds": later("**Average time** is {value}, above {limit}"),
}
"""The warning on a metric above its threshold."""


def above_thresholds(found: Sequence[Figures], thresholds: str) -> None:
    """Draw a warning with the metrics that are above the thresholds of the settings."""
    all_ = combined(found)
    try:
        above = alerts(all_, parse(thresholds)) if all_ else []
    except ConfigError as error:
        st.warning(plain(spoken(error)))
        return
    if above:
        lines = [
            t(ALERTS[each.name], value=_as(each.name, each.value), limit=_as(each.name, each.threshold))
            for each in above
        ]
        st.warning("  \n".join(lines), icon=":material/notifications:")


def _as(name: str, value: float) -> str:
    if name == "seconds":
        return lasted(value)
    return f"{value:.2g}" if name == "rounds_with_tools" else f"{value:.1%}"


def _unknown(runs: int) -> str:
    if not runs:
        return t("All prices are known.")
    return t("Excludes {runs} with unknown prices.", runs=count(runs, "run"))


def times(found: Sequence[Figures]) -> None:
    """Draw the times of runs, model calls and tools, and the failure rate of each tool."""
    st.subheader(t("Times and failures"), anchor=False)
    head = [t("Activity"), t("Calls"), t("Failed"), t("Half within"), t("9 of 10 within"), t("99 of 100 within")]
    rows = [
        _row(t("Whole run"), measured(each.seconds for each in found)),
        _row(t("Reply of the model"), measured(took for each in found for took in each.replies)),
        *(
            _row(
                plain(clip(tool_title(each.name), 40)),
                each.times,
                f"{each.calls:,}",
                f"{each.failed / each.calls:.1%}",
            )
            for each in by_tool(found)
        ),
    ]
    with st.container(key="metrics-times"):
        st.markdown(tabular(head, rows))
    st.caption(t("Cached results count as calls but not towards times."))


def _row(name: str, found: Times, calls: str = "", failed: str = "") -> list[str]:
    return [name, calls or f"{found.count:,}", failed, *(map(lasted, (found.p50, found.p90, found.p99)))]


def endings(found: Sequence[Figures], checks: int) -> None:
    """Draw the number of runs per outcome, each linking to those runs; `checks` of reports are not included."""
    st.subheader(t("How runs end"), anchor=False)
    outcomes = [each.outcome for each in found]
    counted = {"framework": sorted({each.framework for each in found})} if checks else {}
    with st.container(key="metrics-endings", horizontal=True, gap="small"):
        for name in titles.ENDINGS:
            if number := sum(each == name for each in outcomes):
                label = t(
                    "{ending}: {n} ({share})",
                    ending=t(titles.ENDINGS[name]),
                    n=f"{number:,}",
                    share=f"{number / len(outcomes):.0%}",
                )
                st.page_link(RUNS, label=label, query_params=link_parameters(outcome=name, **counted), width="content")


def cells(found: Sequence[Figures]) -> None:
    """Draw the outcomes by framework and context strategy as a table."""
    head = [t("Framework"), t("Context"), t("Finished runs"), *map(t, GROUPS), t("Rounds"), t("Median")]
    rows = [
        [
            plain(titles.framework(each.framework)),
            plain(titles.context(each.context)),
            f"{each.metrics.runs:,}",
            *(f"{sum(each.outcomes.get(name, 0) for name in names):,}" for names in GROUPS.values()),
            f"{each.metrics.average_rounds:.1f}",
            lasted(each.metrics.seconds_p50),
        ]
        for each in by_cell(found)
    ]
    with st.container(key="metrics-cells"):
        st.markdown(tabular(head, rows))


def examples(found: Sequence[Figures], rows: Sequence[RunRow]) -> None:
    """Draw links to the runs with the largest figures."""
    questions = {row.id: row.question for row in rows}
    failing = [each for each in found if each.failed]
    groups = [
        (t("Slowest"), sorted(found, key=lambda each: -each.seconds), lambda each: lasted(each.seconds)),
        (t("Most rounds"), sorted(found, key=lambda each: -each.rounds), lambda each: count(each.rounds, "round")),
        (
            t("Most failed calls"),
            sorted(failing, key=lambda each: -each.failed),
            lambda each: t("{n} failed", n=each.failed),
        ),
    ]
    st.subheader(t("Runs worth a look"), anchor=False)
    with st.container(key="metrics-examples"):
        for column, (title, runs, number) in zip(st.columns(len(groups), gap="large"), groups, strict=True):
            with column:
                st.caption(title)
                if not runs:
                    st.markdown(t("None."))
                for each in runs[:MOST]:
                    question = plain(clip(" ".join(questions.get(each.run, each.run).split()), 60))
                    st.page_link(RUNS, label=f"{plain(number(each))} · {question}", query_params={"run": each.run})
