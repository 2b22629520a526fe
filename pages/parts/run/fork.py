"""The fork form: which rounds to keep, what to edit in them, and the recipe to continue with.

`?run=…&fork=K` opens it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.parts.run import naming
from pages.parts.run import recipe as compare_recipe
from pages.parts.shared import address, home, private, titles
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import unique_labels
from research import plugins
from research.agent.inherited import EDITED, EVOLVING, Editable, editable
from research.errors import REFUSED
from research.events.events import Event
from research.events.recipe import Recipe
from research.events.view import RunView
from research.store import RunRow
from research.workbench import presets
from research.workbench.workbench import Workbench


def link(label: str, key: str, round: int, run: str = "") -> None:
    """Draw a link that opens the form for the first `round` rounds of a run, by default the one in the address."""
    to = {"run": run} if run else {}
    address.link(label, key, icon=":material/call_split:", fork=str(round), **to)


def draw(bench: Workbench, row: RunRow, view: RunView) -> None:
    """Draw the form as a dialog if the address asks for it."""
    if wanted_round := st.query_params.get("fork", ""):
        opened = st.dialog(t("Fork this run"), width="large", icon=":material/call_split:", on_dismiss=_close)
        opened(_form)(bench, row, view, wanted_round)


def _close() -> None:
    address.put("fork")


def _form(bench: Workbench, row: RunRow, view: RunView, wanted_round: str) -> None:
    last = view.forkable
    if not last:
        st.info(t("This run has no complete round to fork from yet. Run the question again instead."))
        return
    key = f"fork-{row.id}-{wanted_round[:6]}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        wanted = int(wanted_round[:6]) if wanted_round.isdecimal() else last
        number = st.number_input(
            t("Rounds to keep (of {last})", last=last),
            1,
            last,
            min(last, max(1, wanted)),
            key=f"{key}-round",
            width=170,
        )
        st.caption(
            t(
                "The fork shares rounds 1 to {number} with this run and continues on its own from there.",
                number=number,
            )
            if number > 1
            else t("The fork shares round 1 with this run and continues on its own from there.")
        )
    question = st.text_area(t("Question"), row.question, key=f"{key}-question", height="content")
    try:
        recipe = _recipe(bench, row, key)
        edits = _edits(bench.store.events(row.id), int(number), recipe, key) if recipe else {}
    except REFUSED as error:
        private.refused(bench, error, t("This recipe can't be used"))
        return
    if edits:
        st.caption(
            t(
                "Your edits are marked as yours wherever they appear. They are not a source: a quote only counts "
                "if the edited text still contains it in full. Earlier replies stay as they are; only later "
                "rounds read your edits."
            )
        )
    if st.button(t("Fork and continue"), key=f"{key}-start", type="primary", icon=":material/play_arrow:"):
        try:
            home.until_ready()
            forked = bench.engine.fork(row.id, int(number), recipe=recipe, question=question, edits=edits).run_id
        except REFUSED as error:
            st.error(plain(spoken(error)), title=t("The run could not be forked"))
            return
        st.query_params.from_dict({"run": forked})
        st.rerun()


def _recipe(bench: Workbench, row: RunRow, key: str) -> Recipe:
    """Draw the choice of recipe and return the one to continue with."""
    if not plugins.framework.get(row.recipe.framework).forkable:
        return row.recipe
    ways = {"same": t("The same recipe"), "other": t("A different recipe")}
    way = st.segmented_control(
        t("Continue with"),
        list(ways),
        default="same",
        key=f"{key}-way",
        required=True,
        format_func=lambda each: ways[each],
    )
    if way == "same":
        st.caption(plain(titles.recipe(row.recipe)))
        return row.recipe
    recipe = row.recipe
    chosen: dict[str, Any] = compare_recipe.draw(
        bench, f"{key}-recipe", recipe.framework, recipe.context, recipe.model, by_rounds=True
    )
    return bench.recipe(**{**presets.of(recipe).arguments(), **chosen})


def _edits(events: Sequence[Event], number: int, recipe: Recipe, key: str) -> dict[str, str]:
    """Draw the editor and return the changed texts by name."""
    offered = {each.name: each for each in editable(events, number, recipe)}
    if not offered:
        st.caption(t("In this framework several agents share the rounds, so they can't be edited."))
        return {}
    chosen = st.multiselect(
        t("Edit before continuing"),
        list(offered),
        key=f"{key}-{number}-{recipe.context}-edits",
        format_func=unique_labels(list(offered), lambda name: _named(offered[name])),
        placeholder=t("A tool result or the report"),
        help=t("Lists what the next prompt contains. Text the model won't read again can't be edited."),
    )
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
    """Return the title of an editable text; not escaped, because option lists show plain text."""
    if each.name == EVOLVING:
        return t("The report so far")
    if each.call is None:
        return t("Round {number} · unreadable call", number=each.round)
    return t("Round {number} · {name}", number=each.round, name=naming.action(None, each.call))
