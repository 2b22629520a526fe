"""The form of a fork: which rounds are kept, what of them is edited, and how it goes on.  `?run=…&fork=K` opens it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.parts import address, compare_recipe, home
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import TOOLS, apart
from research import presets
from research.errors import REFUSED
from research.events import Event
from research.inherited import EDITED, EVOLVING, Editable, editable, goes_by_rounds
from research.recipe import Recipe
from research.store import RunRow
from research.text import clip
from research.view import RunView
from research.workbench import Workbench


def link(label: str, key: str, round: int, run: str = "") -> None:
    """Opens the form for the first `round` rounds of the run, the one of the address where none is named."""
    to = {"run": run} if run else {}
    address.link(label, key, icon=":material/call_split:", fork=str(round), **to)


def draw(bench: Workbench, row: RunRow, view: RunView) -> None:
    """The form, where the address asks for it; it stands over the page, wherever the run is."""
    if told := st.query_params.get("fork", ""):
        opened = st.dialog(t("Fork this run"), width="large", icon=":material/call_split:", on_dismiss=_close)
        opened(_form)(bench, row, view, told)


def _close() -> None:
    address.put("fork")


def _form(bench: Workbench, row: RunRow, view: RunView, told: str) -> None:
    last = view.forkable
    if not last:
        st.info(
            t("This run has made no complete round yet that a fork could begin with. Run the question again instead.")
        )
        return
    key = f"fork-{row.id}-{told[:6]}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        wanted = int(told[:6]) if told.isdecimal() else last
        number = st.number_input(
            t("Rounds kept, of {last}", last=last), 1, last, min(last, max(1, wanted)), key=f"{key}-round", width=170
        )
        st.caption(
            t(
                "The fork has rounds 1 to {number} in common with this run and goes on by itself from there.",
                number=number,
            )
            if number > 1
            else t("The fork has round 1 in common with this run and goes on by itself from there.")
        )
    question = st.text_area(t("Question"), row.question, key=f"{key}-question", height="content")
    try:
        recipe = _recipe(bench, row, key)
        edits = _edits(bench.store.events(row.id), int(number), recipe, key) if recipe else {}
    except REFUSED as error:
        st.error(plain(str(error)), title=t("This recipe cannot be used"))
        return
    if edits:
        st.caption(
            t(
                "What you write is marked as yours wherever it is shown. It is no source: a quote counts only where it still "
                "stands there whole. Replies that were given before stay as they are; only what follows reads your words."
            )
        )
    if st.button(t("Fork and go on"), key=f"{key}-start", type="primary", icon=":material/play_arrow:"):
        try:
            home.until_ready()
            forked = bench.engine.fork(row.id, int(number), recipe=recipe, question=question, edits=edits)
        except REFUSED as error:
            st.error(plain(str(error)), title=t("The run was not forked"))
            return
        st.query_params.from_dict({"run": forked})
        st.rerun()


def _recipe(bench: Workbench, row: RunRow, key: str) -> Recipe:
    """The recipe that it goes on with."""
    if not goes_by_rounds(row.recipe.framework):
        return row.recipe
    ways = {"same": t("The same recipe"), "other": t("Another recipe")}
    way = st.segmented_control(
        t("Go on with"),
        list(ways),
        default="same",
        key=f"{key}-way",
        required=True,
        format_func=lambda each: ways[each],
    )
    if way == "same":
        st.caption(plain(row.recipe.label))
        return row.recipe
    recipe = row.recipe
    chosen: dict[str, Any] = compare_recipe.draw(
        bench, f"{key}-recipe", recipe.framework, recipe.context, recipe.model, by_rounds=True
    )
    return bench.recipe(**{**presets.of(recipe).arguments(), **chosen})


def _edits(events: Sequence[Event], number: int, recipe: Recipe, key: str) -> dict[str, str]:
    """The texts that the user has changed, by what they stand for."""
    offered = {each.name: each for each in editable(events, number, recipe)}
    if not offered:
        st.caption(t("Rounds of this framework are made by several agents and cannot be edited."))
        return {}
    chosen = st.multiselect(
        t("Edit before going on"), list(offered), key=f"{key}-{number}-{recipe.context}-edits",
        format_func=apart(list(offered), lambda name: _named(offered[name])), placeholder=t("What a tool gave, or the report"),
        help=t("Offered is what the next prompt shows; what the model does not read again cannot be edited."),
    )  # fmt: skip
    edits = {}
    for name in chosen:
        each = offered[name]
        text = st.text_area(
            plain(_named(each)), each.text, key=f"{key}-{number}-text-{name}", height=260, max_chars=EDITED
        )
        if text != each.text:
            edits[name] = text
    return edits


def _named(each: Editable) -> str:
    """Not yet escaped: a list of choices takes no Markdown."""
    if each.name == EVOLVING:
        return t("The report as it stands")
    if each.call is None:
        return t("Round {number} · a call that could not be read", number=each.round)
    tool = t(TOOLS[each.call.name]) if each.call.name in TOOLS else each.call.name
    asked = " ".join(" ".join(str(value)[:200] for value in each.call.arguments.values()).split())
    return t("Round {number} · {tool}: {asked}", number=each.round, tool=tool, asked=clip(asked, 80))
