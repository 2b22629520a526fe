"""The evaluations of who is looking: they work in this server, whoever closes a page."""

from __future__ import annotations

import streamlit as st

from research.evaluation.background import Evaluations
from research.workbench import Workbench


def of(bench: Workbench) -> Evaluations:
    """One for each workbench; nobody sees those of another user."""
    return _made(str(bench.settings.home), bench.settings.user, bench)


@st.cache_resource(show_spinner=False)
def _made(home: str, user: str, _bench: Workbench) -> Evaluations:
    return Evaluations(_bench)
