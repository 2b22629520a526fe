"""One memory entry in full, with its source, origin and actions."""

from __future__ import annotations

import re
from collections.abc import Callable

import streamlit as st

from pages.parts.memory import entries, filters, note
from pages.parts.shared import address, cite, undo
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain, prose
from pages.parts.shared.words import when
from research.errors import ConfigError
from research.memory import Entry
from research.text import clip
from research.workbench.workbench import Workbench

SHOWN = 5_000
"""Maximum characters of a text."""
_BREAK = re.compile(r"(?<=\S)\n(?=\S)")


def draw(bench: Workbench, entry_id: str) -> None:
    """Draw the entry with that id, or a note that it no longer exists."""
    try:
        entry = bench.memory.get(entry_id)
    except ConfigError:
        st.info(t("Entry {id} no longer exists: it was removed or replaced.", id=plain(entry_id)))
        st.button(t("Close"), key="memory-close", on_click=address.put, args=("entry", ""))
        return
    with st.container(key="memory-opened", border=True, gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{t(filters.KIND_NAMES[entry.kind])}**", width="stretch")
            st.button(
                t("Close"),
                key="memory-close",
                icon=":material/close:",
                type="tertiary",
                on_click=address.put,
                args=("entry", ""),
            )
        _text(entry)
        if entry.quote and entry.quote.strip() != entry.text:
            st.caption(t("Based on"))
            cite.quoted(clip(entry.quote, SHOWN))
        _origin(bench, entry)
        _actions(bench, entry)


def _text(entry: Entry) -> None:
    """Draw a page's words literally, and a model's or user's words as Markdown."""
    text = clip(entry.text, SHOWN)
    if entry.provenance == "page":
        cite.quoted(text)
        return
    with st.container(border=True):
        # a note keeps its lines
        st.markdown(prose(_BREAK.sub("  \n", text) if entry.provenance == "user" else text), anchors=False)


def _origin(bench: Workbench, entry: Entry) -> None:
    words = [t(filters.WRITTEN[entry.provenance]), when(entry.time), *(f"#{plain(tag)}" for tag in entry.tags)]
    st.caption(" · ".join(words))
    if entry.run:
        st.caption(t("Learned while answering: {question}", question=plain(filters.question(bench, entry.run))))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        entries.run(bench, entry)
        entries.source(entry)


def _actions(bench: Workbench, entry: Entry) -> None:
    # Separate keys: a click that arrives after another entry was opened must not change it.
    pin, forget = (f"memory-{action}-{entry.id}" for action in ("pin", "forget"))
    with st.container(horizontal=True, gap="small"):
        note.edit(bench, entry)
        if entry.pinned:
            st.button(
                t("Unpin"),
                key=pin,
                icon=":material/keep_off:",
                on_click=bench.memory.pin,
                args=([entry.id], False),
            )
        else:
            st.button(
                t("Pin"),
                key=pin,
                icon=":material/keep:",
                on_click=bench.memory.pin,
                args=([entry.id],),
                help=t("A pinned entry is never replaced."),
            )
        undo.delete_button(
            t("Remove"),
            forget,
            lambda: _forget(bench, entry),
            t("Removed: {what}", what=plain(clip(" ".join(entry.text.split()), 60))),
            type="secondary",
        )


def _forget(bench: Workbench, entry: Entry) -> Callable[[], None]:
    bench.memory.forget([entry.id])
    address.put("entry", "")

    def restore() -> None:
        bench.memory.restore([entry.id])
        address.put("entry", entry.id)

    return restore
