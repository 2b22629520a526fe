"""The numbers of the measured runs, and the runs behind them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts import runs_filters
from pages.parts.compare_steps import tabular
from pages.parts.language import later, t
from pages.parts.metrics_filters import same
from pages.parts.safe import plain
from pages.parts.words import TOOLS, count, lasted, money, short
from research.metrics import Figures, Times, by_cell, by_tool, together
from research.metrics import times as measured
from research.store import RunRow
from research.text import clip
from research.types import Outcome

RUNS = "pages/runs.py"
MOST = 5
"""Runs of one kind that are named."""
GROUPS: dict[str, tuple[Outcome, ...]] = {
    later("Answered"): ("answered",),
    later("At a limit"): ("rounds", "tokens", "cost", "time", "loop"),
    later("No evidence"): ("no_evidence", "tool_errors"),
    later("Stopped"): ("stopped",),
    later("Failed"): ("failed",),
}
"""How runs end, as far as it matters here; shown by `t`."""


def headline(found: Sequence[Figures], rows: Sequence[RunRow]) -> None:
    """The figures of all these runs together."""
    all_ = together(found)
    if all_ is None:
        return
    tiles = [
        (t("Runs that ended"), f"{all_.runs:,}", t("Runs at work, resting or waiting for a reply are not measured.")),
        (t("Average rounds"), f"{all_.average_rounds:.1f}", t("Rounds in which a tool was called.")),
        (t("Two or more rounds"), f"{all_.multi_round_share:.0%}", t("Share of runs with two or more such rounds.")),
        (t("Tool calls failed"), f"{all_.tool_failure_rate:.1%}", t("Of {calls}.", calls=count(all_.tool_calls, "tool call"))),
        (t("Half of runs within"), lasted(all_.seconds_p50), t("Time of work: rests and waits do not count.")),
        (t("Tokens"), short(all_.prompt_tokens + all_.completion_tokens), t("Read and written by models.")),
        (t("Known cost"), plain(money(all_.cost_usd)), _unknown(all_.unknown_costs)),
    ]  # fmt: skip
    with st.container(key="metrics-tiles", horizontal=True, gap="small"):
        for label, value, note in tiles:
            st.metric(label, value, help=note, width=160)
    at_work = sum(row.status in ("queued", "running") for row in rows)
    if at_work:
        st.caption(t("{runs} still at work", runs=count(at_work, "run")))


def _unknown(runs: int) -> str:
    if not runs:
        return t("The price of every call is known.")
    return t("Without {runs} in which the price of a call is unknown.", runs=count(runs, "run"))


def times(found: Sequence[Figures]) -> None:
    """How long runs, model calls and each tool take, and how often a tool fails."""
    st.subheader(t("How long it takes, and how often it fails"), anchor=False)
    head = [t("What"), t("Calls"), t("Failed"), t("Half within"), t("90 % within"), t("99 % within")]
    rows = [
        _row(t("A whole run"), measured(each.seconds for each in found)),
        _row(t("A model call"), measured(took for each in found for took in each.replies)),
        *(
            _row(
                t(TOOLS[each.name]) if each.name in TOOLS else plain(clip(each.name, 40)),
                each.times, f"{each.calls:,}", f"{each.failed / each.calls:.1%}",
            )
            for each in by_tool(found)
        ),
    ]  # fmt: skip
    with st.container(key="metrics-times"):
        st.markdown(tabular(head, rows))
    st.caption(t("Answers from the cache count as calls, and not as times."))


def _row(name: str, found: Times, calls: str = "", failed: str = "") -> list[str]:
    return [name, calls or f"{found.count:,}", failed, *(map(lasted, (found.p50, found.p90, found.p99)))]


def endings(found: Sequence[Figures]) -> None:
    """How often runs end in which way, each with a way to them."""
    st.subheader(t("How runs end"), anchor=False)
    outcomes = [each.outcome for each in found]
    with st.container(key="metrics-endings", horizontal=True, gap="small"):
        for name in runs_filters.ENDINGS:
            if number := sum(each == name for each in outcomes):
                label = t("{ending}: {n} ({share})", ending=t(runs_filters.ENDINGS[name]), n=f"{number:,}",
                          share=f"{number / len(outcomes):.0%}")  # fmt: skip
                st.page_link(RUNS, label=label, query_params=same(outcome=name), width="content")


def cells(found: Sequence[Figures]) -> None:
    """The same by framework and context strategy, as a table."""
    head = [t("Framework"), t("Context"), t("Runs"), *map(t, GROUPS), t("Rounds"), t("Half within")]
    rows = [
        [
            plain(runs_filters.framework(each.framework)), plain(runs_filters.context(each.context)),
            f"{each.metrics.runs:,}",
            *(f"{sum(each.outcomes.get(name, 0) for name in names):,}" for names in GROUPS.values()),
            f"{each.metrics.average_rounds:.1f}", lasted(each.metrics.seconds_p50),
        ]
        for each in by_cell(found)
    ]  # fmt: skip
    with st.container(key="metrics-cells"):
        st.markdown(tabular(head, rows))


def examples(found: Sequence[Figures], rows: Sequence[RunRow]) -> None:
    """The runs behind the largest numbers."""
    questions = {row.id: row.question for row in rows}
    failing = [each for each in found if each.failed]
    groups = [
        (t("Slowest"), sorted(found, key=lambda each: -each.seconds), lambda each: lasted(each.seconds)),
        (t("Most rounds"), sorted(found, key=lambda each: -each.rounds), lambda each: count(each.rounds, "round")),
        (t("Most failed calls"), sorted(failing, key=lambda each: -each.failed), lambda each: t("{n} failed", n=each.failed)),
    ]  # fmt: skip
    st.subheader(t("Runs behind these numbers"), anchor=False)
    with st.container(key="metrics-examples"):
        for column, (title, runs, number) in zip(st.columns(len(groups), gap="large"), groups, strict=True):
            with column:
                st.caption(title)
                if not runs:
                    st.markdown(t("None."))
                for each in runs[:MOST]:
                    question = plain(clip(" ".join(questions.get(each.run, each.run).split()), 60))
                    st.page_link(RUNS, label=f"{plain(number(each))} · {question}", query_params={"run": each.run})
