"""Saved runs picked for a comparison."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import when
from research.comparing import MOST, of_saved
from research.errors import REFUSED
from research.store import RunRow
from research.text import clip
from research.workbench import Workbench

LISTED = 200
"""Newest runs that can be picked without a search elsewhere."""


def found(bench: Workbench, names: Sequence[str]) -> list[RunRow]:
    """The runs of these ids; what is wrong with one is said."""
    rows: dict[str, RunRow] = {}
    for name in names:
        try:
            row = bench.store.run(name)
        except REFUSED as error:
            st.error(plain(str(error)), title=t("No such run"))
        else:
            rows[row.id] = row
    return list(rows.values())


def pick(bench: Workbench, chosen: Sequence[RunRow]) -> None:
    """A list to pick from, and the button that puts the picked runs side by side."""
    rows = {row.id: row for row in [*chosen, *bench.store.runs(limit=LISTED)]}
    if len(rows) < 2:
        st.caption(t("With two or more saved runs you can put them side by side here."))
        return
    place = ",".join(row.id for row in chosen)
    with st.form(f"compare-saved-{place}", border=False):
        picked = st.multiselect(
            t("Saved runs"), list(rows), default=[row.id for row in chosen], key=f"compare-picked-{place}",
            max_selections=MOST, placeholder=t("Choose 2 to {most} runs", most=MOST),
            format_func=lambda run_id: _label(rows[run_id]),
        )  # fmt: skip
        ready = len(chosen) > 1  # then this is what the page was opened for
        if st.form_submit_button(t("Compare"), type="primary" if ready else "secondary", icon=":material/view_column:"):
            _begin(bench, picked)


def _begin(bench: Workbench, picked: Sequence[str]) -> None:
    try:
        comparison = of_saved(bench, picked)
    except REFUSED as error:
        st.error(plain(str(error)), title=t("The runs cannot be compared"))
        return
    st.query_params.from_dict({"id": comparison.id})
    st.rerun()


def _label(row: RunRow) -> str:
    # With the end of its id: Streamlit tells options apart by their words, and a run and its fork may share all others.
    made = f"{row.recipe.framework} / {row.recipe.context} · {when(row.created)}"
    return f"{clip(' '.join(row.question.split()), 60)} · {made} · {row.id[-4:]}"
