"""The pages of a long list: the address holds the number of the page, and two buttons change it."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared import address


def number() -> int:
    """Return the number of the page, starting at 0."""
    return address.number("page")


def turn(page: int) -> None:
    """Go to that page, starting at 0."""
    address.put("page", str(page + 1) if page else "")


def buttons(prefix: str, previous: str, following: str, more: bool) -> None:
    """Draw the two buttons if there is more than one page; `prefix` starts their keys, `more`: there is a next page."""
    page = number()
    if not page and not more:
        return
    for label, name, side, there, target in (
        (previous, "previous", "left", page > 0, page - 1),
        (following, "next", "right", more, page + 1),
    ):
        icon = f":material/chevron_{side}:"
        st.button(label, key=f"{prefix}-{name}", icon=icon, disabled=not there, on_click=turn, args=(target,))
