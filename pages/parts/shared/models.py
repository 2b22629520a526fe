"""Choosing and testing the model, and a different model per role."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts.shared import form_state, titles
from pages.parts.shared.language import later, spoken, t
from pages.parts.shared.safe import plain, prose
from research import defaults
from research.config import saved_settings
from research.config.named_endpoints import BY_SETTINGS
from research.errors import REFUSED
from research.events.recipe import ROLES, provider_of
from research.models.prices import cost_usd
from research.types import Usage
from research.workbench import diagnostics, endpoint_registry, model_trial
from research.workbench.diagnostics import Check
from research.workbench.workbench import Workbench

KNOWN: Final = "known-models"
"""Session key of the model names filled in by presets, or entered."""
FOUND: Final = "models"
"""Where the store keeps the models that servers have reported."""
INSTEAD: Final = 3
"""Models to offer in place of one that is not set up."""
SETTINGS: Final = "pages/settings.py"
PURPOSES: Final = "purposes"
"""Option with the single purposes that an earlier run used its own model for."""

NAMES: Final = later(
    "Choose one or type its name: `openai:NAME`, `anthropic:NAME`, `ENDPOINT:NAME`, or `gguf:PATH` for a file. "
    "Keys and addresses are entered in Settings."
)
"""How a model is named."""

_WORDS: Final = {
    "planner": later("Writes plans and outlines."),
    "researcher": later("Reasons and calls tools."),
    "summariser": later("Condenses history and merges findings into the report."),
    "writer": later("Writes the answer, and a report's introduction and conclusion."),
    "critic": later("Evaluates drafts and reflects on them."),
    "reader": later(
        "Chooses the passages of visited pages that serve the goal; each is checked to be in the page. For the offline model"
        " it reads the short answer in the prose that it cites."
    ),
    "judge": later("Checks the citations of the finished report; without a judge, fixed rules do."),
}
_NAMES: Final = {
    "planner": later("Planner"),
    "researcher": later("Researcher"),
    "summariser": later("Summarizer"),
    "writer": later("Writer"),
    "critic": later("Critic"),
    "reader": later("Reader"),
    "judge": later("Judge"),
}


def know(*names: str) -> None:
    """Add names to the list of known models."""
    st.session_state[KNOWN] = list(dict.fromkeys([*st.session_state.get(KNOWN, []), *names]))


def offered(bench: Workbench, *chosen: str) -> list[str]:
    """Return the models that a selector offers: the offline one, the default, the chosen ones, those of the endpoints, and
    those that were found and tested."""
    usable = {each.name: each.model for each in endpoint_registry.known(bench.settings) if not each.problem}
    names = [f"{name}:{model}" for name, model in usable.items() if model]
    with suppress(*REFUSED):
        names += [f"{each.endpoint}:{each.model}" for each in model_trial.table(bench.settings.home) if each.ok]
    with suppress(*REFUSED):
        names += [name for listed in bench.store.values(FOUND) for name in msgspec.json.decode(listed, type=list[str])]
    names = [name for name in names if name.partition(":")[0] in (*usable, *BY_SETTINGS)]
    return list(
        dict.fromkeys([defaults.OFFLINE, bench.settings.model, *chosen, *names, *st.session_state.get(KNOWN, [])])
    )


def more(known: Iterable[str]) -> None:
    """Say below a selector how other models are added, while it offers the offline one alone."""
    if set(known) - {defaults.OFFLINE}:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption(t("Type `gguf:PATH` for a model file, or add a key or a server such as Ollama:"), width="content")
        st.page_link(SETTINGS, label=t("Settings"), icon=":material/settings:", width="content")


def usable(bench: Workbench, *others: str) -> list[str]:
    """Return the models that can be used now: those that are set up or were found on this machine, then the offline one."""
    names = [name for name in offered(bench) if name not in (defaults.OFFLINE, *others) and _opens(bench, name)]
    return [*names, defaults.OFFLINE]


def instead(bench: Workbench, name: str, *, near: bool = False) -> None:
    """Offer models that can be used in place of one that cannot; nothing if it can.

    `near`: in place of one that may not get the user's documents, which stay on this machine.
    """
    if _opens(bench, name) and not near:
        return
    ready = [each for each in usable(bench) if not near or endpoint_registry.near(bench.settings, each)]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="instead"):
        meant(bench, name, lambda each: form_state.fill({"model": each}))
        st.caption(t("Ready to use:"), width="content")
        for each in ready[:INSTEAD]:
            st.button(
                plain(titles.model(each)), key=f"instead-{each}", on_click=form_state.fill, args=({"model": each},)
            )


def meant(bench: Workbench, name: str, choose: Callable[[str], None]) -> None:
    """Offer the full names of a model that was named without its provider; nothing for any other name.

    The one chosen is known from then on: a selector whose options lack its value would return its title.
    """

    def take(full: str) -> None:
        know(full)
        choose(full)

    if not name or ":" in name or _opens(bench, name):
        return
    priced = [f"{each}:{name}" for each in BY_SETTINGS if cost_usd(each, name, Usage()) is not None]
    for each in dict.fromkeys([*priced, *(full for full in offered(bench) if full.partition(":")[2] == name)]):
        label = t("Did you mean {name}?", name=f"`{plain(each)}`")
        st.button(label, key=f"meant-{each}", icon=":material/lightbulb:", on_click=take, args=(each,))


def _opens(bench: Workbench, name: str) -> bool:
    """Return whether a model is set up; contacts no server."""
    try:
        bench.model(name)
    except REFUSED:
        return False
    return True


def listed(bench: Workbench, name: str, *, ask: bool = False) -> Check:
    """Test a model, or `ENDPOINT:*`, and offer from now on what its server lists."""
    check = diagnostics.connect(bench, name, ask=ask)
    if check.models:
        found(bench, name.partition(":")[0], check.models)
    return check


def use(bench: Workbench, name: str) -> None:
    """Choose a model for new runs, and for the question that is being written."""
    try:
        if not saved_settings.why_locked(bench.settings, "model"):
            saved_settings.save(bench.settings, model=name)
            bench.reload()
    except REFUSED as error:
        st.toast(plain(spoken(error)), icon=":material/info:")
        return
    form_state.fill({"model": name})
    st.toast(t("New runs use {model}.", model=plain(name)), icon=":material/check:")


def choose(bench: Workbench, endpoint: str) -> None:
    """Draw the models that are known of an endpoint, and the button that uses one; nothing if none is."""
    names = [name for name in offered(bench) if name.startswith(f"{endpoint}:")]
    if not names:
        return
    now = bench.settings.model
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        chosen = st.selectbox(
            t("Model"),
            names,
            names.index(now) if now in names else 0,
            key=f"listed-{endpoint}",
            format_func=lambda name: name.partition(":")[2],
        )
        st.button(
            t("In use") if chosen == now else t("Use this model"),
            key=f"use-listed-{endpoint}",
            icon=":material/check:",
            disabled=chosen == now,
            on_click=use,
            args=(bench, chosen),
            help=t("Chooses it for new runs."),
        )


def found(bench: Workbench, endpoint: str, models: Iterable[str]) -> None:
    """Offer these models of an endpoint from now on, in place of those that it had before."""
    bench.store.put(FOUND, endpoint, msgspec.json.encode([f"{endpoint}:{each}" for each in models]))


def named(bench: Workbench) -> Callable[[str], str]:
    """Return a function that names a model of an endpoint by itself, and the endpoint after it."""
    known = {each.name: each.title for each in endpoint_registry.known(bench.settings)}

    def name(full: str) -> str:
        endpoint, _, model = full.partition(":")
        if not model or endpoint not in known:
            return titles.model(full)
        return f"{model} ({t(known[endpoint]) if endpoint in BY_SETTINGS else endpoint})"

    return name


def values(roles: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the role options, with None for roles that are not named."""
    purposes = [name for name in roles if name not in ROLES]
    yield PURPOSES, purposes
    yield from ((f"role-{name}", roles.get(name)) for name in [*ROLES, *purposes])


def pick(bench: Workbench, fine: DeltaGenerator) -> tuple[str | None, dict[str, str]]:
    """Draw the model's selector, and those of roles in `fine`; return the model (None for the default) and the models by role."""
    known, key, title = offered(bench), form_state.key("model"), named(bench)
    st.session_state.setdefault(key, bench.settings.model)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        model = st.selectbox(
            t("Model"),
            known,
            key=key,
            format_func=title,
            accept_new_options=True,
            persist_state="session",
            help=t(NAMES),
        )
        tried = st.button(
            t("Test"), key="test-model", icon=":material/cable:", help=t("Test the connection to this model.")
        )
    more(known)
    if tried:
        _try(bench, model or bench.settings.model)
    provider = provider_of(model or bench.settings.model)
    if provider.written_by == "rules":
        st.caption(prose(t(provider.summary)))
        if any(name != model for name in known):
            st.caption(t("A language model can read the answer in the prose that it cites: choose a reader below."))
    roles = {}
    with (
        fine,
        st.expander(t("A different model per role"), type="compact", icon=":material/group:", key="models-per-role"),
    ):
        st.caption(t("Leave empty to use the model above. A cheap summarizer with a strong writer is a common choice."))
        for role in [*ROLES, *st.session_state.get(form_state.key(PURPOSES), [])]:
            words = _WORDS.get(role)
            chosen = st.selectbox(
                t(_NAMES[role]) if role in _NAMES else plain(role),
                known,
                index=None,
                format_func=title,
                key=form_state.key(f"role-{role}"),
                accept_new_options=True,
                placeholder=t("rules only") if role in ("reader", "judge") else t("the model above"),
                help=t(words) if words else None,
                persist_state="session",
            )
            if chosen and chosen.strip():
                roles[role] = chosen.strip()
                _check(bench, chosen.strip())
    return (model or "").strip() or None, roles


def _check(bench: Workbench, name: str) -> None:
    """Show what a model lacks, next to its selector; contacts no server."""
    try:
        bench.model(name)
    except REFUSED as error:
        st.session_state["options-wrong"] = True
        st.markdown(f":red[:material/error: {plain(spoken(error))}]")


def _try(bench: Workbench, name: str) -> None:
    """Test a model: list the models of its server, and request one short reply."""
    with st.spinner(t("Testing {name} …", name=plain(name))):
        check = listed(bench, name.strip(), ask=True)
    if check.state == "ok":
        st.success(plain(spoken(check.text)))
    else:
        st.error(plain(spoken(check.text)), title=t("The connection failed"))
