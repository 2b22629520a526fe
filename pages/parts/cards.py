"""Framework and strategy as cards: a radio group, so that arrow keys and screen readers know what is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import streamlit as st

from pages.parts.address import changed, shows
from pages.parts.language import later, t
from pages.parts.safe import plain
from research import cells, presets, registry
from research.registry import Entry

ORDER: Final = {name: number for number, name in enumerate([*cells.FRAMEWORKS, *cells.CONTEXTS])}
"""As the docs list them; what is not among them follows by name."""
TASKS: Final = {
    "few": later("Few steps"), "many": later("Many steps"), "planned": later("The plan is known"),
    "again": later("May try again"), "reliable": later("Must be reliable"),
}  # fmt: skip


def pair() -> tuple[str, str]:
    """Framework and strategy, by the task or by themselves."""
    state = st.session_state
    framework = state.setdefault("framework", "react")
    context = state.setdefault(f"context-{framework}", cells.default_context(framework))
    advice = shows("advice", presets.advice(framework, context))
    st.pills(
        t("What is the task like?"), [each.id for each in presets.ADVICE], key=advice, on_change=changed, args=(advice, _advised),
        format_func=lambda each: t(TASKS[each]), help=t("Chooses the framework and the strategy that suit it."),
    )  # fmt: skip
    framework = choose("framework", t("Framework"), registry.framework.all(), "react")
    refused = {name: reason for name in registry.context.names() if (reason := cells.refusal(framework, name))}
    if framework in cells.NOTES:
        note = t("The strategy {does}.", does=t(cells.NOTES[framework]))
    else:
        note = t("The strategy shapes what the model sees.")
    context = choose(
        f"context-{framework}", t("Context strategy"), registry.context.all(), cells.default_context(framework), refused,
        help_text=note,
    )  # fmt: skip
    return framework, context


def choose(
    key: str, label: str, entries: Sequence[Entry[Any]], default: str, refused: Mapping[str, str] | None = None,
    help_text: str | None = None,
) -> str:  # fmt: skip
    """One of the entries, by id.  `refused` stand below with the reason and cannot be chosen."""
    refused = refused or {}
    known = {entry.id: entry for entry in sorted(entries, key=lambda each: (ORDER.get(each.id, len(ORDER)), each.id))}
    offered = [name for name in known if name not in refused]
    if st.session_state.setdefault(key, default) not in offered:
        st.session_state[key] = default
    with st.container(key=f"cards-{key}", gap="xsmall"):
        name = st.radio(
            label, offered, key=key, format_func=lambda each: f"**{plain(t(known[each].title))}**",
            captions=[_caption(known[each]) for each in offered], help=help_text, width="stretch", persist_state="session",
        )  # fmt: skip
        for each, reason in refused.items():
            title = f"**{plain(t(known[each].title))}**"
            said = t("{name} cannot be chosen here: {reason}.", name=title, reason=t(reason))
            with st.container(key=f"refused-{key}-{each}"):
                st.caption(f":material/block: {said}")
    return str(name)


def _caption(entry: Entry[Any]) -> str:
    """What it does, and when it suits."""
    what, when = plain(t(entry.summary)), entry.traits.get("when")
    return f"{what}  \n:material/arrow_forward: {plain(t(when))}" if when else what


def _advised(wanted: str | None) -> None:
    """The pair of the task; clicked again, it stays."""
    for each in presets.ADVICE:
        if each.id == wanted:
            st.session_state["framework"] = each.framework
            st.session_state[f"context-{each.framework}"] = each.context
