"""The family of a run: what it was forked, followed up or run again from, and what came of it."""

from __future__ import annotations

import streamlit as st

from pages.parts import address, fork_kept, runs_filters, runs_table
from pages.parts.language import t
from pages.parts.safe import plain
from research.errors import ConfigError
from research.store import Filters, RunRow
from research.text import clip
from research.workbench import Workbench

MOST = 30
"""Runs of a family that are drawn."""
DEEP = 12
FEW = 8
"""A family of so many is seen at once; a larger one opens."""


def draw(bench: Workbench, run_id: str) -> None:
    """Nothing for a run without relatives."""
    try:
        row = bench.store.run(run_id)
    except ConfigError:
        return  # the run itself says so
    family = _family(bench, _root(bench, row), 0, set())
    if len(family) < 2:
        return
    title = t("Family of this run · {n} runs", n=len(family))
    seen = st.expander(title, expanded=len(family) <= FEW, icon=":material/account_tree:")
    with st.container(key="runs-tree"), seen:
        for depth, member in family:
            label = _label(bench, member, depth)
            if member.id == row.id:
                st.markdown(f"{_indent(depth)}**{label}**")
            else:
                address.link(f"{_indent(depth)}{label}", f"runs-tree-{member.id}", run=member.id, round="")
        if len(family) == MOST:
            st.caption(t("The first {n} are drawn.", n=MOST))


def _root(bench: Workbench, row: RunRow) -> RunRow:
    """The oldest ancestor that is still there."""
    seen = {row.id}
    while row.origin is not None and row.origin.run not in seen:
        try:
            row = bench.store.run(row.origin.run)
        except ConfigError:
            break  # deleted
        seen.add(row.id)
    return row


def _family(bench: Workbench, row: RunRow, depth: int, seen: set[str]) -> list[tuple[int, RunRow]]:
    """The run and all that came of it, each after the one that it came from."""
    if row.id in seen or len(seen) >= MOST or depth > DEEP:
        return []
    seen.add(row.id)
    found = [(depth, row)]
    for child in reversed(bench.store.runs(limit=MOST, filters=Filters(origin=row.id))):
        found += _family(bench, child, depth + 1, seen)
    return found


def _label(bench: Workbench, row: RunRow, depth: int) -> str:
    """How it came about, what is its own, and how it stands."""
    question = plain(clip(" ".join(row.question.split()), 60))
    recipe = plain(f"{runs_filters.framework(row.recipe.framework)} / {row.recipe.context} / {row.recipe.model}")
    standing = runs_table.ending(row)
    match row.origin.how if row.origin and depth else "":
        case "fork":
            own = fork_kept.taken(bench, row)
            told = fork_kept.mark(own) if own else ""
            number = own.round if own else 0
            return t("Fork at round {number}: {recipe} · {standing} · {mark}",
                     number=number, recipe=recipe, standing=standing, mark=told)  # fmt: skip
        case "follow_up":
            return t("Follow-up: {question} · {standing}", question=question, standing=standing)
        case "rerun":
            return t("Run again: {recipe} · {standing}", recipe=recipe, standing=standing)
        case _:
            return t("{question} · {recipe} · {standing}", question=question, recipe=recipe, standing=standing)


def _indent(depth: int) -> str:
    return "\u2003\u2003" * (depth - 1) + "↳\u2002" if depth else ""
