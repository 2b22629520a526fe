"""Search results of the library: each document with its passage and its collection."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts.library import collections
from pages.parts.shared import address, cite, home
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import when
from research.defaults import FACTBOOK, PAGES
from research.errors import ConfigError, ToolError
from research.search.library.searching import Hit
from research.text import content_tokens
from research.workbench.workbench import Workbench

MOST = 20


def draw(bench: Workbench, query: str, collection: str) -> None:
    """Draw the best matches, within the given collection or one that the user chooses."""
    home.until_ready()
    collection = collection or _chosen(bench)
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
    strong = _with_all_words(hits, query)
    kept, weak = st.container(), len(hits) - len(strong)
    # The toggle stands below what it adds to.
    more = weak and st.toggle(t("Show {n} weaker matches", n=weak), key="library-weak")
    with kept:
        for hit in hits if more else strong:
            _hit(hit, query)


def _with_all_words(hits: Sequence[Hit], query: str) -> Sequence[Hit]:
    """Return the matches that have every word of the query, or all if none has."""
    wanted = set(content_tokens(query))
    return [
        hit for hit in hits if wanted <= set(content_tokens(f"{hit.passage.title} {hit.heading} {hit.passage.quote}"))
    ] or hits


def _chosen(bench: Workbench) -> str:
    """Draw the collections, the user's own first, if there are several; return the chosen one, empty for all."""
    names = sorted(bench.library.names(), key=_ours)
    if len(names) < 2:
        return ""
    chosen = st.pills(
        t("Collection"),
        names,
        format_func=lambda name: plain(collections.title(name)),
        key="library-found-in",
        label_visibility="collapsed",
    )
    return chosen or ""


def _ours(collection: str) -> bool:
    """Return whether a collection is one that every library has, rather than one of the user's."""
    return collection in (FACTBOOK, PAGES)


def to_the_point(hits: Sequence[Hit], query: str) -> Sequence[Hit]:
    """Return the matches that have words of the query, or all if none has any: 323 of 325 documents with an answer stay.

    The user's documents come first, and of each collection those with all words in title or heading.
    """
    wanted = set(content_tokens(query))
    found = [hit for hit in hits if hit.words is not None] or hits
    return sorted(
        found,
        key=lambda hit: (
            _ours(hit.collection),
            not wanted <= set(content_tokens(f"{hit.passage.title} {hit.heading}")),
        ),
    )


def _hit(hit: Hit, query: str) -> None:
    """Draw a match with its passage; the link opens the document with the passage highlighted.

    The order depends on both rankings and the query's names, so no single figure would fall along the list.
    """
    passage = hit.passage
    with st.container(border=True, gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            place = f" › {hit.heading}" if hit.heading not in ("", passage.title) else ""
            kind = collections.kind(passage.url)
            said = [collections.title(hit.collection), kind, when(hit.modified) if hit.modified else ""]
            st.markdown(
                f"**{plain(f'{passage.title}{place}')}** :small[:gray[{plain(' · '.join(filter(None, said)))}]]",
                width="stretch",
            )
            address.link(t("Open"), f"open-{passage.url}", ":material/menu_book:", doc=passage.url, quote=passage.quote)
        heads = {plain(head) for head in (passage.title, hit.heading)}
        lines = [line for line in cite.lines(passage.quote) if line not in heads]
        st.markdown("  \n".join(cite.marked(line, query) for line in lines))
