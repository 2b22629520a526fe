"""The evaluations of the current user; they run in this server, even when the page is closed."""

from __future__ import annotations

import streamlit as st

from research.evaluation.server_evaluations import Evaluations
from research.workbench.workbench import Workbench


def of(bench: Workbench) -> Evaluations:
    """Return the evaluations of a workbench; each user has their own."""
    return _made(str(bench.settings.home), bench.settings.user, bench)


@st.cache_resource(show_spinner=False)
def _made(home: str, user: str, _bench: Workbench) -> Evaluations:
    return Evaluations(_bench)
