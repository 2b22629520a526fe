"""Which model works: picked or typed, tried before it is used, and others for single roles."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.parts.safe import plain
from research import doctor
from research.recipe import ROLES
from research.workbench import Workbench

KNOWN: Final = "known-models"
"""Names that servers told in this session."""

_HELP = (
    "`extractive`; `openai:NAME` at OpenAI or at any server that speaks its protocol (OPENAI_BASE_URL); "
    "`anthropic:NAME`; `gguf:PATH` for a model file on this computer. Type a name, or try a connection to fill the list."
)
_WORDS = {
    "planner": "Plans and outlines.",
    "researcher": "Thinks and calls tools.",
    "summariser": "Condenses history and merges findings into the report.",
    "writer": "Writes the answer and the frame of a report.",
    "critic": "Evaluates and reflects.",
    "judge": "Checks the citations of the finished report; without one that is done by rules alone.",
}


def pick(bench: Workbench) -> tuple[str | None, dict[str, str]]:
    """The model of the run, None for the default, and those for single roles."""
    known = list(dict.fromkeys(["extractive", bench.settings.model, *st.session_state.get(KNOWN, [])]))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        model = st.selectbox(
            "Model", known, index=known.index(bench.settings.model), key="model", accept_new_options=True,
            help=_HELP, persist_state="session",
        )  # fmt: skip
        tried = st.button("Test", key="test-model", icon=":material/cable:", help="Test the connection to this model.")
    if tried:
        _try(bench, model or bench.settings.model)
    if model == "extractive":
        st.caption("`extractive` works offline and is not a language model: it finds sentences, calculates and quotes.")
    roles = {}
    with st.popover("Models for single roles", icon=":material/group:"):
        st.caption("Empty: the model above. A cheap summariser and a strong writer are the usual choice.")
        for role in ROLES:
            chosen = st.selectbox(
                role.capitalize(), known, index=None, key=f"role-{role}", accept_new_options=True,
                placeholder="rules alone" if role == "judge" else "the model above", help=_WORDS[role], persist_state="session",
            )  # fmt: skip
            if chosen and chosen.strip():
                roles[role] = chosen.strip()
    return (model or "").strip() or None, roles


def _try(bench: Workbench, name: str) -> None:
    """Ask the server for its models, and the model for a word."""
    with st.spinner(f"Asking {plain(name)} for a word …"):
        found = doctor.connect(bench, name.strip(), ask=True)
    if found.models:
        kind = name.partition(":")[0]
        st.session_state[KNOWN] = [f"{kind}:{each}" for each in found.models]
    if found.state == "ok":
        st.success(plain(found.text))
    else:
        st.error(plain(found.text), title="The connection does not work")
