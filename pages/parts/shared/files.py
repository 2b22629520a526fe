"""Choosing files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.parts.shared.language import t


def pick(label: str, kinds: Sequence[str], most_mb: int, *, called: str = "", **options: Any) -> Any:
    """Draw `st.file_uploader`, and below it the kinds of files, or what they are `called`, and their largest size."""
    found = st.file_uploader(label, kinds, max_upload_size=most_mb, **options)
    listed = t(", ").join(each.upper() for each in kinds)
    st.caption(t("{kinds}; at most {n} MB each", kinds=called or listed, n=most_mb), help=listed if called else None)
    return found
