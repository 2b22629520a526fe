"""Library: what `search` looks through, and each document of it."""

from __future__ import annotations

import streamlit as st

from pages.parts import document, folders, home
from pages.parts.safe import plain
from pages.parts.words import count
from research.errors import ToolError
from research.search.library import FACTBOOK

home.start_with_app()
bench = home.bench()
EVERY_S = 2.0


@st.dialog("Forget this folder?")
def forget(name: str) -> None:
    """Asks once; the files themselves are never touched."""
    st.markdown(f"{plain(name)} will no longer be searched. Its files stay where they are.")
    if st.button("Forget", type="primary", icon=":material/delete:"):
        bench.library.remove(name)
        st.rerun()


def collections() -> None:
    """Each collection with its numbers; vectors join while they are made."""
    for info in bench.library.collections():
        with st.container(horizontal=True, vertical_alignment="center", border=True):
            name = "CIA World Factbook" if info.name == FACTBOOK else info.name
            vectors = f"{info.vectors:,} of {info.passages:,} vectors ready"
            numbers = f"{count(info.documents, 'document')} · {count(info.passages, 'passage')} · {vectors}"
            st.markdown(f"**{plain(name)}**  \n:gray[{numbers}]", width="stretch")
            if info.name != FACTBOOK:
                st.button("Forget", key=f"forget-{info.name}", on_click=st.session_state.__setitem__,
                          args=("forget", info.name), icon=":material/delete:", type="tertiary")  # fmt: skip


url = st.query_params.get("doc", "")
if url:
    document.draw(bench.library, url, st.query_params.get("quote", ""))
    st.stop()

query = st.text_input(
    "Search the library", type="search", placeholder="Search the library", label_visibility="collapsed"
)
if query:
    home.until_ready()
    try:
        with st.spinner("Searching"):
            results = bench.library.search(query)
    except ToolError as error:
        st.error(plain(str(error)))
        results = []
    for passage in results:
        document.result(passage)
    if not results:
        st.caption("Nothing found; try other or fewer words.")
else:
    missing = sum(info.passages - info.vectors for info in bench.library.collections())
    st.fragment(collections, run_every=EVERY_S if missing or home.preparing() else None)()
    st.caption("Words are searchable at once. Vectors let a search find the same meaning in other words.")
    st.subheader("Your own documents", anchor=False)
    folders.add(bench, "library")
if name := st.session_state.pop("forget", None):
    forget(name)
