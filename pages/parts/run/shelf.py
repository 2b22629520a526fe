"""The sources of the next run as chips: the collections of the library, the web, and services that are set up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import streamlit as st

from pages.parts.library import collections, folders
from pages.parts.shared import form_state
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import unique_labels
from research.defaults import FACTBOOK
from research.events.recipe import FOLDERS, LIBRARY
from research.search.web import configured
from research.workbench.workbench import Workbench

SOURCES: Final = "sources"
"""Form key of the chosen chips: collections, `web`, and names of services."""
EVERY, SAME = "*", "="
"""In a filled form: every folder of the library; the folders as they were chosen before."""
_KNOWN, _LAST = "sources-known", "sources-last"
"""Session keys of the folders that were offered before, and of those chosen last."""


def filled(search: Sequence[str], own: Sequence[str] | None, *, keep: bool = False) -> list[str]:
    """Return the chips for the sources and folders of a recipe; `own` None: every folder; `keep`: those chosen before."""
    others = [name for name in search if name not in (LIBRARY, FOLDERS)]
    mine = [SAME] if keep else [EVERY] if own is None else list(own)
    return [*([FACTBOOK] if LIBRARY in search else []), *mine, *others]


def chosen_folders(bench: Workbench) -> list[str]:
    """Return the user's own collections among the chosen sources, also before their chips are drawn."""
    own = bench.folders()
    chosen = _chosen(st.session_state.get(form_state.key(SOURCES)), own)
    return [name for name in own if name in chosen]


def pick(bench: Workbench, place: str, *, searching: bool = True) -> dict[str, Any]:
    """Draw the chips, and how to add documents; return `search` and `folders` of `Workbench.recipe`.

    Later additions to the library are chosen, too.  `place` distinguishes the forms of two pages.
    """
    state, own = st.session_state, bench.folders()
    key = form_state.key(SOURCES)
    services = [name for name in bench.sources() if name not in (LIBRARY, "web")]
    chosen = _chosen(state.get(key), own)
    brought = sorted(chosen - {FACTBOOK, "web", EVERY, SAME, *own, *services})
    # An evaluation's documents are a source only if one of its questions is asked again.
    asked = [name for name in brought if name not in bench.library.unknown(brought)]
    ready = [
        name for name in services if name in chosen or (name in configured(bench.settings) and name != "duckduckgo")
    ]
    known = [FACTBOOK, *own, *asked, "web", *ready]
    wanted = [name for name in known if name in chosen]
    if wanted != state.get(key):
        state[key] = wanted
    names = unique_labels(known, _title)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"sources-{place}"):
        st.caption(
            t("Sources"),
            width="content",
            help=t(
                "What `search` looks through. Choose a source to take it away or put it back. Web services see the queries, "
                "which may contain words of your documents."
            ),
        )
        picked = st.pills(
            t("Sources"),
            known,
            selection_mode="multi",
            key=key,
            format_func=lambda name: plain(names(name)),
            label_visibility="collapsed",
            persist_state="session",
            wrap=True,
            disabled=not searching,
            width="content",
        )
        with st.popover(t("Add documents"), icon=":material/upload_file:", type="tertiary"):
            folders.add_documents(bench, "options")
        left = [name for name in services if name not in ready]
        if left:
            with st.popover(t("Only one web service"), icon=":material/public:", type="tertiary"):
                st.pills(
                    t("Search only this web service"),
                    left,
                    key=f"one-service-{place}",
                    on_change=_with_service,
                    args=(place, key),
                    wrap=True,
                )
    state[_LAST], state[_KNOWN] = [name for name in picked if name in own], own
    return _sources(picked, [*own, *asked])


def _chosen(given: Sequence[str] | None, own: Sequence[str]) -> set[str]:
    """Return the chosen chips: at first the whole library; later those chosen and the library's additions."""
    if given is None:
        return {FACTBOOK, *own}
    before = st.session_state.get(_KNOWN)
    new = set(own) - set(own if before is None else before)
    same = st.session_state.get(_LAST, own) if SAME in given else ()
    return {*given, *new, *same, *(own if EVERY in given else ())}


def _sources(picked: Sequence[str], own: Sequence[str]) -> dict[str, Any]:
    folders_chosen = tuple(name for name in picked if name in own)
    inside = [LIBRARY] if FACTBOOK in picked else [FOLDERS] if folders_chosen else []
    others = [name for name in picked if name != FACTBOOK and name not in own]
    return {"search": (*inside, *others), "folders": folders_chosen}


def _with_service(place: str, key: str) -> None:
    if name := st.session_state.get(f"one-service-{place}"):
        st.session_state[key] = [*(each for each in st.session_state.get(key, []) if each != "web"), name]


def _title(name: str) -> str:
    return t("Web") if name == "web" else collections.title(name)
