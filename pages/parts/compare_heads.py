"""The heads of the columns: recipe, state, what was spent of the budget, and the buttons that stop."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from pages.parts import head
from pages.parts.compare_runs import Column
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import clock, count, money, short
from research.errors import REFUSED
from research.progress import OUTCOMES
from research.workbench import Workbench


def draw(bench: Workbench, columns: Sequence[Column]) -> None:
    """One head beside the other."""
    now = time.time()
    asked = bench.store.controls([each.run for each in columns if each.working])
    for column, place in zip(columns, st.columns(len(columns), gap="medium"), strict=True):
        with place, st.container(key=f"{column.key}-head", gap="xxsmall"):
            with st.container(key=f"{column.key}-title", horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(f"**{column.name}**", width="stretch")
                if column.working:
                    stopping = asked.get(column.run) == "stop"
                    st.button(
                        t("Stopping …") if stopping else t("Stop"), key=f"{column.key}-stop", icon=":material/stop:",
                        type="tertiary", disabled=stopping, on_click=stop, args=(bench, [column.run]),
                    )  # fmt: skip
            st.markdown(f":small[{_state(column)}]")
            if column.row is not None:
                _spent(column, now)


def stop(bench: Workbench, runs: Sequence[str]) -> None:
    """Ask these runs to stop, as far as they go on."""
    for run in runs:
        try:
            bench.engine.stop(run)
        except REFUSED as error:
            st.toast(plain(str(error)), icon=":material/info:")  # it ended while the button was on its way


def _state(column: Column) -> str:
    view = column.view
    if column.row is None:
        return t(":material/delete: This run was deleted; the others are all here.")
    if column.working:
        return t(
            ":primary[●] round {number} · {model}", number=max(1, view.round_count()), model=plain(view.recipe.model)
        )
    if head.lost(column.row):
        return t(":material/power_off: Interrupted; open the run to resume it")
    if view.status == "waiting_input":
        return t(":material/contact_support: Waits for your reply; open the run to give it")
    if view.status == "paused":
        return t(":material/pause: Paused; open the run to go on")
    said = plain(t(OUTCOMES[view.outcome or "failed"]))
    icon = "check_circle" if view.outcome == "answered" else "flag"
    return f":material/{icon}: {said} · {count(view.round_count(), 'round')} · {plain(view.recipe.model)}"


def _spent(column: Column, now: float) -> None:
    """Of the budget where there is one; a bar shows the cap that is nearest."""
    view, budget = column.view, column.view.recipe.budget
    seconds = view.elapsed(now if column.working else view.updated)
    tokens = view.prompt_tokens + view.completion_tokens
    shares = [
        spent / cap
        for spent, cap in ((tokens, budget.tokens), (view.cost_usd, budget.usd), (seconds, budget.seconds),
                           (view.tool_calls, budget.tool_calls))
        if cap and spent is not None
    ]  # fmt: skip
    about = t("about {tokens}", tokens=short(tokens)) if view.estimated else short(tokens)
    said = [
        t("{spent} of {cap}", spent=clock(seconds), cap=clock(budget.seconds)) if budget.seconds else clock(seconds),
        t("{spent} of {cap} tokens", spent=about, cap=short(budget.tokens))
        if budget.tokens
        else t("{spent} tokens", spent=about),
        t("{spent} of {cap}", spent=plain(money(view.cost_usd)), cap=plain(money(budget.usd)))
        if budget.usd
        else t("cost {cost}", cost=plain(money(view.cost_usd))),
        count(len(view.sources), "source"),
    ]
    st.caption(" · ".join(said))
    if shares:
        st.progress(min(1.0, max(shares)))
