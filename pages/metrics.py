"""The Metrics page: rounds, tool failures, times and costs of the finished runs."""

from __future__ import annotations

import streamlit as st

from pages.parts.metrics import charts, figures, filters, reading
from pages.parts.shared import home
from pages.parts.shared.language import t

home.start_with_app()
st.title(t("Metrics"), anchor=False)
top = st.container(key="metrics-top", horizontal=True, vertical_alignment="bottom")
bench = home.bench()
rows, checks = filters.runs_in_period(bench)
any_run = bool(bench.store.runs(limit=1))
with top:
    wanted = filters.draw(rows) if any_run else []

found = reading.figures(bench, wanted)
if found:
    figures.headline(found, wanted, checks)
    figures.above_thresholds(found, bench.settings.alerts)
    left, right = st.columns(2, gap="large")
    with left:
        figures.endings(found, checks)
        charts.endings(found)
    with right:
        figures.times(found)
    charts.days(found)
    figures.examples(found, wanted)
elif any_run:
    st.markdown(t("No finished runs match."))
    st.button(t("Show all runs"), key="metrics-all", on_click=filters.clear, icon=":material/filter_list_off:")
else:
    st.subheader(t("Nothing to measure yet"), anchor=False)
    st.markdown(t("Once a run has ended, its rounds, tool calls, times and costs appear here."))
    st.page_link("pages/ask.py", label=t("Ask the first question"), icon=":material/arrow_forward:")
