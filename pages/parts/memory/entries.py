"""Memory entries as a dense list: text, rank and origin."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts.memory import filters
from pages.parts.shared import cite, paging
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import when
from research.exports.csl import web
from research.memory import Entry, Filters, Match
from research.text import clip
from research.workbench.workbench import Workbench

PAGE = "pages/memory.py"
RUNS = "pages/runs.py"
ROWS = 25
"""Entries per page."""
TEXT, TITLE, QUOTED = 240, 48, 1_500
"""Maximum characters of a text and a source title in the list, and of a quote in a link."""


def page(bench: Workbench, wanted: Filters, opened: str) -> None:
    """Draw a page of the matching entries, newest first, with paging buttons."""
    found = bench.memory.entries(wanted, ROWS + 1, paging.number() * ROWS)
    draw(bench, found[:ROWS], opened)
    if not found:
        st.caption(t("No entries match these filters."))
    more = len(found) > ROWS
    if more or paging.number():
        with st.container(horizontal=True):
            paging.buttons("memory", t("Newer"), t("Older"), more)


def foot(bench: Workbench, total: int) -> None:
    """Draw how full the memory is."""
    pinned = bench.memory.count(Filters(pinned=True))
    text = t(
        "{n} of {capacity} entries, {pinned} pinned.",
        n=f"{total:,}",
        capacity=f"{bench.memory.capacity:,}",
        pinned=f"{pinned:,}",
    )
    if total >= bench.memory.capacity:
        full = t("Memory is full: each new entry replaces the oldest one that isn't pinned.")
        text = f"{text} {full}"
    st.caption(text)


def draw(bench: Workbench, entries: Sequence[Entry | Match], opened: str) -> None:
    """Draw one row per entry; search results also show their similarity."""
    with st.container(key="memory-list", gap=None):
        for each in entries:
            entry = each.entry if isinstance(each, Match) else each
            mark = "open" if entry.id == opened else "row"
            with st.container(key=f"memory-{mark}-{entry.id}", gap="xxsmall"):
                _row(bench, entry, each if isinstance(each, Match) else None)


def _row(bench: Workbench, entry: Entry, found: Match | None) -> None:
    pin = ":material/keep: " if entry.pinned else ""
    with st.container(
        key=f"memory-text-{entry.id}", horizontal=True, vertical_alignment="center", gap="small", wrap=False
    ):
        if found:
            _score(found)
        st.page_link(
            PAGE,
            label=pin + plain(clip(" ".join(entry.text.split()), TEXT)),
            query_params={**filters.for_links(), "entry": entry.id},
            width="stretch",
        )
    with st.container(key=f"memory-from-{entry.id}", horizontal=True, vertical_alignment="center", gap="small"):
        words = [t(filters.KIND_NAMES[entry.kind]), how(found) if found else when(entry.time)]
        if entry.provenance != "user":
            words.append(t(filters.WRITTEN[entry.provenance]))
        tags = [f"#{plain(tag)}" for tag in entry.tags]
        st.caption(" · ".join([*words, *tags]), width="content")
        run(bench, entry)
        source(entry)


def _score(found: Match) -> None:
    """Draw the similarity as a bar."""
    likeness = max(0.0, min(1.0, found.cosine))
    st.progress(likeness, f"{likeness:.2f}", width=64)


def how(found: Match) -> str:
    """Return the position in the keyword and the semantic ranking."""
    if found.word_rank and found.meaning_rank:
        return t("No. {words} by words, no. {meaning} by meaning", words=found.word_rank, meaning=found.meaning_rank)
    if found.word_rank:
        return t("No. {words} by words", words=found.word_rank)
    return t("No. {meaning} by meaning", meaning=found.meaning_rank)


def run(bench: Workbench, entry: Entry) -> None:
    """Draw a link to the run and round in which the entry was learned."""
    if not entry.run:
        return
    question = plain(filters.question(bench, entry.run))
    st.page_link(
        RUNS,
        label=t("Run, round {n}", n=entry.round) if entry.round else t("Run"),
        icon=":material/history:",
        query_params={"run": entry.run, **({"round": str(entry.round)} if entry.round else {})},
        help=question,
    )


def source(entry: Entry) -> None:
    """Draw the source of an entry; only library documents and web pages are links."""
    title = plain(clip(entry.title or entry.url, TITLE))
    if entry.url.startswith("library://"):
        parameters = {"doc": entry.url, "quote": clip(entry.quote or entry.text, QUOTED)}
        st.page_link(cite.LIBRARY, label=title, icon=":material/menu_book:", query_params=parameters)
    elif web(entry.url):
        st.page_link(entry.url, label=title, icon=":material/open_in_new:", help=plain(entry.url))
    elif title:
        st.caption(title, width="content")
