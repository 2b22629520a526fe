"""The address of a page as the place where its state is kept: shared, reloaded, gone back to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import streamlit as st


def put(name: str, value: str | Sequence[str] | None = "") -> None:
    """Say it in the address; an empty value is not mentioned."""
    if value:
        st.query_params[name] = value if isinstance(value, str) else list(value)
    elif name in st.query_params:
        del st.query_params[name]


def number(name: str) -> int:
    """A number from 1, less one; 0 for anything else."""
    text = st.query_params.get(name, "")
    return max(0, int(text[:6]) - 1) if text.isdecimal() else 0


def shows(key: str, value: Any) -> str:
    """The key of the widget that is to show this value; `key` itself until the widget has to be told of another value.

    `changed` is its `on_change`.
    A browser does not learn of a change to a widget in a closed popover, and sends the old value with the next click:
    then a new widget stands in its place.  What a visitor changes is no such change, once the value has followed.
    """
    turn = st.session_state.get(f"{key}-turn", 0)
    own = f"{key}-{turn}" if turn else key
    if own in st.session_state and st.session_state[own] != value:
        st.session_state[f"{own}-gone"] = True
        st.session_state[f"{key}-turn"] = turn = turn + 1
        own = f"{key}-{turn}"
    st.session_state[own] = value
    return own


def changed(key: str, taken: Callable[..., None], *arguments: Any) -> None:
    """Hand the new value of a widget of `shows` to `taken`, after the arguments.

    A browser that has not yet heard that the widget is gone still sends it, and that counts as a change: not here.
    """
    if not st.session_state.get(f"{key}-gone"):
        taken(*arguments, st.session_state[key])


def link(
    label: str, key: str, icon: str | None = None, width: Literal["content", "stretch"] = "content", **to: str
) -> None:
    """To another state of the same page: what is named is put into the address, an empty value is taken out.

    `st.page_link` to the page that is open tells the server, and leaves the address of the browser as it was.
    """
    st.button(label, key=key, icon=icon, type="tertiary", width=width, on_click=_go, args=(to,))


def _go(to: dict[str, str]) -> None:
    for name, value in to.items():
        put(name, value)
