"""Choosing files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.parts.shared.language import t


def pick(label: str, kinds: Sequence[str], most_mb: int, **options: Any) -> Any:
    """Draw `st.file_uploader`, and below it the kinds of files and their largest size."""
    found = st.file_uploader(label, kinds, max_upload_size=most_mb, **options)
    st.caption(t("{kinds}; at most {n} MB each", kinds=t(", ").join(each.upper() for each in kinds), n=most_mb))
    return found
