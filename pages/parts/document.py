"""A document of the library, with the passage that was quoted from it."""

from __future__ import annotations

import streamlit as st

from pages.parts import cite
from pages.parts.safe import plain
from pages.parts.words import count
from research.errors import ToolError
from research.search.library import Library
from research.types import Passage, Source

SHOWN = 60_000
"""Characters drawn of one document."""


def result(passage: Passage) -> None:
    """One hit of a search."""
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**{plain(passage.title)}**")
        cite.quoted(passage.quote)
        cite.link(Source(0, passage.url, passage.title, passage.quote))


def draw(library: Library, url: str, quote: str = "") -> None:
    """The whole text, the quoted lines marked."""
    st.page_link(cite.LIBRARY, label="All of the library", icon=":material/arrow_back:")
    try:
        document = library.open(url)
    except ToolError as error:
        st.error(plain(str(error)), title="No such document")
        return
    st.header(plain(document.title), anchor=False)
    st.caption(plain(document.url))
    wanted = [" ".join(line.split()) for line in quote.splitlines() if line.strip()]
    lines = [" ".join(line.split()) for line in document.text[:SHOWN].splitlines()]
    marked = {index for index, line in enumerate(lines) for want in wanted if _holds(line, want)}
    if wanted and marked:
        st.caption(f"The quoted passage is marked: {count(len(marked), 'line')} of {len(lines):,}.")
    elif wanted:
        st.caption("The quoted passage is:")
        cite.quoted(quote)
    with st.container(width=760):
        # Two spaces keep the lines of the source; an empty one still parts two paragraphs.
        text = (f":primary-background[{plain(line)}]" if i in marked else plain(line) for i, line in enumerate(lines))
        st.markdown("  \n".join(text))
    if len(document.text) > SHOWN:
        st.caption(f"The first {SHOWN:,} of {len(document.text):,} characters are shown.")


def _holds(line: str, quote: str) -> bool:
    """A quote may be cut at either end, or be one line of several."""
    pieces = [piece.strip() for piece in quote.split("…") if len(piece.strip()) > 3]
    return bool(pieces) and (all(piece in line for piece in pieces) or (len(line) > 20 and line in quote))
