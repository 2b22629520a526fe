"""The header of a run: state, time, tokens, cost, context usage, and the pause and stop buttons."""

from __future__ import annotations

import time

import streamlit as st

from pages.parts.run import memory_choices, meter
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import clock, count, money, short
from research import plugins
from research.engine.reclaim import SILENT_S
from research.errors import REFUSED, ConfigError
from research.events.recipe import Recipe
from research.events.view import RunView
from research.exports.progress import OUTCOMES
from research.store import Filters, Origin, RunRow
from research.text import clip
from research.workbench.workbench import Workbench

ALONE_S = 10.0
"""After this time in the queue, the page suggests starting a worker."""
COMING = 5
"""Maximum number of linked runs that derive from this one."""


def is_interrupted(row: RunRow) -> bool:
    """Return whether the run was interrupted, judging by the heartbeat in its row."""
    return row.status == "running" and time.time() - row.heartbeat > SILENT_S


def title(row: RunRow, live: bool) -> None:
    """Set the browser tab's title to the question and the state."""
    question = clip(" ".join(row.question.split()), 60)
    if row.status == "waiting_input":
        st.set_page_config(page_title=t("Waiting for you · {question}", question=question))
    elif live:
        st.set_page_config(page_title=f"● {question}")
    else:
        st.set_page_config(page_title=question)


def live(bench: Workbench, row: RunRow, view: RunView, now: float) -> None:
    """Draw the header of an active run with its pause and stop buttons."""
    requested = bench.store.requests([row.id]).get(row.id)
    with st.container(horizontal=True, vertical_alignment="center"):
        row = bench.store.run(row.id)
        if row.status == "queued":
            state = t("waiting for a worker")
        elif requested == "stop":
            state = t("stopping …")
        elif requested == "pause":
            state = t("pausing …")
        else:
            state = _where(view, row.recipe)
        seconds = view.elapsed(now) if view.started else now - row.created
        st.markdown(f":primary[●] {_line(view, row.recipe, state, seconds)}", width="stretch")
        meter.draw(view)
        st.button(
            t("Pause"),
            key="pause",
            icon=":material/pause:",
            disabled=requested is not None,
            shortcut="P",
            on_click=_request,
            args=(bench, row.id, "pause"),
        )
        st.button(
            t("Stop"),
            key="stop",
            icon=":material/stop:",
            disabled=requested == "stop",
            shortcut="Shift+S",
            on_click=_request,
            args=(bench, row.id, "stop"),
        )
    if row.status == "queued" and now - row.heartbeat > ALONE_S:
        st.info(
            t("No worker has started this run yet. Start a worker with `python -m research worker`."),
            icon=":material/hourglass_empty:",
        )
    if why := bench.engine.blocked(row.id):
        st.warning(plain(why), title=t("The run is waiting: its results can't be saved right now"))
    _below(bench, row)


def _request(bench: Workbench, run_id: str, what: str) -> None:
    try:
        bench.engine.pause(run_id) if what == "pause" else bench.engine.stop(run_id)
    except REFUSED as error:
        st.toast(plain(str(error)), icon=":material/error:")  # the run ended before the click arrived


def inactive(bench: Workbench, view: RunView, row: RunRow, number: int, last: int) -> None:
    """Draw the header of a run that is not active, or of the shown round."""
    rounds = count(view.round_count(), "round")
    if view.running:
        icon, state = "power_off", t("**Interrupted**: the process running it ended; everything found so far is kept")
    elif row.status == "paused":
        icon, state = "pause_circle", t("**Paused** after {rounds}; everything found so far is kept", rounds=rounds)
    elif row.status == "waiting_input":
        icon, state = "contact_support", t("**Waiting for you** after {rounds}", rounds=rounds)
    else:
        icon = "check_circle" if view.outcome == "answered" else "flag"
        ended = ending(view)
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


def ending(view: RunView) -> str:
    """Return the outcome of a run in words, with the number of parts answered if not all are."""
    words = t(OUTCOMES[view.outcome or "failed"])
    if view.outcome != "partly_answered" or len(view.parts) < 2:
        return words
    good = sum(part.status == "answered" for part in view.parts)
    return f"{words} · " + t("{good} of {all} parts", good=good, all=len(view.parts))


def _where(view: RunView, recipe: Recipe) -> str:
    """Return `round 4 of 30`, without the limit if it is unknown."""
    number = max(1, view.round_count())
    limit = _rounds(recipe)
    if limit is None or len(view.agents) > 1 or number > limit:
        return t("round {number}", number=number)
    return t("round {number} of {limit}", number=number, limit=limit)


def _rounds(recipe: Recipe) -> int | None:
    """Return the round limit of the framework, or None if it has none."""
    try:
        options = plugins.framework.get(recipe.framework).options
    except ConfigError:
        return None  # an imported run may name an unknown framework
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
    """Draw the recipe and id, and links to the runs it derives from and those derived from it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(" · ".join([plain(row.recipe.label), *memory_choices.phrases(row.recipe), row.id]), width="content")
        if row.origin is not None and row.origin.how != "fork":  # `lineage` links forks
            st.page_link(
                "pages/ask.py",
                label=_from(row.origin),
                icon=":material/call_split:",
                query_params={"run": row.origin.run},
            )
        for coming in bench.store.runs(limit=COMING, filters=Filters(origin=row.id)):
            assert coming.origin is not None
            if coming.origin.how == "fork":
                continue
            st.page_link(
                "pages/ask.py",
                label=_into(coming),
                icon=":material/subdirectory_arrow_right:",
                query_params={"run": coming.id},
            )


def _from(origin: Origin) -> str:
    if origin.how == "follow_up":
        return t("Follow-up to {run}", run=origin.run)
    return t("Rerun of {run}", run=origin.run)


def _into(row: RunRow) -> str:
    assert row.origin is not None
    if row.origin.how == "follow_up":
        return t("Follow-up: {question}", question=plain(clip(" ".join(row.question.split()), 50)))
    return t("Run again: {recipe}", recipe=plain(row.recipe.label))
