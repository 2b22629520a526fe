"""Results of an action, which a page shows once: until the user does something else."""

from __future__ import annotations

from typing import Any

import streamlit as st


def take(key: str) -> Any:
    """Return the result left in the session under this key, or None, and remove it."""
    result = st.session_state.pop(key, None)
    st.session_state[f"shown-{key}"] = result
    return result


def rerun(*keys: str) -> None:
    """Rerun a page that no action of the user's has changed, so that it still shows the results under these keys."""
    for key in keys:
        if (result := st.session_state.get(f"shown-{key}")) is not None:
            st.session_state[key] = result
    st.rerun()
