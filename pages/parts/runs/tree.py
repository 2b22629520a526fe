"""The tree of runs related by fork, follow-up or rerun."""

from __future__ import annotations

import streamlit as st

from pages.parts.run import head, lineage
from pages.parts.shared import address, titles
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from research.errors import ConfigError
from research.store import Filters, RunRow
from research.text import clip
from research.workbench.workbench import Workbench

MOST = 30
"""Maximum number of runs drawn."""
DEEP = 12
FEW = 8
"""A tree of up to this many runs is expanded at first."""


def draw(bench: Workbench, run_id: str) -> None:
    """Draw the tree, or nothing for a run without relatives."""
    try:
        row = bench.store.run(run_id)
    except ConfigError:
        return  # the run view reports it
    family = _family(bench, _root(bench, row), 0, set())
    if len(family) < 2:
        return
    title = t("Related runs · {n}", n=len(family))
    seen = st.expander(title, expanded=len(family) <= FEW, icon=":material/account_tree:")
    with st.container(key="runs-tree"), seen:
        for depth, member in family:
            label = _label(bench, member, depth)
            if member.id == row.id:
                st.markdown(f"{_indent(depth)}**{label}**")
            else:
                address.link(f"{_indent(depth)}{label}", f"runs-tree-{member.id}", run=member.id, round="")
        if len(family) == MOST:
            st.caption(t("Only the first {n} are shown.", n=MOST))


def _root(bench: Workbench, row: RunRow) -> RunRow:
    """Return the oldest ancestor that still exists."""
    seen = {row.id}
    while row.origin is not None and row.origin.run not in seen:
        try:
            row = bench.store.run(row.origin.run)
        except ConfigError:
            break  # deleted
        seen.add(row.id)
    return row


def _family(bench: Workbench, row: RunRow, depth: int, seen: set[str]) -> list[tuple[int, RunRow]]:
    """Return the run and its descendants with their depth, each after its parent."""
    if row.id in seen or len(seen) >= MOST or depth > DEEP:
        return []
    seen.add(row.id)
    found = [(depth, row)]
    for child in reversed(bench.store.runs(limit=MOST, filters=Filters(origin=row.id))):
        found += _family(bench, child, depth + 1, seen)
    return found


def _label(bench: Workbench, row: RunRow, depth: int) -> str:
    """Return how the run came about, what is specific to it, and its state."""
    question = plain(clip(" ".join(row.question.split()), 60))
    recipe = plain(titles.recipe(row.recipe))
    state = head.state(row)
    match row.origin.how if row.origin and depth else "":
        case "fork":
            own = lineage.inherited(bench, row)
            fingerprint = lineage.fingerprint(own) if own else ""
            number = own.round if own else 0
            return t(
                "Fork at round {number}: {recipe} · {standing} · {mark}",
                number=number,
                recipe=recipe,
                standing=state,
                mark=fingerprint,
            )
        case "follow_up":
            return t("Follow-up: {question} · {standing}", question=question, standing=state)
        case "rerun":
            return t("Run again: {recipe} · {standing}", recipe=recipe, standing=state)
        case _:
            return t("{question} · {recipe} · {standing}", question=question, recipe=recipe, standing=state)


def _indent(depth: int) -> str:
    return "\u2003\u2003" * (depth - 1) + "↳\u2002" if depth else ""
