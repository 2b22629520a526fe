"""Draw "Details": the run's id, recipe, context and tokens, and the runs that it comes from or led to."""

from __future__ import annotations

import streamlit as st

from pages.parts.run import lineage, memory_choices, meter, sources
from pages.parts.shared import titles
from pages.parts.shared.language import current, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count, read, when
from research.events.view import RunView
from research.exports.document import left
from research.exports.labels import Words
from research.store import Filters, RunRow
from research.text import clip
from research.workbench.workbench import Workbench

COMING = 5
"""Maximum number of linked runs that derive from this one."""


def draw(bench: Workbench, view: RunView, row: RunRow) -> None:
    """Draw the details in an expander, which is closed at first."""
    with st.expander(t("Run details"), type="compact", icon=":material/info:", key="run-details"):
        recipe = " · ".join([plain(titles.recipe(row.recipe)), *memory_choices.phrases(row.recipe)])
        st.caption(t("Recipe: {recipe}", recipe=recipe))
        found = [count(view.round_count(), "round"), count(len(view.sources), "source")]
        given, written = read(view.prompt_tokens, view.cached_tokens), f"{view.completion_tokens:,}"
        tokens = t("{given} input tokens, {written} output", given=given, written=written)
        found.append(t("{tokens} (estimated)", tokens=tokens) if view.estimated else tokens)
        st.caption(" · ".join(found))
        if view.sent is not None:
            st.caption(t("Left this machine: {what}", what=plain(left(view.sent, Words(current())))))
        meter.draw(view)
        if said := sources.verdicts(view):
            st.caption(t("Citations: {verdicts}", verdicts=said))
            sources.judged(bench, view)
        st.caption(t("Started {when} · run `{run}`", when=when(row.created), run=row.id))


def relatives(bench: Workbench, row: RunRow) -> None:
    """Draw links to the run that this one comes from, and to those that derive from it; `lineage` links forks."""
    coming = [
        each
        for each in bench.store.runs(limit=COMING, filters=Filters(origin=row.id))
        if each.origin is not None and each.origin.how != "fork"
    ]
    if not coming and (row.origin is None or row.origin.how == "fork"):
        return
    with st.container(key="relatives", horizontal=True, vertical_alignment="center", gap="small"):
        if row.origin is not None and row.origin.how != "fork":
            st.page_link(
                "pages/ask.py",
                label=_from(bench, row),
                icon=":material/call_split:",
                query_params={"run": row.origin.run},
            )
        for each in coming:
            st.page_link(
                "pages/ask.py",
                label=_into(each),
                icon=":material/subdirectory_arrow_right:",
                query_params={"run": each.id},
            )


def _from(bench: Workbench, row: RunRow) -> str:
    if question := lineage.followed(bench, row):
        return t("Follow-up to: {question}", question=plain(question))
    follows = row.origin is not None and row.origin.how == "follow_up"
    return t("Follow-up to an earlier question") if follows else t("Rerun of an earlier run")


def _into(row: RunRow) -> str:
    assert row.origin is not None
    if row.origin.how == "follow_up":
        return t("Follow-up: {question}", question=plain(clip(" ".join(row.question.split()), 50)))
    return t("Run again: {recipe}", recipe=plain(titles.recipe(row.recipe)))
