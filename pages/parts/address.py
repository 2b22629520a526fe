"""The address of a page as the place where its state is kept: shared, reloaded, gone back to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import streamlit as st


def put(name: str, value: str | Sequence[str] = "") -> None:
    """Say it in the address; an empty value is not mentioned."""
    if value:
        st.query_params[name] = value if isinstance(value, str) else list(value)
    elif name in st.query_params:
        del st.query_params[name]


def number(name: str) -> int:
    """A number from 1, less one; 0 for anything else."""
    text = st.query_params.get(name, "")
    return max(0, int(text[:6]) - 1) if text.isdecimal() else 0


def shows(key: str, value: Any) -> None:
    """A widget shows what stands in the address.

    It is told only where it differs: what is being typed must not be overwritten by what was typed a moment ago.
    """
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


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
