"""Which model works: picked or typed, tried before it is used, and others for single roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import streamlit as st

from pages.parts.language import later, t
from pages.parts.safe import plain
from research import doctor
from research.errors import REFUSED
from research.recipe import ROLES
from research.workbench import Workbench

KNOWN: Final = "known-models"
"""Names that servers told, or that were filled in, in this session."""
PURPOSES: Final = "purposes"
"""Single purposes that an earlier run had a model of its own for."""

_WORDS: Final = {
    "planner": later("Plans and outlines."),
    "researcher": later("Thinks and calls tools."),
    "summariser": later("Condenses history and merges findings into the report."),
    "writer": later("Writes the answer and the frame of a report."),
    "critic": later("Evaluates and reflects."),
    "judge": later("Checks the citations of the finished report; without one that is done by rules alone."),
}
_NAMES: Final = {
    "planner": later("Planner"), "researcher": later("Researcher"), "summariser": later("Summariser"),
    "writer": later("Writer"), "critic": later("Critic"), "judge": later("Judge"),
}  # fmt: skip


def know(*names: str) -> None:
    """Put names on the list."""
    st.session_state[KNOWN] = list(dict.fromkeys([*st.session_state.get(KNOWN, []), *names]))


def values(roles: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """What the session holds for the models of these single roles, and of no other."""
    purposes = [name for name in roles if name not in ROLES]
    yield PURPOSES, purposes
    yield from ((f"role-{name}", roles.get(name)) for name in [*ROLES, *purposes])


def pick(bench: Workbench) -> tuple[str | None, dict[str, str]]:
    """The model of the run, None for the default, and those for single roles."""
    known = list(dict.fromkeys(["extractive", bench.settings.model, *st.session_state.get(KNOWN, [])]))
    st.session_state.setdefault("model", bench.settings.model)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        model = st.selectbox(
            t("Model"), known, key="model", accept_new_options=True, persist_state="session",
            help=t(
                "`extractive`; `openai:NAME` at OpenAI or at any server that speaks its protocol (OPENAI_BASE_URL); "
                "`anthropic:NAME`; `gguf:PATH` for a model file on this computer. Type a name, or try a connection to "
                "fill the list."
            ),
        )  # fmt: skip
        tried = st.button(
            t("Test"), key="test-model", icon=":material/cable:", help=t("Test the connection to this model.")
        )
    if tried:
        _try(bench, model or bench.settings.model)
    if model == "extractive":
        st.caption(
            t("`extractive` works offline and is not a language model: it finds sentences, calculates and quotes.")
        )
    elif not tried:
        _check(bench, (model or "").strip() or bench.settings.model)
    roles = {}
    with st.expander(t("Models for single roles"), type="compact", icon=":material/group:"):
        st.caption(t("Empty: the model above. A cheap summariser and a strong writer are the usual choice."))
        for role in [*ROLES, *st.session_state.get(PURPOSES, [])]:
            words = _WORDS.get(role)
            chosen = st.selectbox(
                t(_NAMES[role]) if role in _NAMES else plain(role), known, index=None, key=f"role-{role}",
                accept_new_options=True, placeholder=t("rules alone") if role == "judge" else t("the model above"),
                help=t(words) if words else None, persist_state="session",
            )  # fmt: skip
            if chosen and chosen.strip():
                roles[role] = chosen.strip()
                _check(bench, chosen.strip())
    return (model or "").strip() or None, roles


def _check(bench: Workbench, name: str) -> None:
    """Names what a model lacks, beside where it was chosen; no server is asked."""
    try:
        bench.model(name)
    except REFUSED as error:
        st.session_state["options-wrong"] = True
        st.markdown(f":red[:material/error: {plain(str(error))}]")


def _try(bench: Workbench, name: str) -> None:
    """Ask the server for its models, and the model for a word."""
    with st.spinner(t("Asking {name} for a word …", name=plain(name))):
        found = doctor.connect(bench, name.strip(), ask=True)
    if found.models:
        kind = name.partition(":")[0]
        st.session_state[KNOWN] = [f"{kind}:{each}" for each in found.models]
    if found.state == "ok":
        st.success(plain(found.text))
    else:
        st.error(plain(found.text), title=t("The connection does not work"))
