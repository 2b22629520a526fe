"""Runs: every saved run, found again, opened and replayed, compared, kept or thrown away."""

from __future__ import annotations

import streamlit as st

from pages.parts import (
    address,
    home,
    run,
    runs_actions,
    runs_figures,
    runs_filters,
    runs_import,
    runs_live,
    runs_table,
    runs_tree,
)
from pages.parts.language import t

home.start_with_app()
PAGE = 200

top = st.container(key="runs-top", horizontal=True, vertical_alignment="center")
messages = st.container(gap="xsmall")
bench = home.bench()
with top:
    runs_filters.draw(bench)
    runs_import.draw(bench)
with messages:
    runs_import.said()

number = address.number("page")
found = bench.store.runs(runs_filters.query(), PAGE + 1, number * PAGE, runs_filters.filters())
rows, more = found[:PAGE], len(found) > PAGE
run_id = st.query_params.get("run", "")
if rows:
    runs_live.draw(bench, rows)
    runs_table.draw(rows, bool(run_id))
    with st.container(key="runs-foot", horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch"):
            runs_figures.draw(bench, rows, more)
        if number or more:
            st.button(t("Newer"), key="runs-newer", icon=":material/chevron_left:", disabled=not number,
                      on_click=runs_filters.turn, args=(number - 1,))  # fmt: skip
            st.button(t("Older"), key="runs-older", icon=":material/chevron_right:", disabled=not more,
                      on_click=runs_filters.turn, args=(number + 1,))  # fmt: skip
elif number:
    st.caption(t("There are no older runs."))
    st.button(t("Back to the newest"), on_click=runs_filters.turn, args=(0,))
elif runs_filters.active():
    st.markdown(t("No run holds {what}.", what=runs_filters.told()))
    st.button(t("Show all runs"), on_click=runs_filters.clear, icon=":material/filter_list_off:")
else:
    st.subheader(t("No runs yet"), anchor=False)
    st.markdown(t("Every question you ask is kept here with all its rounds, to be read, replayed and exported."))
    st.page_link("pages/ask.py", label=t("Ask the first question"), icon=":material/arrow_forward:")

checked = runs_table.selected(rows)
opened = [row for row in rows if row.id == run_id]
if checked or opened:
    runs_actions.draw(bench, checked or opened, bool(checked))
if run_id:
    runs_tree.draw(bench, run_id)
    run.show(bench, run_id)
