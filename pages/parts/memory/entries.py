"""Memory entries as a dense list: text, rank and origin."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts.memory import filters, similar
from pages.parts.shared import cite, paging
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import ago
from research.exports.blocks import content, parse
from research.exports.csl_json import web
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
    """Draw one row per entry, near-duplicates in one; search results also say how well they match."""
    with st.container(key="memory-list", gap=None):
        for place, (each, others) in enumerate(similar.merged(entries)):
            entry = similar.entry_of(each)
            mark = "open" if opened in (entry.id, *(other.id for other in others)) else "row"
            with st.container(key=f"memory-{mark}-{entry.id}", gap="xxsmall"):
                _row(bench, entry, _match(each, place), others)


def matches(bench: Workbench, found: Sequence[Match], opened: str) -> None:
    """Draw the results of a search; weak ones only after the user asks for them."""
    strong = similar.strong(found)
    weak = len(found) - len(strong)
    everything = weak and st.session_state.get("memory-weak", False)
    draw(bench, found if everything else strong, opened)
    if weak:
        st.toggle(t("Show {n} weaker matches", n=weak), key="memory-weak")


def _match(each: Entry | Match, place: int) -> str:
    """Return how well a result matches, in words; empty for an entry that was not searched for."""
    if isinstance(each, Entry):
        return ""
    return t("Related") if place else f"**{t('Best match')}**"


def _row(bench: Workbench, entry: Entry, match: str, others: Sequence[Entry]) -> None:
    pin = ":material/keep: " if entry.pinned else ""
    about = similar.subject(entry)
    words = plain(clip(" ".join(content(parse(clip(entry.text, 10 * TEXT), cited=False)).split()), TEXT))
    words = cite.marked(words, filters.query())
    with st.container(key=f"memory-text-{entry.id}"):
        st.page_link(
            PAGE,
            label=pin + (f"**{plain(about)}**: {words}" if about else words),
            query_params={**filters.for_links(), "entry": entry.id},
            width="stretch",
        )
    with st.container(key=f"memory-from-{entry.id}", horizontal=True, vertical_alignment="center", gap="small"):
        said = [*filter(None, [match]), t(filters.KIND_NAMES[entry.kind])]
        said.append(t("learned {when}", when=ago(entry.time)) if entry.run else ago(entry.time))
        if entry.provenance != "user":
            said.append(t(filters.WRITTEN[entry.provenance]))
        tags = [f"#{plain(tag)}" for tag in entry.tags]
        st.caption(" · ".join([*said, *tags]), width="content")
        run(bench, entry)
        source(entry)
        for other in others:
            st.page_link(
                PAGE,
                label=t("also kept as {kind}", kind=t(filters.WRITTEN[other.provenance])),
                query_params={**filters.for_links(), "entry": other.id},
            )


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
