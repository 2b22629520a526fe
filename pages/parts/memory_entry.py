"""One entry of the memory, whole: what it says, what it rests on, where it comes from, and what can be done with it."""

from __future__ import annotations

import streamlit as st

from pages.parts import address, cite, memory_filters, memory_list, memory_note, undo
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import when
from research.errors import ConfigError
from research.memory import Entry
from research.text import clip
from research.workbench import Workbench

SHOWN = 5_000
"""Characters drawn of one text."""


def draw(bench: Workbench, entry_id: str) -> None:
    """The entry of that id, or the reason why there is none."""
    try:
        entry = bench.memory.get(entry_id)
    except ConfigError:
        st.info(t("There is no entry {id} any more; it was forgotten, or made room for others.", id=plain(entry_id)))
        st.button(t("Close"), key="memory-close", on_click=address.put, args=("entry", ""))
        return
    with st.container(key="memory-opened", border=True, gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{t(memory_filters.KIND_NAMES[entry.kind])}**", width="stretch")
            st.button(t("Close"), key="memory-close", icon=":material/close:", type="tertiary",
                      on_click=address.put, args=("entry", ""))  # fmt: skip
        cite.quoted(clip(entry.text, SHOWN))
        if entry.quote and entry.quote.strip() != entry.text:
            st.caption(t("It rests on"))
            cite.quoted(clip(entry.quote, SHOWN))
        _origin(bench, entry)
        _actions(bench, entry)


def _origin(bench: Workbench, entry: Entry) -> None:
    words = [t(memory_filters.WRITTEN[entry.provenance]), when(entry.time), *(f"#{plain(tag)}" for tag in entry.tags)]
    st.caption(" · ".join(words))
    if entry.run:
        st.caption(t("Learned while answering: {question}", question=plain(memory_filters.question(bench, entry.run))))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        memory_list.run(bench, entry)
        memory_list.source(entry)


def _actions(bench: Workbench, entry: Entry) -> None:
    with st.container(horizontal=True, gap="small"):
        memory_note.edit(bench, entry)
        if entry.pinned:
            st.button(t("Unpin"), key="memory-pin", icon=":material/keep_off:", on_click=bench.memory.pin,
                      args=([entry.id], False))  # fmt: skip
        else:
            st.button(t("Pin"), key="memory-pin", icon=":material/keep:", on_click=bench.memory.pin, args=([entry.id],),
                      help=t("A pinned entry never makes room for others."))  # fmt: skip
        st.button(t("Forget"), key="memory-forget", icon=":material/delete:", on_click=_forget, args=(bench, entry))


def _forget(bench: Workbench, entry: Entry) -> None:
    bench.memory.forget([entry.id])
    address.put("entry", "")

    def restore() -> None:
        bench.memory.restore([entry.id])
        address.put("entry", entry.id)

    undo.offer(t("Forgotten: {what}", what=plain(clip(" ".join(entry.text.split()), 60))), restore)
