"""The plan of a run: an editable list until it is approved, then its progress."""

from __future__ import annotations

import itertools
from typing import Any, Final

import streamlit as st

from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import money, short
from research.agent.plan_text import LONGEST, MOST, sources_of
from research.errors import REFUSED
from research.events.events import PlanItem
from research.events.view import RunView
from research.workbench.workbench import Workbench

_IDS: Final = itertools.count()
"""Numbers the rows of all plans, so that a removed row does not pass its text to the next."""


def draw(bench: Workbench, view: RunView) -> None:
    """Draw the plan that waits to be approved, as a list to edit, with the button that starts the run."""
    sources = sources_of(view.recipe)
    rows: list[tuple[int, PlanItem]] = st.session_state.setdefault(
        f"plan-{view.run}", [(next(_IDS), item) for item in view.plan]
    )
    with st.container(border=True, key="plan"):
        st.markdown(f"**{t('The plan')}** · {t('Nothing is searched or spent until you start it.')}")
        items = [_row(view.run, number, row, sources) for number, row in enumerate(rows, 1)]
        with st.container(horizontal=True, vertical_alignment="center"):
            start = st.button(t("Start"), key="plan-start", type="primary", icon=":material/play_arrow:")
            st.button(
                t("Add an item"),
                key="plan-add",
                icon=":material/add:",
                type="tertiary",
                disabled=len(rows) >= MOST,
                on_click=rows.append,
                args=((next(_IDS), PlanItem("")),),
            )
            st.caption(_expected(view))
        if start:
            _start(bench, view, items)


def _row(run: str, number: int, row: tuple[int, PlanItem], sources: tuple[str, ...]) -> dict[str, Any]:
    """Draw one item and return it as it is edited."""
    key, item = row
    rows: list[tuple[int, PlanItem]] = st.session_state[f"plan-{run}"]
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"plan-row-{key}"):
        question = st.text_input(
            t("Item {number}", number=number),
            item.question,
            key=f"plan-question-{key}",
            max_chars=LONGEST,
            placeholder=t("What should be found out?"),
            label_visibility="collapsed",
        )
        chosen = st.multiselect(
            t("Sources of item {number}", number=number),
            sources,
            [name for name in item.sources if name in sources],
            key=f"plan-sources-{key}",
            placeholder=t("all sources"),
            label_visibility="collapsed",
            width=220,
        )
        st.button(
            t("Remove"),
            help=t("Remove item {number}", number=number),
            key=f"plan-remove-{key}",
            icon=":material/close:",
            type="tertiary",
            on_click=rows.remove,
            args=(row,),
        )
    return {"question": question, "sources": chosen}


def _expected(view: RunView) -> str:
    """Return what the run may take."""
    found = view.forecast
    if found is None:
        return ""
    low, high = (short(round(number)) for number in found.tokens)
    if found.usd is None:
        cost = t("cost unknown")
    else:
        cost = t("free") if found.usd[1] == 0 else plain(f"{money(found.usd[0])}–{money(found.usd[1])}")
    calls = f"{found.calls[0]:.0f}–{found.calls[1]:.0f}"
    return t("Expected: {calls} model calls, {tokens} tokens, {cost}", calls=calls, tokens=f"{low}–{high}", cost=cost)


def _start(bench: Workbench, view: RunView, items: list[dict[str, Any]]) -> None:
    try:
        bench.engine.resume(view.run, plan=[item for item in items if item["question"].strip()])
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("The run could not be started"))
        return
    st.session_state.pop(f"plan-{view.run}")
    st.rerun()


def done(view: RunView) -> None:
    """Draw the approved plan beside the rounds; at the end, which items were done."""
    if not view.approved:
        return
    status = {part.text: part for part in view.plan_done}
    good = sum(part.status == "answered" for part in view.plan_done)
    label = t("Plan: {good} of {all} items done", good=good, all=len(view.plan)) if status else t("The plan")
    with st.expander(label, type="compact", icon=":material/checklist:", expanded=not status):
        for item in view.plan:
            part = status.get(item.question)
            icon = ":material/radio_button_unchecked:"
            if part:
                icon = ":green[:material/check_circle:]" if part.status == "answered" else ":orange[:material/help:]"
            word = "" if part is None else t("answered") if part.status == "answered" else t("not found")
            sources = f" · {plain(', '.join(item.sources))}" if item.sources else ""
            st.markdown(f"{icon} {plain(item.question)}{f' · {word}' if word else ''}{sources}")
