"""The context usage of a run's latest prompt, and what its context strategy omitted."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared.language import later, t
from pages.parts.shared.words import count
from research.events.view import RunView, step_purposes

_LEFT = {
    "summary": later("summary replaces {rounds}"),
    "evolving": later("report replaces {rounds}"),
    "window": later("{rounds} left out"),
}
"""What replaces the rounds that the prompt omits, by context strategy."""


def draw(view: RunView) -> None:
    """Draw the context usage of the main agent's latest prompt."""
    steps = step_purposes()
    latest = next((r for r in reversed(view.rounds) if r.agent == "main" and r.purpose in steps), None)
    if latest is None:
        return
    parts = []
    if latest.rounds_so_far:
        rounds = count(latest.rounds_so_far, "round")
        parts.append(t("{shown} of {rounds} shown", shown=latest.rounds_shown, rounds=rounds))
    if left := max(0, latest.rounds_so_far - latest.rounds_shown):
        kind = "summary" if any(r.purpose == "summarise" for r in view.rounds) else view.recipe.context
        parts.append(t(_LEFT.get(kind, _LEFT["window"]), rounds=count(left, "round")))
    if latest.full is None:
        parts.insert(0, t("context {tokens} tokens", tokens=f"{latest.prompt_tokens:,}"))
        st.caption(" · ".join(parts), width="content")
        return
    parts.insert(0, t("context {share} %", share=f"{latest.full * 100:.0f}"))
    with st.container(key="meter", width=300):
        st.progress(min(1.0, latest.full), f":small[:gray[{' · '.join(parts)}]]")
