"""The values of the option widgets in the session: a form that starts from filled values, with the user's edits on top.

The browser sends the values of all its widgets with every event. An event sent before it shows newly filled values
carries the earlier ones. Filling the form therefore replaces all keys, so that these belong to no widget. The same goes
for another page or language: there the browser knows the widgets by other ids, or their options by other words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st
from msgspec import Struct, field
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.parts.shared import language

FORM: Final = "form"
"""Session key of the form."""


class Form(Struct):
    """The keys of the options in use."""

    generation: int = 0
    """Number of times the form was filled."""
    place: tuple[str, str] | None = None
    """Page and language that it was drawn on last."""
    names: set[str] = field(default_factory=set)
    """Every option that has a key."""

    def key(self, name: str) -> str:
        """Return the key of an option in this generation."""
        return f"{name}@{self.generation}" if self.generation else name


def key(name: str) -> str:
    """Return the current session key of an option; ask again in each rerun."""
    form = _form()
    form.names.add(name)
    return form.key(name)


def fill(values: Mapping[str, Any]) -> None:
    """Start the form from these values, by option; the other options keep theirs. Call it before they are drawn."""
    state, form = st.session_state, _form()
    kept = {}
    for name in form.names:
        old = form.key(name)
        if old in state:
            kept[name] = state[old]
            del state[old]
    form.generation += 1
    for name, value in {**kept, **values}.items():
        state[key(name)] = value


def _form() -> Form:
    form: Form = st.session_state.setdefault(FORM, Form())
    context = get_script_run_ctx()
    before, form.place = form.place, (context.page_script_hash if context else "", language.current())
    if before and before != form.place:
        fill({})
    return form
