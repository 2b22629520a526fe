"""The address of a page as the place where its state is kept: shared, reloaded, gone back to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def without(*names: str) -> dict[str, Any]:
    """What else stands in the address, for a link on the same page."""
    return {name: st.query_params.get_all(name) for name in st.query_params if name not in names}


def shows(key: str, value: Any) -> None:
    """A widget shows what stands in the address.

    It is told only where it differs: what is being typed must not be overwritten by what was typed a moment ago.
    """
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
