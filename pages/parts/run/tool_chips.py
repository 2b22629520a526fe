"""The tools of the next run as chips, on every page that starts one; `query` joins the usual ones where it is of use."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts.run import choices, shelf
from pages.parts.shared import form_state
from pages.parts.shared.language import t
from research.defaults import QUERY, TOOLS
from research.workbench.recipes import has_tables
from research.workbench.workbench import Workbench

ADDED, BY_HAND = "added", "hand"
"""How the chips were chosen last: `query` was added to the usual ones, or the user chose."""


def pick(bench: Workbench) -> tuple[str, ...]:
    """Draw the chips and return the chosen tools, without an added `query`, as a preset saves them."""
    state, key, how = st.session_state, form_state.key("tools"), form_state.key(choices.TOOLS_CHOSEN)
    given, before = state.setdefault(key, list(TOOLS)), state.setdefault(how, "")
    if before != BY_HAND:
        usual = [name for name in given if name != QUERY or before != ADDED]
        added = set(usual) == set(TOOLS) and has_tables(bench.library, shelf.chosen_folders(bench))
        wanted = [*usual, QUERY] if added else usual
        state[how] = ADDED if added else ""
        if set(wanted) != set(given):
            state[key] = wanted
    picked: list[str] = st.pills(
        t("Tools"),
        bench.tools(),
        selection_mode="multi",
        key=key,
        persist_state="session",
        help=t("What the run may do. Tables are queried as long as the documents among its sources have some."),
        wrap=True,
        format_func=choices.tool,
        on_change=_by_hand,
    )
    return tuple(name for name in picked if name != QUERY or state[how] != ADDED)


def for_recipe(tools: Sequence[str]) -> tuple[str, ...] | None:
    """Return the tools for `Workbench.recipe`: None for the usual ones, which tables extend, unless the user chose them."""
    by_hand = st.session_state.get(form_state.key(choices.TOOLS_CHOSEN)) == BY_HAND
    return None if set(tools) == set(TOOLS) and not by_hand else tuple(tools)


def _by_hand() -> None:
    st.session_state[form_state.key(choices.TOOLS_CHOSEN)] = BY_HAND
