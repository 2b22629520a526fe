"""What runs like the next one took, from those that have ended."""

from __future__ import annotations

from statistics import median
from typing import Final

import streamlit as st
from msgspec import Struct

from research.events.recipe import Recipe
from research.events.view import fold
from research.store import Filters
from research.workbench.workbench import Workbench

READ: Final = 5
"""Most newest runs read."""
LEAST: Final = 3
"""Fewest runs that make a typical value."""


@st.cache_resource(show_spinner=False)
def _known(home: str) -> dict[tuple[str, float], tuple[int, float]]:
    """Return tokens and seconds of the runs read so far, by run and end time; each home folder has its own."""
    return {}


class Usual(Struct, frozen=True):
    """What runs took."""

    tokens: float
    """The median."""
    shortest: float
    longest: float
    """Seconds."""


def usual(bench: Workbench, recipe: Recipe) -> Usual | None:
    """Return what the newest answered runs with this framework, strategy and model took; None if there are too few."""
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
            known[row.id, row.updated] = view.prompt_tokens + view.completion_tokens, view.seconds
    tokens, seconds = zip(*(known[row.id, row.updated] for row in rows), strict=True)
    return Usual(median(tokens), min(seconds), max(seconds))
