"""Search results of the library: each document with its passage and its collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from pages.parts.library import collections
from pages.parts.shared import address, cite, home
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.errors import ConfigError, ToolError
from research.search.library.searching import Hit
from research.text import content_tokens
from research.workbench.workbench import Workbench

MOST = 20


def draw(bench: Workbench, query: str, collection: str) -> None:
    """Draw the best matches, within one collection if given."""
    home.until_ready()
    try:
        with st.spinner(t("Searching")):
            hits = to_the_point(bench.library.scored(query, MOST, [collection] if collection else None), query)
    except (ToolError, ConfigError) as error:
        st.error(plain(spoken(error)))
        return
    if not hits:
        st.caption(t("Nothing found. Try different or fewer words."))
    elif all(hit.cosine is None for hit in hits):
        st.caption(t("Keyword matches only: the semantic index is still being built."))
    elif all(hit.words is None for hit in hits):
        st.caption(t("No document contains these words. These are the closest in meaning:"))
    shown = _within(hits)
    strong = _with_all_words(shown, query)
    kept, weak = st.container(), len(shown) - len(strong)
    # The toggle stands below what it adds to.
    more = weak and st.toggle(t("Show {n} weaker matches", n=weak), key="library-weak")
    with kept:
        for hit in shown if more else strong:
            _hit(hit, query)


def _with_all_words(hits: Sequence[Hit], query: str) -> Sequence[Hit]:
    """Return the matches that have every word of the query, or all if none has."""
    wanted = set(content_tokens(query))
    return [
        hit for hit in hits if wanted <= set(content_tokens(f"{hit.passage.title} {hit.heading} {hit.passage.quote}"))
    ] or hits


def _within(hits: Sequence[Hit]) -> Sequence[Hit]:
    """Draw the collections that the matches are in, if there are several, and return the matches in the chosen one."""
    found = Counter(hit.collection for hit in hits)
    if len(found) < 2:
        return hits
    chosen = st.pills(
        t("Collection"),
        list(found),
        format_func=lambda name: plain(f"{collections.title(name)} {found[name]}"),
        key="library-found-in",
        label_visibility="collapsed",
    )
    return [hit for hit in hits if chosen in (None, hit.collection)]


def to_the_point(hits: Sequence[Hit], query: str) -> Sequence[Hit]:
    """Return the matches that have words of the query, or all if none has any: 323 of 325 documents with an answer stay.

    Those with all words in title or heading come first.
    """
    wanted = set(content_tokens(query))
    found = [hit for hit in hits if hit.words is not None] or hits
    return sorted(found, key=lambda hit: not wanted <= set(content_tokens(f"{hit.passage.title} {hit.heading}")))


def _hit(hit: Hit, query: str) -> None:
    """Draw a match with its passage; the link opens the document with the passage highlighted.

    The order depends on both rankings and the query's names, so no single figure would fall along the list.
    """
    passage = hit.passage
    with st.container(border=True, gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            place = f" › {hit.heading}" if hit.heading not in ("", passage.title) else ""
            st.markdown(
                f"**{plain(f'{passage.title}{place}')}** :small[:gray[{plain(collections.title(hit.collection))}]]",
                width="stretch",
            )
            address.link(t("Open"), f"open-{passage.url}", ":material/menu_book:", doc=passage.url, quote=passage.quote)
        heads = {plain(head) for head in (passage.title, hit.heading)}
        lines = [line for line in cite.lines(passage.quote) if line not in heads]
        st.markdown("  \n".join(cite.marked(line, query) for line in lines))
