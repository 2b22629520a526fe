"""The search over everything: its button at the top of every page, and the dialog that it and Ctrl-K open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from pages.parts.search import found
from pages.parts.shared import component, home
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain

FEW, MANY = 4, 20
"""Results of each kind while all are shown, and of the only one."""
EVERY: Final = ""
ICONS: Final = {"run": "history", "report": "article", "memory": "neurology", "document": "menu_book"}


def draw(pages: Sequence[str]) -> None:
    """Draw the button, which names the key; `static/workbench.js` presses it when the key is pressed.

    The script learns the addresses of the `pages`.
    """
    key = "⌘K" if "Mac" in (st.context.headers.get("User-Agent") or "") else "Ctrl K"
    label = f"{t('Search')} :small[{key}]"
    with st.container(key="search-everything"):
        st.button(label, key="search-open", icon=":material/manage_search:", on_click=_open)
        component.draw("search-keys", {"kind": "search", "pages": list(pages)})
    if st.session_state.pop("search-asked", False):
        st.dialog(t("Search everything"), width="medium")(_dialog)()


def _open() -> None:
    st.session_state["search-asked"] = True
    for key in ("search-query", "search-kind"):
        st.session_state.pop(key, None)


def _dialog() -> None:
    with st.container(key="search-dialog", gap="small"):
        query = st.text_input(
            t("Search everything"),
            key="search-query",
            type="search",
            live=True,
            placeholder=t("Runs, reports, memory and library"),
            label_visibility="collapsed",
        )
        names = {EVERY: t("All"), **{kind: t(name) for kind, name in found.KINDS.items()}}
        kind = st.segmented_control(
            t("Kind"),
            list(names),
            default=EVERY,
            required=True,
            key="search-kind",
            format_func=names.__getitem__,
            label_visibility="collapsed",
        )
        _results((query or "").strip(), kind or EVERY)
        st.caption(t("↑ and ↓ choose a result, Enter opens it, Escape closes the search."))


def _results(query: str, kind: str) -> None:
    if not query:
        return
    kinds = [kind] if kind else list(found.KINDS)
    if home.preparing() and "document" in kinds:
        kinds.remove("document")
        st.caption(t("The library is still being indexed and is not searched yet."))
    results, problems = found.everything(home.bench(), query, kinds, MANY if kind else FEW)
    for problem in problems:
        st.caption(f":orange[{plain(problem)}]")
    if not results:
        st.markdown(t("Nothing found. Try different or fewer words."))
    with st.container(key="search-results", gap="xxsmall"):
        before = ""
        for place, each in enumerate(results):
            if each.kind != before and not kind:
                st.caption(f"**{t(found.KINDS[each.kind])}**")
            before = each.kind
            label = f"**{plain(each.title)}** :small[:gray[{plain(each.about)}]]"
            if each.excerpt:
                label += f"  \n:small[{plain(each.excerpt)}]"
            icon = f":material/{ICONS[each.kind]}:"
            if st.button(label, key=f"search-result-{place}", icon=icon, type="tertiary", width="stretch", wrap=True):
                st.switch_page(each.page, query_params=each.query)
