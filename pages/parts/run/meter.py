"""The context usage of a run's latest prompt, and what its context strategy omitted."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared.language import t
from pages.parts.shared.words import count
from research import plugins
from research.errors import ConfigError
from research.events.view import RunView


def draw(view: RunView) -> None:
    """Draw the context usage of the main agent's latest prompt."""
    latest = next((r for r in reversed(view.rounds) if r.agent == "main" and r.step), None)
    if latest is None:
        return
    parts = []
    if latest.rounds_so_far:
        rounds = count(latest.rounds_so_far, "round")
        parts.append(t("{shown} of {rounds} shown", shown=latest.rounds_shown, rounds=rounds))
    if left := max(0, latest.rounds_so_far - latest.rounds_shown):
        parts.append(omitted(view, count(left, "round")))
    if latest.full is None:
        parts.insert(0, t("context {tokens} tokens", tokens=f"{latest.prompt_tokens:,}"))
        st.caption(" · ".join(parts), width="content")
        return
    parts.insert(0, t("context {share} %", share=f"{latest.full * 100:.0f}"))
    with st.container(key="meter", width=300):
        st.progress(min(1.0, latest.full), f":small[:gray[{' · '.join(parts)}]]")


def omitted(view: RunView, rounds: str) -> str:
    """Return what the context strategy put in the place of the rounds that the prompt omits."""
    try:
        strategy = plugins.context.get(view.recipe.context)
    except ConfigError:  # an imported run may name an unknown one
        return t("{rounds} left out", rounds=rounds)
    if strategy.shows_report:
        return t("report replaces {rounds}", rounds=rounds)
    if any(r.purpose in strategy.purposes for r in view.rounds):
        return t("summary replaces {rounds}", rounds=rounds)
    return t("{rounds} left out", rounds=rounds)
