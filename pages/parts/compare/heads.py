"""The column headers: recipe, state, spending against the budget, and stop buttons."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from pages.parts.compare.columns import Column
from pages.parts.run import head
from pages.parts.shared import titles
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import clock, cost, count, money, short
from research.errors import REFUSED
from research.workbench.workbench import Workbench


def draw(bench: Workbench, columns: Sequence[Column]) -> None:
    """Draw the headers next to each other."""
    now = time.time()
    requests = bench.store.requests([each.run for each in columns if each.working])
    for column, place in zip(columns, st.columns(len(columns), gap="medium"), strict=True):
        with place, st.container(key=f"{column.key}-head", gap="xxsmall"):
            with st.container(key=f"{column.key}-title", horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(f"**{column.name}**", width="stretch")
                if column.working:
                    stopping = requests.get(column.run) == "stop"
                    st.button(
                        t("Stopping …") if stopping else t("Stop"),
                        key=f"{column.key}-stop",
                        icon=":material/stop:",
                        type="tertiary",
                        disabled=stopping,
                        on_click=stop,
                        args=(bench, [column.run]),
                    )
            st.markdown(f":small[{_state(column)}]")
            if column.row is not None:
                _spent(column, now)


def stop(bench: Workbench, runs: Sequence[str]) -> None:
    """Request that these runs stop, skipping those that have ended."""
    for run in runs:
        try:
            bench.engine.stop(run)
        except REFUSED as error:
            st.toast(plain(spoken(error)), icon=":material/info:")  # the run ended before the click arrived


def _state(column: Column) -> str:
    view, model = column.view, plain(titles.model(column.view.recipe.model))
    if column.row is None:
        return t(":material/delete: This run was deleted; the others are still here.")
    if column.working:
        return t(":primary[●] Round {number} · {model}", number=max(1, view.round_count()), model=model)
    if head.is_interrupted(column.row):
        return t(":material/power_off: Interrupted; open the run to resume it")
    if view.status == "waiting_input":
        return t(":material/contact_support: Waiting for your reply; open the run to answer")
    if view.status == "paused":
        return t(":material/pause: Paused; open the run to resume it")
    said = plain(head.ending(view))
    colour, icon = titles.look(view.outcome or "failed")
    return f":{colour}[:material/{icon}:] {said} · {count(view.round_count(), 'round')} · {model}"


def _spent(column: Column, now: float) -> None:
    """Draw what was spent of each limit; a progress bar shows the limit that is closest."""
    view, budget = column.view, column.view.recipe.budget
    seconds = view.elapsed(now if column.working else view.updated)
    tokens = view.prompt_tokens + view.completion_tokens
    shares = [
        spent / cap
        for spent, cap in (
            (tokens, budget.tokens),
            (view.cost_usd, budget.usd),
            (seconds, budget.seconds),
            (view.tool_calls, budget.tool_calls),
        )
        if cap and spent is not None
    ]
    about = t("about {tokens}", tokens=short(tokens)) if view.estimated else short(tokens)
    said = [
        t("{spent} of {cap}", spent=clock(seconds), cap=clock(budget.seconds)) if budget.seconds else clock(seconds),
        t("{spent} of {cap} tokens", spent=about, cap=short(budget.tokens))
        if budget.tokens
        else t("{spent} tokens", spent=about),
        t("{spent} of {cap}", spent=plain(money(view.cost_usd)), cap=plain(money(budget.usd)))
        if budget.usd
        else plain(cost(view.cost_usd)),
        count(len(view.sources), "source"),
    ]
    st.caption(" · ".join(said))
    if shares:
        st.progress(min(1.0, max(shares)))
