"""The time filter of a list: kept in the address, drawn as buttons."""

from __future__ import annotations

import time

import streamlit as st

from pages.parts.shared import address
from pages.parts.shared.language import later, t

SINCE = {
    "day": later("the last day"),
    "week": later("the last week"),
    "month": later("the last month"),
    "year": later("the last year"),
}
_SECONDS = {"day": 86_400, "week": 604_800, "month": 2_678_400, "year": 31_622_400}


def start() -> float | None:
    """Return the start of the chosen period in seconds since the epoch, or None for all time."""
    name = st.query_params.get("since", "")
    return time.time() - _SECONDS[name] if name in SINCE else None


def choose(label: str, prefix: str) -> None:
    """Draw the buttons that choose the period; `prefix` starts their key."""
    name = st.query_params.get("since", "")
    key = address.shows(f"{prefix}-since", name if name in SINCE else None)
    st.segmented_control(
        label,
        list(SINCE),
        key=key,
        format_func=lambda value: t(SINCE[value]),
        on_change=address.changed,
        args=(key, _changed),
    )


def _changed(value: str | None) -> None:
    address.put("page")
    address.put("since", value)
