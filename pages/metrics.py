"""Metrics: how many rounds questions take, how often tools fail, how long answers take, what they cost."""

from __future__ import annotations

import streamlit as st

from pages.parts import home, metrics_charts, metrics_figures, metrics_filters, metrics_reading
from pages.parts.language import t

home.start_with_app()
top = st.container(key="metrics-top", horizontal=True, vertical_alignment="bottom")
bench = home.bench()
rows = metrics_filters.asked(bench)
with top:
    wanted = metrics_filters.draw(rows)

found = metrics_reading.figures(bench, wanted)
if found:
    metrics_figures.headline(found, wanted)
    left, right = st.columns(2, gap="large")
    with left:
        metrics_figures.endings(found)
        metrics_charts.endings(found)
    with right:
        metrics_figures.times(found)
    metrics_charts.days(found)
    metrics_figures.examples(found, wanted)
elif rows or metrics_filters.active():
    st.markdown(t("No run that fits has ended yet."))
    st.button(t("Show all runs"), key="metrics-all", on_click=metrics_filters.clear, icon=":material/filter_list_off:")
else:
    st.subheader(t("Nothing to measure yet"), anchor=False)
    st.markdown(t("When a run has ended, its rounds, tool calls, times and costs are counted here."))
    st.page_link("pages/ask.py", label=t("Ask the first question"), icon=":material/arrow_forward:")
