"""Memory: what was learned in earlier runs and what was noted, found again by meaning."""

from __future__ import annotations

import streamlit as st

from pages.parts import (
    home,
    memory_entry,
    memory_files,
    memory_filters,
    memory_list,
    memory_map,
    memory_note,
    memory_renewal,
)
from pages.parts.language import t
from pages.parts.safe import plain
from research.errors import REFUSED, ToolError

home.start_with_app()
FOUND = 25
"""Results of a search."""

top = st.container(key="memory-top", horizontal=True, vertical_alignment="center")
with top:
    memory_filters.search()
bench = home.bench()
try:
    memory = bench.memory
except REFUSED as error:
    st.error(plain(str(error)), title=t("The memory cannot be opened"))
    st.stop()
wanted, query = memory_filters.filters(), memory_filters.query()
total = memory.count()
with top:
    memory_filters.draw(bench)
    memory_files.draw(bench)
    if total and not memory.other_encoder:
        memory_note.add(bench)

if not total:
    st.subheader(t("Nothing is remembered yet"), anchor=False)
    st.markdown(
        t(
            "What runs have learned and what you note is kept here with its source, and found again by meaning, in other "
            "words or in another language. Begin with a note, or open a finished run and keep its findings."
        ),
        width=760,
    )
    st.markdown(
        t(
            "Runs can do both by themselves. Under Options, **Keep in memory** leaves the findings of a run here when it "
            "has its answer, and **Recall from memory** puts what fits the question before the first round of the next."
        ),
        width=760,
    )
    with st.container(width=760):
        memory_note.form(bench, "memory-first", primary=True)
    with st.container(horizontal=True):
        st.page_link("pages/runs.py", label=t("Open a finished run"), icon=":material/history:", width="content")
        st.page_link("pages/ask.py", label=t("Ask"), icon=":material/search:", width="content")
    st.stop()

opened = st.query_params.get("entry", "")
if memory.other_encoder:
    memory_renewal.draw(bench)
    if opened:
        memory_entry.draw(bench, opened)
    memory_list.page(bench, wanted, opened)
    st.stop()
try:
    found = memory.search(query, FOUND, wanted) if query else []
except ToolError:
    found = []
except REFUSED as error:
    st.error(plain(str(error)), title=t("The memory cannot be searched"))
    st.stop()

left, right = st.columns([7, 5], gap="large")
with left:  # what is read first is drawn first: of a large memory the map takes longer
    if query:
        memory_list.draw(bench, found, opened)
        if not found:
            st.caption(t("Nothing found; try other or fewer words, or clear the filters."))
    else:
        memory_list.page(bench, wanted, opened)
    memory_list.foot(bench, total)
with right:
    memory_map.draw(bench, wanted, opened)
    if opened:
        memory_entry.draw(bench, opened)
