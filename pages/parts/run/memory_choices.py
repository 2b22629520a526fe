"""The memory options of a recipe: what a run recalls and what it keeps."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from pages.parts.shared import form_state
from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain
from research.events.recipe import Recipe

OFFERED: Final = (0, 3, 5, 10)
"""Offered numbers of entries; presets and saved runs may use others."""
KEPT: Final = {"off": later("Nothing"), "findings": later("Findings"), "everything": later("Everything")}

KEEPS: Final = {"findings": later("keeps findings"), "everything": later("keeps everything")}


def draw() -> dict[str, Any]:
    """Draw both options side by side and return them as arguments of `Workbench.recipe`.

    All forms share the same keys.
    """
    state, recall_key, remember_key = st.session_state, form_state.key("recall"), form_state.key("remember")
    number = state.setdefault(recall_key, 0)
    policy = state.setdefault(remember_key, "off")  # an imported run may contain any value; the error is shown below
    left, right = st.columns(2, gap="small", vertical_alignment="bottom")
    with left:
        recall = st.selectbox(
            t("Recall from memory"),
            sorted({*OFFERED, number}),
            key=recall_key,
            persist_state="session",
            format_func=lambda each: t("up to {n} entries", n=each) if each else t("Off"),
            help=t("Starts with what earlier runs found about the question; the model gets it with its sources."),
        )
    with right:
        remember = st.selectbox(
            t("Keep in memory"),
            list(dict.fromkeys([*KEPT, policy])),
            key=remember_key,
            persist_state="session",
            format_func=lambda each: t(KEPT[each]) if each in KEPT else plain(each),
            help=t("Findings: the statements that a source supports. Everything: also the report and what was read."),
        )
    return {"recall": recall, "remember": remember}


def phrases(recipe: Recipe) -> list[str]:
    """Return the memory options of a recipe as phrases; empty while both are off."""
    found = [t("recalls up to {n} entries", n=recipe.recall)] if recipe.recall else []
    found += [t(KEEPS[recipe.remember])] if recipe.remember in KEEPS else []
    return found
