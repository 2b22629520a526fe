"""What a run takes from the memory and what it leaves there: two choices, and the words for them."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from pages.parts.language import later, t
from pages.parts.safe import plain
from research.recipe import Recipe

OFFERED: Final = (0, 3, 5, 10)
"""Entries that may be recalled; another number comes from a preset or a saved run."""
KEPT: Final = {"off": later("Nothing"), "findings": later("Findings"), "everything": later("Everything")}

KEEPS: Final = {"findings": later("keeps findings"), "everything": later("keeps everything")}


def draw() -> dict[str, Any]:
    """Both, side by side; returns arguments of `Workbench.recipe`.  The keys are those of every form that asks for them."""
    state = st.session_state
    number = state.setdefault("recall", 0)
    policy = state.setdefault("remember", "off")  # of a run from a file it may be anything; what is wrong is said below
    left, right = st.columns(2, gap="small")
    with left:
        recall = st.selectbox(
            t("Recall from memory"), sorted({*OFFERED, number}), key="recall", persist_state="session",
            format_func=lambda each: t("up to {n} entries", n=each) if each else t("Off"),
            help=t(
                "Before its first round the run asks the memory about the question. What fits is sent to the model, quoted "
                "and with its source. From then on only addresses that you, a search or a page gave may be opened."
            ),
        )  # fmt: skip
    with right:
        remember = st.selectbox(
            t("Keep in memory"), list(dict.fromkeys([*KEPT, policy])), key="remember", persist_state="session",
            format_func=lambda each: t(KEPT[each]) if each in KEPT else plain(each),
            help=t(
                "When the run has its answer. Findings: each statement that its source supports, with the quote. "
                "Everything: also the passages that were read, and the report."
            ),
        )  # fmt: skip
    return {"recall": recall, "remember": remember}


def told(recipe: Recipe) -> list[str]:
    """What a recipe says of the memory, for a line of choices; nothing while both are off."""
    said = [t("recalls up to {n} entries", n=recipe.recall)] if recipe.recall else []
    said += [t(KEEPS[recipe.remember])] if recipe.remember in KEEPS else []
    return said
