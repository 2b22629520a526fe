"""Framework and strategy as cards in a radio group, which works with arrow keys and screen readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from pages.parts.run import choices
from pages.parts.shared import form_state
from pages.parts.shared.address import changed, starts_at
from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain
from research import defaults, plugins
from research.plugins import ContextStrategy, Framework
from research.workbench import presets
from research.workbench.presets import Choices

TASKS: Final = {
    "few": later("Few steps"),
    "many": later("Many steps"),
    "planned": later("Known plan"),
    "again": later("Retries allowed"),
    "reliable": later("High confidence"),
}


def pair() -> tuple[str, str]:
    """Draw the choices and return framework and strategy."""
    state = st.session_state
    framework = state.setdefault(form_state.key("framework"), defaults.FRAMEWORK)
    default = plugins.framework.get(framework).default_context
    context = state.setdefault(form_state.key(f"context-{framework}"), default)
    advice = starts_at("advice", presets.advice(framework, context))
    st.pills(
        t("What kind of task is it?"),
        [each.id for each in presets.ADVICE],
        key=advice,
        on_change=changed,
        args=(advice, _advised),
        persist_state="session",
        format_func=lambda each: t(TASKS[each]),
        help=t("Picks a suitable framework and strategy."),
    )
    framework = choose("framework", t("Framework"), plugins.framework.all(), defaults.FRAMEWORK)
    policy = plugins.framework.get(framework)
    note = t("The strategy {does}.", does=t(policy.note))
    context = choose(
        f"context-{framework}",
        t("Context strategy"),
        plugins.context.all(),
        policy.default_context,
        policy.refuses,
        help_text=note,
    )
    return framework, context


def choose(
    option: str,
    label: str,
    entries: Sequence[Framework | ContextStrategy],
    default: str,
    refused: Mapping[str, str] | None = None,
    help_text: str | None = None,
) -> str:
    """Draw the entries and return the id of the chosen one.

    Entries in `refused` are listed below with the reason.
    """
    refused = refused or {}
    by_id = {entry.id: entry for entry in entries}
    known = {name: by_id[name] for name in defaults.ordered(by_id)}
    offered = [name for name in known if name not in refused]
    key = form_state.key(option)
    if st.session_state.setdefault(key, default) not in offered:
        st.session_state[key] = default
    with st.container(key=f"cards-{option}", gap="xsmall"):
        name = st.radio(
            label,
            offered,
            key=key,
            format_func=lambda each: f"**{plain(t(known[each].title))}**",
            captions=[plain(t(known[each].when or known[each].summary)) for each in offered],
            help="\n\n".join([*(_about(known[each]) for each in offered), *filter(None, [help_text])]),
            width="stretch",
            persist_state="session",
        )
        for each, reason in refused.items():
            title = f"**{plain(t(known[each].title))}**"
            text = t("{name} isn't available here: {reason}.", name=title, reason=t(reason))
            with st.container(key=f"refused-{option}-{each}"):
                st.caption(f":material/block: {text}")
    return str(name)


def _about(entry: Framework | ContextStrategy) -> str:
    """Return how the entry works; its card says when to take it."""
    return f"**{plain(t(entry.title))}**: {plain(t(entry.summary))}"


def _advised(wanted: str | None) -> None:
    """Choose the pair recommended for the task; clicking it again changes nothing."""
    for each in presets.ADVICE:
        if each.id == wanted:
            choices.fill(Choices(framework=each.framework, context=each.context), ["framework"])
