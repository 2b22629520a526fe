"""The state of a run in a few lines: where it is, what it spent, how full its prompt is, and how to stop it."""

from __future__ import annotations

import time

import streamlit as st

from pages.parts import memory_choices, meter
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import clock, count, money, short
from research import registry
from research.engine import SILENT_S
from research.errors import REFUSED, ConfigError
from research.progress import OUTCOMES
from research.recipe import Recipe
from research.store import Filters, Origin, RunRow
from research.text import clip
from research.view import RunView
from research.workbench import Workbench

ALONE_S = 10.0
"""A queued run that nobody has taken up for so long may wait for a worker that does not run."""
COMING = 5
"""Runs that come from this one and are linked."""


def lost(row: RunRow) -> bool:
    """Whether the process that worked on the run is gone, as far as can be told from its row."""
    return row.status == "running" and time.time() - row.beat > SILENT_S


def title(row: RunRow, live: bool) -> None:
    """The tab says what the run is about, and whether it is at work or waits for its user."""
    question = clip(" ".join(row.question.split()), 60)
    if row.status == "waiting_input":
        st.set_page_config(page_title=t("Waiting for you · {question}", question=question))
    elif live:
        st.set_page_config(page_title=f"● {question}")
    else:
        st.set_page_config(page_title=question)


def live(bench: Workbench, row: RunRow, view: RunView, now: float) -> None:
    """The head of a run at work, with the buttons that pause and stop it."""
    asked = bench.store.controls([row.id]).get(row.id)
    with st.container(horizontal=True, vertical_alignment="center"):
        row = bench.store.run(row.id)
        if row.status == "queued":
            state = t("waiting for a worker")
        elif asked == "stop":
            state = t("stopping …")
        elif asked == "pause":
            state = t("pausing …")
        else:
            state = _where(view, row.recipe)
        seconds = view.elapsed(now) if view.started else now - row.created
        st.markdown(f":primary[●] {_line(view, row.recipe, state, seconds)}", width="stretch")
        meter.draw(view)
        st.button(
            t("Pause"), key="pause", icon=":material/pause:", disabled=asked is not None, shortcut="P",
            on_click=_ask, args=(bench, row.id, "pause"),
        )  # fmt: skip
        st.button(
            t("Stop"), key="stop", icon=":material/stop:", disabled=asked == "stop", shortcut="Shift+S",
            on_click=_ask, args=(bench, row.id, "stop"),
        )  # fmt: skip
    if row.status == "queued" and now - row.beat > ALONE_S:
        st.info(
            t("Nobody has taken this run up yet. Is a worker running? Start one with `python -m research worker`."),
            icon=":material/hourglass_empty:",
        )
    if why := bench.engine.held(row.id):
        st.warning(plain(why), title=t("The run waits: what it finds cannot be saved just now"))
    _below(bench, row)


def _ask(bench: Workbench, run_id: str, what: str) -> None:
    try:
        bench.engine.pause(run_id) if what == "pause" else bench.engine.stop(run_id)
    except REFUSED as error:
        st.toast(plain(str(error)), icon=":material/error:")  # it ended while the button was on its way


def at_rest(bench: Workbench, view: RunView, row: RunRow, number: int, last: int) -> None:
    """The head of a run that is over or rests, or of the round of it that is shown."""
    rounds = count(view.round_count(), "round")
    if view.running:
        icon, state = "power_off", t("**Interrupted**: the process that worked on it ended; what was found is kept")
    elif row.status == "paused":
        icon, state = "pause_circle", t("**Paused** after {rounds}; what was found is kept", rounds=rounds)
    elif row.status == "waiting_input":
        icon, state = "contact_support", t("**Waiting for you** after {rounds}", rounds=rounds)
    else:
        icon = "check_circle" if view.outcome == "answered" else "flag"
        ended = t(OUTCOMES[view.outcome or "failed"])
        state = t("**{outcome}** in {rounds}", outcome=ended, rounds=rounds)
    if number < last:
        shown = t("Round {number} of {last}", number=number, last=last)
        st.markdown(f":material/history: **{shown}** · {state}")
    else:
        with st.container(horizontal=True, vertical_alignment="center"):
            line = _line(view, row.recipe, state, view.elapsed(view.updated))
            st.markdown(f":material/{icon}: {line}", width="stretch")
            meter.draw(view)
    _below(bench, row)


def _where(view: RunView, recipe: Recipe) -> str:
    """`round 4 of 30`, as far as the recipe knows an end."""
    number = max(1, view.round_count())
    limit = _rounds(recipe)
    if limit is None or len(view.agents) > 1 or number > limit:
        return t("round {number}", number=number)
    return t("round {number} of {limit}", number=number, limit=limit)


def _rounds(recipe: Recipe) -> int | None:
    """The rounds after which the framework ends, chosen or by itself."""
    try:
        options = registry.framework.get(recipe.framework).options
    except ConfigError:
        return None  # a run from a file may name a framework that is not here
    default = next((option.default for option in options if option.name == "rounds"), None)
    limit = recipe.framework_options.get("rounds", default)
    return limit if isinstance(limit, int) else None


def _line(view: RunView, recipe: Recipe, state: str, seconds: float) -> str:
    budget = recipe.budget
    spent = short(view.prompt_tokens + view.completion_tokens)
    if budget.tokens is not None:
        tokens = t("{spent} of {budget} tokens", spent=spent, budget=short(budget.tokens))
    elif view.estimated:
        tokens = t("about {spent} tokens", spent=spent)
    else:
        tokens = t("{spent} tokens", spent=spent)
    took = clock(seconds)
    if budget.seconds is not None:
        took = t("{spent} of {budget}", spent=took, budget=clock(budget.seconds))
    cost = plain(money(view.cost_usd))
    if budget.usd is not None:
        cost = t("cost {spent} of {budget}", spent=cost, budget=plain(money(budget.usd)))
    else:
        cost = t("cost {spent}", spent=cost)
    return " · ".join([state, took, tokens, cost, count(len(view.sources), "source")])


def _below(bench: Workbench, row: RunRow) -> None:
    """Recipe and id; where the run comes from, and what came of it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(" · ".join([plain(row.recipe.label), *memory_choices.told(row.recipe), row.id]), width="content")
        if row.origin is not None and row.origin.how != "fork":  # forks: `fork_kept`
            st.page_link(
                "pages/ask.py", label=_from(row.origin), icon=":material/call_split:",
                query_params={"run": row.origin.run},
            )  # fmt: skip
        for coming in bench.store.runs(limit=COMING, filters=Filters(origin=row.id)):
            assert coming.origin is not None
            if coming.origin.how == "fork":
                continue
            st.page_link("pages/ask.py", label=_into(coming), icon=":material/subdirectory_arrow_right:",
                         query_params={"run": coming.id})  # fmt: skip


def _from(origin: Origin) -> str:
    if origin.how == "follow_up":
        return t("Follows {run}", run=origin.run)
    return t("Rerun of {run}", run=origin.run)


def _into(row: RunRow) -> str:
    assert row.origin is not None
    if row.origin.how == "follow_up":
        return t("Followed by {question}", question=plain(clip(" ".join(row.question.split()), 50)))
    return t("Run again: {recipe}", recipe=plain(row.recipe.label))
