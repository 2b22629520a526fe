"""The Memory page: findings and notes, searchable by meaning."""

from __future__ import annotations

import streamlit as st

from pages.parts.memory import entries, entry, files, filters, note, renewal
from pages.parts.memory import map as memory_map
from pages.parts.shared import address, home
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.errors import REFUSED, ToolError

home.start_with_app()
FOUND = 25
"""Maximum number of search results."""

opened = address.named("entry", t("The address names no memory entry."), t("All entries"))
st.title(t("Memory"), anchor=False)
top = st.container(key="memory-top", horizontal=True, vertical_alignment="center")
bench = home.bench()
try:
    memory = bench.memory
except REFUSED as error:
    st.error(plain(spoken(error)), title=t("Memory can't be opened"))
    st.stop()
total = memory.count()
with top:
    if total:
        filters.search()
        filters.draw(bench)
    files.draw(bench)
    if total and not memory.other_encoder:
        note.add(bench)

if not total:
    st.subheader(t("No memories yet"), anchor=False)
    st.markdown(
        t(
            "The findings of your runs will be here with their sources, for you to search and for later runs to start "
            "from. **Save** on the page of a finished run adds them. Under Customize, **Keep in memory** saves a run's "
            "findings by itself, and **Recall from memory** gives a new run those that match. Your own notes can be "
            "here, too:"
        ),
        width=760,
    )
    with st.container(width=760):
        note.form(bench, "memory-first", primary=True)
    st.stop()

wanted, query = filters.filters(), filters.query()
if memory.other_encoder:
    renewal.draw(bench)
    if opened:
        entry.draw(bench, opened)
    entries.page(bench, wanted, opened)
    st.stop()
try:
    found = memory.search(query, FOUND, wanted) if query else []
except ToolError:
    found = []
except REFUSED as error:
    st.error(plain(spoken(error)), title=t("Memory can't be searched"))
    st.stop()

left, right = st.columns([7, 5], gap="large")
with left:  # drawn first, because the map of a large memory takes longer
    if query:
        entries.matches(bench, found, opened)
        if not found:
            st.caption(t("Nothing found. Try different or fewer words, or clear the filters."))
    else:
        entries.page(bench, wanted, opened)
    entries.foot(bench, total)
with right:
    memory_map.draw(bench, wanted, opened)
    if opened:
        entry.draw(bench, opened)
