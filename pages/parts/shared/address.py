"""Page state kept in the address, so that it survives reloads, links and the back button."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import streamlit as st


def put(name: str, value: str | Sequence[str] | None = "") -> None:
    """Set a parameter of the address, or remove it if the value is empty."""
    if value:
        st.query_params[name] = value if isinstance(value, str) else list(value)
    elif name in st.query_params:
        del st.query_params[name]


def named(name: str, missing: str, others: str) -> str:
    """Return the id in the address; if it is there but empty, say what is missing, with a link to the list, and end the page."""
    found = st.query_params.get(name, "").strip()
    if name in st.query_params and not found:
        st.title(missing, anchor=False)
        link(others, f"all-{name}", ":material/arrow_back:", **{name: ""})
        st.stop()
    return found


def number(name: str) -> int:
    """Return a parameter that counts from 1 as an index from 0; 0 if it is not a number."""
    text = st.query_params.get(name, "")
    return max(0, int(text[:6]) - 1) if text.isdecimal() else 0


def shows(key: str, value: Any) -> str:
    """Return the key of the widget that shows this value; use `changed` as its `on_change`.

    The browser ignores changes to a widget in a closed popover and sends its old value with the next click. When the
    value was changed by the app, the widget is therefore replaced by one with a new key.
    """
    own = starts_at(key, value)
    st.session_state[own] = value
    return own


def starts_at(key: str, value: Any) -> str:
    """Return the key of the widget that shows this value, as `shows`, for a widget with `persist_state="session"`.

    The value is set once: set again in each rerun, it could arrive after a click and undo it in the browser.
    """
    turn = st.session_state.get(f"{key}-turn", 0)
    own = f"{key}-{turn}" if turn else key
    if own in st.session_state and st.session_state[own] != value:
        st.session_state[f"{own}-gone"] = True
        st.session_state[f"{key}-turn"] = turn = turn + 1
        own = f"{key}-{turn}"
    st.session_state.setdefault(own, value)
    return own


def changed(key: str, taken: Callable[..., None], *arguments: Any) -> None:
    """Call `taken` with the arguments and the new value of a widget created with `shows` or `starts_at`.

    Ignores events of a widget that was replaced meanwhile.
    """
    if not st.session_state.get(f"{key}-gone"):
        taken(*arguments, st.session_state[key])


def link(
    label: str, key: str, icon: str | None = None, width: Literal["content", "stretch"] = "content", **to: str
) -> None:
    """Draw a button that sets parameters of the same page; empty values remove them.

    `st.page_link` to the open page would leave the browser's address unchanged.
    """
    st.button(label, key=key, icon=icon, type="tertiary", width=width, on_click=_go, args=(to,))


def _go(to: dict[str, str]) -> None:
    for name, value in to.items():
        put(name, value)
