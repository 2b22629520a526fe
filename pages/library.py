"""Library: what `search` looks through, and each document of it."""

from __future__ import annotations

import streamlit as st

from pages.parts import address, document, folders, home, library_browse, library_collections, library_search, upload
from pages.parts.language import t
from pages.parts.safe import plain

home.start_with_app()

url, collection = st.query_params.get("doc", ""), st.query_params.get("collection", "")
if url:
    document.draw(home.bench().library, url, st.query_params.get("quote", ""))
    st.stop()

query = st.query_params.get("q", "")
place = t("Search {name}", name=library_collections.title(collection)) if collection else t("Search the library")
box = address.shows("library-q", query)
st.text_input(
    plain(place), key=box, type="search", placeholder=place, label_visibility="collapsed",
    on_change=address.changed, args=(box, address.put, "q"),
)  # fmt: skip
messages = st.container(gap="xsmall")
bench = home.bench()
with messages:
    library_collections.said()
if query:
    if collection:
        back = t("Back to {name}", name=plain(library_collections.title(collection)))
        address.link(back, "library-back", ":material/arrow_back:", q="")
    library_search.draw(bench, query, collection)
elif collection:
    library_browse.draw(bench, collection)
else:
    above = st.container()
    st.subheader(t("Your own documents"), anchor=False)
    folder, files = st.columns(2, gap="large")
    with folder:
        folders.add(bench, "library")
    with files:
        upload.draw(bench, "library")
    with above:
        library_collections.draw(bench)
        st.caption(t("Words are searchable at once. Vectors let a search find the same meaning in other words."))
