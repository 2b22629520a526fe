"""The entries of the memory as a dense list: what each says, how well it answers, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts import address, cite, memory_filters
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import when
from research.exports.csl import web
from research.memory import Entry, Filters, Found
from research.text import clip
from research.workbench import Workbench

PAGE = "pages/memory.py"
RUNS = "pages/runs.py"
ROWS = 25
"""Entries on a page of the list."""
TEXT, TITLE, QUOTED = 240, 48, 1_500
"""Characters of a text and of a source's title in the list, and of a quote in a link."""


def page(bench: Workbench, wanted: Filters, opened: str) -> None:
    """A page of what the filters leave, newest first, with the way to the others."""
    number = st.query_params.get("page", "")
    number_of = max(0, int(number[:6]) - 1) if number.isdecimal() else 0
    found = bench.memory.entries(wanted, ROWS + 1, number_of * ROWS)
    draw(bench, found[:ROWS], opened)
    if not found:
        st.caption(t("No entry is left by these filters."))
    if number_of or len(found) > ROWS:
        with st.container(horizontal=True):
            st.button(t("Newer"), key="memory-newer", icon=":material/chevron_left:", disabled=not number_of,
                      on_click=_turn, args=(number_of - 1,))  # fmt: skip
            st.button(t("Older"), key="memory-older", icon=":material/chevron_right:", disabled=len(found) <= ROWS,
                      on_click=_turn, args=(number_of + 1,))  # fmt: skip


def _turn(number: int) -> None:
    address.put("page", str(number + 1) if number else "")


def foot(bench: Workbench, total: int) -> None:
    """How full the memory is."""
    pinned = bench.memory.count(Filters(pinned=True))
    said = t(
        "{n} of {capacity} entries, {pinned} pinned.",
        n=f"{total:,}",
        capacity=f"{bench.memory.capacity:,}",
        pinned=f"{pinned:,}",
    )
    if total >= bench.memory.capacity:
        said = f"{said} {t('It is full: the oldest that is not pinned makes room for a new one.')}"
    st.caption(said)


def draw(bench: Workbench, entries: Sequence[Entry | Found], opened: str) -> None:
    """One row an entry; what was found by a search has its likeness to the query before it."""
    with st.container(key="memory-list", gap=None):
        for each in entries:
            entry = each.entry if isinstance(each, Found) else each
            mark = "open" if entry.id == opened else "row"
            with st.container(key=f"memory-{mark}-{entry.id}", gap="xxsmall"):
                _row(bench, entry, each if isinstance(each, Found) else None)


def _row(bench: Workbench, entry: Entry, found: Found | None) -> None:
    pin = ":material/keep: " if entry.pinned else ""
    with st.container(
        key=f"memory-text-{entry.id}", horizontal=True, vertical_alignment="center", gap="small", wrap=False
    ):
        if found:
            _score(found)
        st.page_link(
            PAGE, label=pin + plain(clip(" ".join(entry.text.split()), TEXT)),
            query_params={**memory_filters.kept(), "entry": entry.id}, width="stretch",
        )  # fmt: skip
    with st.container(key=f"memory-from-{entry.id}", horizontal=True, vertical_alignment="center", gap="small"):
        words = [t(memory_filters.KIND_NAMES[entry.kind]), how(found) if found else when(entry.time)]
        if entry.provenance != "user":
            words.append(t(memory_filters.WRITTEN[entry.provenance]))
        tags = [f"#{plain(tag)}" for tag in entry.tags]
        st.caption(" · ".join([*words, *tags]), width="content")
        run(bench, entry)
        source(entry)


def _score(found: Found) -> None:
    """Likeness as a bar."""
    likeness = max(0.0, min(1.0, found.cosine))
    st.progress(likeness, f"{likeness:.2f}", width=64)


def how(found: Found) -> str:
    """By which of the two searches it was found, in words."""
    if found.by_words and found.by_meaning:
        return t("No. {words} by words, no. {meaning} by meaning", words=found.by_words, meaning=found.by_meaning)
    if found.by_words:
        return t("No. {words} by words", words=found.by_words)
    return t("No. {meaning} by meaning", meaning=found.by_meaning)


def run(bench: Workbench, entry: Entry) -> None:
    """Where it was learned: the run, at the round in which its source was seen."""
    if not entry.run:
        return
    asked = plain(memory_filters.question(bench, entry.run))
    st.page_link(
        RUNS, label=t("Run, round {n}", n=entry.round) if entry.round else t("Run"), icon=":material/history:",
        query_params={"run": entry.run, **({"round": str(entry.round)} if entry.round else {})}, help=asked,
    )  # fmt: skip


def source(entry: Entry) -> None:
    """Its source: a document of the library or a page of the web; anything else is named and not linked."""
    title = plain(clip(entry.title or entry.url, TITLE))
    if entry.url.startswith("library://"):
        parameters = {"doc": entry.url, "quote": clip(entry.quote or entry.text, QUOTED)}
        st.page_link(cite.LIBRARY, label=title, icon=":material/menu_book:", query_params=parameters)
    elif web(entry.url):
        st.page_link(entry.url, label=title, icon=":material/open_in_new:", help=plain(entry.url))
    elif title:
        st.caption(title, width="content")
