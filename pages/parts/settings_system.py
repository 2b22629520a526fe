"""The home folder, and what this installation can do."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Final

import pandas as pd
import streamlit as st

from pages.parts import settings_trials
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.settings_services import frame
from pages.parts.words import count
from research import doctor, embedders, space
from research.doctor import Check
from research.errors import REFUSED
from research.workbench import Workbench

SHOWN: Final = ("streamlit", "numpy", "openai", "anthropic", "mcp", "xllamacpp", "sentence-transformers")
"""Packages whose versions matter when something does not work."""


def data(bench: Workbench) -> None:
    """Where everything is kept, and how much it is."""
    home = bench.settings.home
    kept = space.parts(home)
    st.markdown(t("Everything is kept in this folder; WORKBENCH\\_HOME names another one."))
    st.code(str(home), language=None, width="content")
    numbers = t(
        "{size} in it · {free} free on its disk · {runs}",
        size=f"**{size(sum(part.bytes for part in kept))}**", free=f"**{size(space.free(home))}**",
        runs=count(len(bench.store.runs(limit=1_000_000)), "saved run"),
    )  # fmt: skip
    st.markdown(numbers)
    st.dataframe(
        pd.DataFrame({t("Part"): [t(part.name) for part in kept], t("Size"): [size(part.bytes) for part in kept]}),
        hide_index=True, width=420, alt=t("Size of each part of the data folder"),
    )  # fmt: skip
    if bench.settings.lock_settings:
        return
    clean = st.button(
        t("Clean up"), icon=":material/mop:",
        help=t("Drops kept search results and gives back the space of what was deleted. Runs and documents stay."),
    )  # fmt: skip
    if clean:
        try:
            with st.spinner(t("Cleaning up")):
                won = space.clean(home)
            st.session_state["cleaned"] = won
            st.rerun()
        except REFUSED as error:
            st.error(plain(str(error)), title=t("Nothing was lost"))
    if "cleaned" in st.session_state:
        st.caption(t("{size} were given back.", size=size(st.session_state.pop("cleaned"))))


def parts(bench: Workbench) -> None:
    """Encoder, sandbox, MCP servers, versions."""
    known = embedders.known()
    what = known.get(bench.settings.embedder) or list(known.values())[-1]
    _part(bench, "encoder", t("Encoder"), plain(t(what)), doctor.encoder, at_once=True)
    _part(bench, "python tool", t("Python"), t("Where the code of a model runs."), doctor.python_tool, at_once=True)
    try:
        for name, how in bench.mcp.configured():
            _part(bench, f"mcp {name}", t("MCP server {name}", name=plain(name)), f"`{_code(how)}`",
                  partial(doctor.mcp_server, name=name))  # fmt: skip
    except REFUSED as error:
        st.error(plain(str(error)), title=t("No MCP server can be used"))
    found = ", ".join(f"{name} {version(name)}" for name in SHOWN)
    st.caption(f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}, {plain(found)}")


def _part(
    bench: Workbench, name: str, title: str, what: str, work: Callable[[Workbench], Check], *, at_once: bool = False
) -> None:
    """A row; `at_once`: tried without being asked, because it reaches nobody."""
    # Read once, and in this order: a trial may end while the row is drawn.
    asking, found = settings_trials.at_work(name), settings_trials.found(name)
    if at_once and found is None and not asking:
        settings_trials.start(bench, name, work)
        asking = True
    with frame(f"part-{name.replace(' ', '-')}") as (words, buttons):
        with words:
            state = {None: "", "ok": f" · :green[:material/check_circle: {t('Works')}]",
                     "broken": f" · :red[:material/error: {t('Does not work')}]"}[found and found.state]  # fmt: skip
            st.markdown(f"**{title}**{state}")
            st.caption(what)
            if asking:
                settings_trials.asking(name, title)
            elif found:
                st.markdown(plain(t(found.text)))
        buttons.button(t("Test"), key=f"test-{name}", icon=":material/cable:", on_click=settings_trials.start,
                       args=(bench, name, work), help=t("Test {name}.", name=title))  # fmt: skip


def size(count_of_bytes: int) -> str:
    """`812 KB`, `31.4 MB`, `2.1 GB`."""
    if count_of_bytes < 1e6:
        return f"{count_of_bytes / 1e3:,.0f} KB"
    return f"{count_of_bytes / 1e6:,.1f} MB" if count_of_bytes < 1e9 else f"{count_of_bytes / 1e9:,.1f} GB"


def _code(text: str) -> str:
    return text.replace("`", "'")
