"""The Library page: the collections that `search` looks through, and their documents."""

from __future__ import annotations

import streamlit as st

from pages.parts.library import browse, collections, document, folders, search
from pages.parts.shared import address, home
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain

home.start_with_app()

url = address.named("doc", t("The address names no document."), t("All documents"))
collection = address.named("collection", t("The address names no collection."), t("All collections"))
if url:
    document.draw(home.bench().library, url, st.query_params.get("quote", ""))
    st.stop()

query = st.query_params.get("q", "")
head = st.container(gap="small")
if not collection:
    head.title(t("Library"), anchor=False)
place = t("Search {name}", name=collections.title(collection)) if collection else t("Search the library")
box = address.shows("library-q", query)
st.text_input(
    plain(place),
    key=box,
    type="search",
    placeholder=place,
    label_visibility="collapsed",
    on_change=address.changed,
    args=(box, address.put, "q"),
)
messages = st.container(gap="xsmall")
bench = home.bench()
with messages:
    collections.refresh(bench)
if collection:
    with head:
        info = browse.head(bench, collection, searching=bool(query))
    if query:
        search.draw(bench, query, collection)
    elif info:
        browse.draw(bench, info)
elif query:
    search.draw(bench, query, "")
else:
    above = st.container()
    st.subheader(t("Add documents"), anchor=False)
    folders.add_documents(bench, "library")
    with above:
        collections.draw(bench)
