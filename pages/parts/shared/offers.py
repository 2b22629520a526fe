"""Offers of model servers that run on this machine; the search for them never delays a page."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared import home, models
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.errors import REFUSED
from research.workbench import detect
from research.workbench.detect import Detection, Server
from research.workbench.workbench import Workbench

LOOK_EVERY_S = 0.5
_SEARCH = "server-search"


def draw(bench: Workbench) -> None:
    """Draw an offer for each server that was found and is not used yet."""
    search: Detection | None = st.session_state.get(_SEARCH) or home.detection()
    if search is None:
        return
    if search.is_alive():
        st.fragment(_wait, run_every=LOOK_EVERY_S)(search)
        return
    found = detect.offered(bench, search.servers, again=_SEARCH in st.session_state)
    for server in found:
        _offer(bench, server)
    if not found and _SEARCH in st.session_state:
        st.caption(t("No further model server was found on this computer."))


def search_button() -> None:
    """Draw the button that looks for servers now."""
    st.button(
        t("Look for local servers"),
        key="look-for-servers",
        icon=":material/search:",
        on_click=_search,
        help=t("Asks the usual ports of Ollama, LM Studio, llama.cpp, vLLM and SGLang on this computer."),
    )


def _search() -> None:
    st.session_state[_SEARCH] = Detection()


def _wait(search: Detection) -> None:
    if not search.is_alive():
        st.rerun()


def _offer(bench: Workbench, server: Server) -> None:
    with st.container(border=True, key=f"offer-{server.name}", horizontal=True, vertical_alignment="center"):
        st.markdown(
            ":material/computer: "
            + t("{server} is running with {model}. Use it?", server=server.title, model=f"`{plain(server.model)}`")
        )
        with st.container(horizontal=True, horizontal_alignment="right", width="content"):
            st.button(
                t("Use it"),
                key=f"use-{server.name}",
                type="primary",
                on_click=_use,
                args=(bench, server),
                help=t("Adds it as an endpoint and chooses its model for new runs."),
            )
            st.button(
                t("No, thanks"),
                key=f"decline-{server.name}",
                type="tertiary",
                on_click=detect.decline,
                args=(bench, server.name),
                help=t("Does not offer it again."),
            )


def _use(bench: Workbench, server: Server) -> None:
    try:
        detect.accept(bench, server)
        bench.reload()
    except REFUSED as error:
        st.toast(plain(spoken(error)), icon=":material/info:")
        return
    models.found(bench, server.name, server.models)
    models.use(bench, f"{server.name}:{server.model}")
