"""The Runs page: find, open, replay, compare, tag, export and delete saved runs."""

from __future__ import annotations

import streamlit as st

from pages.parts.run import view
from pages.parts.runs import actions, figures, filters, imports, live, table, tree
from pages.parts.shared import address, home, paging
from pages.parts.shared.language import t
from research.store import EVALUATED

home.start_with_app()
PAGE = 200

run_id = address.named("run", t("The address names no run."), t("All runs"))
if not run_id:  # an open run has its question as title
    st.title(t("Runs"), anchor=False)
top = st.container(key="runs-top", horizontal=True, vertical_alignment="center")
outcomes, messages = st.container(), st.container(gap="xsmall")
bench = home.bench()
with top:
    if bench.store.runs(limit=1):
        filters.draw(bench)
    imports.draw(bench)
with outcomes:
    filters.outcomes(bench)
with messages:
    imports.show_result()

number = paging.number()
found = bench.store.runs(filters.query(), PAGE + 1, number * PAGE, filters.filters())
rows, more = found[:PAGE], len(found) > PAGE
hidden = filters.hiding_evaluations() and any(tag.startswith(EVALUATED) for tag in bench.store.tags())
if rows:
    live.draw(bench, rows)
    table.draw(bench, rows, bool(run_id))
    opened = [row for row in rows if row.id == run_id]
    if checked := table.selected(rows):
        actions.draw(bench, checked, True)
    elif opened:
        actions.draw(bench, opened, False)
    with st.container(key="runs-foot", horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch"):
            figures.draw(bench, rows, more)
        paging.buttons("runs", t("Newer"), t("Older"), more)
    if hidden:
        st.button(
            t("Show the runs of evaluations"),
            key="runs-show-evaluations",
            type="tertiary",
            on_click=filters.show_evaluations,
        )
elif hidden and not number and not filters.active():
    st.subheader(t("Only evaluations have run so far"), anchor=False)
    st.button(t("Show the runs of evaluations"), key="runs-show-evaluations", on_click=filters.show_evaluations)
elif number:
    st.caption(t("There are no older runs."))
    st.button(t("Back to the newest"), on_click=paging.turn, args=(0,))
elif filters.active():
    st.markdown(t("No runs match {what}.", what=filters.in_words()))
    st.button(t("Show all runs"), on_click=filters.clear, icon=":material/filter_list_off:")
else:
    st.subheader(t("No runs yet"), anchor=False)
    st.markdown(t("Every question you ask is saved here with all its rounds, so you can read, replay and export it."))
    st.page_link("pages/ask.py", label=t("Ask the first question"), icon=":material/arrow_forward:")

if run_id:
    tree.draw(bench, run_id)
    view.show(bench, run_id)
