"""What runs like the next one took, from those that have ended."""

from __future__ import annotations

from statistics import median
from typing import Final

import streamlit as st

from research.events.recipe import Recipe
from research.events.view import fold
from research.store import Filters
from research.workbench.workbench import Workbench

READ: Final = 5
"""Newest runs that are read."""
LEAST: Final = 3
"""Runs from which something counts as typical."""


@st.cache_resource(show_spinner=False)
def _known(home: str) -> dict[tuple[str, float], int]:
    """Return the tokens of the runs read so far, by run and end time; each home folder has its own."""
    return {}


def tokens(bench: Workbench, recipe: Recipe) -> float | None:
    """Return the median tokens of the newest answered runs with this framework, strategy and model; None if too few."""
    alike = Filters(
        outcomes=("answered",), frameworks=(recipe.framework,), contexts=(recipe.context,), models=(recipe.model,)
    )
    rows = bench.store.runs(limit=READ, filters=alike)
    if len(rows) < LEAST:
        return None
    known = _known(str(bench.settings.home))
    for row in rows:
        if (row.id, row.updated) not in known:
            view = fold(bench.store.events(row.id))
            known[row.id, row.updated] = view.prompt_tokens + view.completion_tokens
    return median(known[row.id, row.updated] for row in rows)
