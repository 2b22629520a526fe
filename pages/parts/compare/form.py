"""The form that starts a comparison: one question, two to four recipes, one budget."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st
from msgspec import Struct

from pages.parts.compare import saved
from pages.parts.run import choices, form, memory_choices, shelf, tool_chips
from pages.parts.run import recipe as compare_recipe
from pages.parts.shared import form_state, home, models, private, titles
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import between, money
from research import defaults
from research.compare.starting import MOST, compare
from research.errors import REFUSED, ConfigError
from research.events.recipe import Recipe
from research.store import RunRow
from research.workbench.estimate import Estimate, estimate
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.workbench import Workbench

BOX: Final = "compare-question"
LACKING: Final = "compare-lacking"
"""Session key of whether something must be chosen first; the shared settings are open then."""


class Asked(Struct, frozen=True):
    """The question in the box, and whether its button was pressed."""

    question: str
    start: bool


def box() -> Asked:
    """Draw the question box and its button."""
    st.session_state.setdefault(BOX, st.query_params.get("question") or st.session_state.get("question") or "")
    row = st.form("compare", border=False).container(horizontal=True, vertical_alignment="bottom", key="compare-box")
    with row:
        question = st.text_area(
            t("Question"),
            key=BOX,
            height="content",
            persist_state="session",
            label_visibility="collapsed",
            placeholder=t("For example: {question}", question=t(EXAMPLE_QUESTION)),
        )
        start = st.form_submit_button(t("Start all"), type="primary", icon=":material/play_arrow:")
    return Asked(question or "", start)


def draw(bench: Workbench, asked: Asked | None) -> None:
    """Draw the recipes below the box, or the saved runs that the address names."""
    named = [name for name in st.query_params.get("runs", "").split(",") if name][:MOST]
    beside: RunRow | None = None
    if asked is None:
        rows = saved.found(bench, named)
        if len(rows) != 1:
            saved.pick(bench, rows)
            return
        beside = rows[0]
        asked = _next_to(beside)
    chosen = _recipes(bench, beside)
    recipes = _built(bench, chosen, _shared_settings(bench, beside))
    missing = next(filter(None, map(choices.lacking, recipes or ())), "")
    st.session_state[LACKING] = bool(missing)
    if missing:
        form.wrong(missing)
    elif recipes is not None and not asked.start:
        _expected(bench, asked.question, recipes)
    if asked.start and not asked.question.strip():
        st.caption(t(":material/edit: Type a question first."))
    elif asked.start and recipes is not None and not missing:
        try:
            home.until_ready()
            comparison = compare(bench, asked.question, recipes, [beside.id] if beside else [])
        except REFUSED as error:
            st.error(plain(spoken(error)), title=t("No run was started"))
        else:
            st.query_params.from_dict({"id": comparison.id})
            st.rerun()
    with st.expander(t("Compare saved runs instead"), type="compact", icon=":material/history:", key="compare-saved"):
        saved.pick(bench, [beside] if beside else [])


def _next_to(row: RunRow) -> Asked:
    """Draw the question of the saved run with the button that starts more recipes next to it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(plain(row.question), anchor=False, width="stretch")
        start = st.button(t("Start next to it"), type="primary", icon=":material/play_arrow:")
    st.caption(
        t("The saved run {run} ({recipe}) is in the first column.", run=row.id, recipe=plain(titles.recipe(row.recipe)))
    )
    return Asked(row.question, start)


def _recipes(bench: Workbench, beside: RunRow | None) -> list[dict[str, Any]]:
    """Draw a column of options for each recipe."""
    least, most = (1, MOST - 1) if beside else (2, MOST)
    number = st.segmented_control(
        t("New recipes") if beside else t("Recipes"),
        list(range(least, most + 1)),
        default=least,
        key=f"compare-number-{least}",
        required=True,
        persist_state="session",
        help=t("A recipe is how a run works: framework, strategy, model and their options."),
    )
    taken = [(beside.recipe.framework, beside.recipe.context)] if beside else []
    pairs = [pair for pair in defaults.COMPARED if pair not in taken]
    with st.container(key="compare-recipes"):
        columns = st.columns(number or least, gap="medium", border=True)
    chosen = []
    for place, column in enumerate(columns):
        with column:
            model = (
                beside.recipe.model if beside else st.session_state.get(form_state.key("model"), bench.settings.model)
            )
            chosen.append(compare_recipe.draw(bench, f"compare-{least}-{place}", *pairs[place], model))
    models.more(models.offered(bench))
    return chosen


def _shared_settings(bench: Workbench, beside: RunRow | None) -> dict[str, Any]:
    """Draw the settings that all recipes share; with a saved run, return that run's settings."""
    if beside is not None:
        recipe = beside.recipe
        st.caption(t("Budget, tools, sources and memory come from the saved run."))
        return {
            "budget": recipe.budget,
            "tools": recipe.tools,
            "search": recipe.search,
            "folders": recipe.folders,
            "mcp": recipe.mcp,
            "scholar": recipe.scholar,
            "language": recipe.language,
            "roles": recipe.roles,
            "temperature": recipe.temperature,
            "protocol": recipe.protocol,
            "recall": recipe.recall,
            "remember": recipe.remember,
            "judge": recipe.judge,
            "novelty": recipe.novelty,
            "egress": recipe.egress,
        }
    lacking = st.session_state.get(LACKING, False)
    with st.expander(
        t("Shared settings: budget, tools, sources, memory"),
        type="compact",
        key=f"compare-shared-{lacking}",  # as on Ask
        icon=":material/tune:",
        expanded=lacking,
    ):
        left, right = st.columns(2, gap="medium")
        with left:
            budget = form.budget("compare-budget")
            memory = memory_choices.draw()
        with right:
            # The same keys as on Ask, so that choices made there apply here too.
            tools = tool_chips.pick(bench)
            sources = shelf.pick(bench, "compare")
    return {"budget": budget, "tools": tool_chips.for_recipe(tools), **sources, **memory}


def _built(bench: Workbench, chosen: list[dict[str, Any]], shared: dict[str, Any]) -> list[Recipe] | None:
    """Return the recipes, or None after showing an error if one is invalid."""
    recipes = []
    for place, each in enumerate(chosen, 1):
        try:
            recipes.append(bench.recipe(**each, **shared))
        except REFUSED as error:
            if private.refused(bench, error, t("Recipe {number} can't be used", number=place)):
                break  # it is one question for all of them
    return recipes if len(recipes) == len(chosen) else None


def _expected(bench: Workbench, question: str, recipes: list[Recipe]) -> None:
    """Draw the estimate for all recipes together."""
    if all(map(choices.offline, recipes)):
        st.caption(" · ".join((t("Offline"), t("usually a few seconds"), t("free"))))
        return
    try:
        found: list[Estimate] = [estimate(recipe, question, models=bench.model) for recipe in recipes]
    except ConfigError:
        return  # reported when the run is started
    calls, tokens = (between([getattr(each, name) for each in found]) for name in ("calls", "tokens"))
    prices = [each.usd for each in found if each.usd is not None]
    if len(prices) < len(found):
        cost = t("cost unknown")
    elif not any(span.high for span in prices):
        cost = t("free")
    else:
        cost = plain(f"{money(sum(span.low for span in prices))}–{money(sum(span.high for span in prices))}")
    text = t("Expected in total: {calls} model calls, {tokens} tokens, {cost}", calls=calls, tokens=tokens, cost=cost)
    st.caption(text, help="  \n".join(plain(each.basis) for each in found))
