"""How full the prompt of an agent is, and what its context strategy left out of it."""

from __future__ import annotations

import streamlit as st

from pages.parts.language import later, t
from pages.parts.words import count
from research.view import STEPS, RunView

_LEFT = {
    "summary": later("a summary covers {rounds}"),
    "evolving": later("the report stands for {rounds}"),
    "window": later("{rounds} left out"),
}
"""What stands for the rounds that a prompt does not show."""


def draw(view: RunView) -> None:
    """How full the latest prompt of the agent is, and what the strategy left out of it."""
    latest = next((r for r in reversed(view.rounds) if r.agent == "main" and r.purpose in STEPS), None)
    if latest is None:
        return
    told = []
    if latest.rounds_so_far:
        rounds = count(latest.rounds_so_far, "round")
        told.append(t("{shown} of {rounds} shown", shown=latest.rounds_shown, rounds=rounds))
    if left := max(0, latest.rounds_so_far - latest.rounds_shown):
        kind = "summary" if any(r.purpose == "summarise" for r in view.rounds) else view.recipe.context
        told.append(t(_LEFT.get(kind, _LEFT["window"]), rounds=count(left, "round")))
    if latest.full is None:
        told.insert(0, t("context {tokens} tokens", tokens=f"{latest.prompt_tokens:,}"))
        st.caption(" · ".join(told), width="content")
        return
    told.insert(0, t("context {share} %", share=f"{latest.full * 100:.0f}"))
    with st.container(key="meter", width=300):
        st.progress(min(1.0, latest.full), f":small[:gray[{' · '.join(told)}]]")
