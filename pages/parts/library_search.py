"""A search of the library: what was found, how near it is, where it belongs."""

from __future__ import annotations

import streamlit as st

from pages.parts import address, home, library_collections
from pages.parts.language import t
from pages.parts.safe import plain
from research.errors import ConfigError, ToolError
from research.search.library import Hit
from research.workbench import Workbench

MOST = 20


def draw(bench: Workbench, query: str, collection: str) -> None:
    """The documents that answer best, within one collection where one is named."""
    home.until_ready()
    try:
        with st.spinner(t("Searching")):
            hits = bench.library.scored(query, MOST, [collection] if collection else None)
    except (ToolError, ConfigError) as error:
        st.error(plain(str(error)))
        return
    if not hits:
        st.caption(t("Nothing found; try other or fewer words."))
    elif all(hit.cosine is None for hit in hits):
        st.caption(
            t("Found by words. Vectors are still being made; then the same meaning in other words is found too.")
        )
    for hit in hits:
        _hit(hit)


def _hit(hit: Hit) -> None:
    """What it is, how near, and the lines that answer; a link opens it with these marked."""
    passage = hit.passage
    with st.container(border=True, gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            where = plain(library_collections.title(hit.collection))
            st.markdown(f"**{plain(passage.title)}** :small[:gray[{where}]]", width="stretch")
            if hit.cosine is not None:
                with st.container(width=220):
                    st.progress(min(1.0, max(0.0, hit.cosine)), f":small[:gray[{_ranks(hit)}]]")
            else:
                st.markdown(f":small[:gray[{_ranks(hit)}]]", width="content")
            address.link(t("Open"), f"open-{passage.url}", ":material/menu_book:", doc=passage.url, quote=passage.quote)
        st.markdown("  \n".join(plain(line) for line in passage.quote.splitlines() if line.strip()))


def _ranks(hit: Hit) -> str:
    """The cosine, and the place in each of the two rankings."""
    parts = [] if hit.cosine is None else [f"{hit.cosine:.2f}"]
    if hit.words:
        parts.append(t("words {rank}", rank=hit.words))
    if hit.meaning:
        parts.append(t("meaning {rank}", rank=hit.meaning))
    return " · ".join(parts)
