"""The data folder, and the components of this installation."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import streamlit as st

from pages.parts.settings import trials
from pages.parts.settings.services import frame
from pages.parts.shared import cite, table
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count
from research.citations.verification import CROSS_ENCODER, RULES
from research.errors import REFUSED
from research.ops import disk_usage
from research.search import embedders
from research.workbench import diagnostics, verifier_registry
from research.workbench.diagnostics import Check
from research.workbench.workbench import Workbench

SHOWN: Final = ("streamlit", "numpy", "openai", "anthropic", "mcp", "xllamacpp", "sentence-transformers")
"""Packages whose versions matter for bug reports."""


def data(bench: Workbench) -> None:
    """Draw where the data is and how much space it takes."""
    home = bench.settings.home
    kept = disk_usage.parts(home)
    st.markdown(t("All data is in this folder. Set WORKBENCH\\_HOME to use another one."))
    st.code(str(home), language=None, width="content")
    numbers = t(
        "{size} used · {free} free on disk · {runs}",
        size=f"**{size(sum(part.bytes for part in kept))}**",
        free=f"**{size(disk_usage.free(home))}**",
        runs=count(len(bench.store.runs(limit=1_000_000)), "saved run"),
    )
    st.markdown(numbers)
    st.dataframe(
        table.frame({t("Part"): [t(part.name) for part in kept], t("Size"): [size(part.bytes) for part in kept]}),
        hide_index=True,
        width=420,
        alt=t("Size of each part of the data folder"),
    )
    if bench.settings.lock_settings:
        return
    clean = st.button(
        t("Clean up"),
        icon=":material/mop:",
        help=t("Clears the search cache and frees the space of deleted data. Runs and documents stay."),
    )
    if clean:
        try:
            with st.spinner(t("Cleaning up")):
                won = disk_usage.clean(home)
            st.session_state["cleaned"] = won
            st.rerun()
        except REFUSED as error:
            st.error(plain(spoken(error)), title=t("Cleaning up failed; no data was lost"))
    if "cleaned" in st.session_state:
        st.caption(t("Freed {size}.", size=size(st.session_state.pop("cleaned"))))


def parts(bench: Workbench) -> None:
    """Draw encoder, sandbox, MCP servers and versions."""
    known = embedders.known()
    what = known.get(bench.settings.embedder) or list(known.values())[-1]
    _part(bench, "encoder", t("Encoder"), plain(t(what)), diagnostics.encoder, at_once=True)
    _judges(bench)
    _part(
        bench,
        "python tool",
        t("Python"),
        t("Where code written by a model runs."),
        diagnostics.python_tool,
        at_once=True,
    )
    try:
        for name, how in bench.mcp.configured():
            _part(
                bench,
                f"mcp {name}",
                t("MCP server {name}", name=plain(name)),
                f"`{_code(how)}`",
                partial(diagnostics.mcp_server, name=name),
            )
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("MCP servers are unavailable"))
    _plugins()
    found = ", ".join(f"{name} {installed}" for name in SHOWN if (installed := _version(name)))
    st.caption(f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}, {plain(found)}")


def _judges(bench: Workbench) -> None:
    """Draw who judges citations, and how often each of them was right; a cross-encoder is loaded by its test only."""
    try:
        chosen = verifier_registry.configured(bench.settings)
        known = verifier_registry.measured(bench.settings.home)
        names = dict.fromkeys([RULES, *filter(None, [chosen]), *known])
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("Judges of citations are unavailable"))
        return
    for name in names:
        what = cite.precision(known.get(name))
        title = t("Judge of citations: {name}", name=t("the rules") if name == RULES else plain(name))
        if name.startswith(CROSS_ENCODER):
            _part(bench, f"judge {name}", title, what, partial(diagnostics.verifier, name=name))
            continue
        with frame(f"judge-{list(names).index(name)}") as (words, _):
            words.markdown(f"**{title}**")
            words.caption(what)


def _plugins() -> None:
    """Draw the plug-ins of other packages, and why those that are broken cannot be used."""
    for each in diagnostics.installed():
        with frame(f"plug-in-{each.id}") as (words, _):
            words.markdown(f"**{plain(each.title)}** · :green[:material/check_circle: {t('Works')}]")
            words.caption(t("Plug-in {name} of package {package}", name=plain(each.id), package=plain(each.package)))
    for wrong in diagnostics.broken():
        st.error(
            plain(wrong.error),
            title=t("Plug-in {name} of package {package} can't be loaded", name=wrong.name, package=wrong.package),
        )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _part(
    bench: Workbench, name: str, title: str, what: str, work: Callable[[Workbench], Check], *, at_once: bool = False
) -> None:
    """Draw a row; `at_once` tests the component automatically, because the test stays on this machine."""
    # Read once and in this order, because a test may end while the row is drawn.
    asking, found = trials.at_work(name), trials.found(name)
    if at_once and found is None and not asking:
        trials.start(bench, name, work)
        asking = True
    with frame(f"part-{name.replace(' ', '-')}") as (words, buttons):
        with words:
            state = {
                None: "",
                "ok": f" · :green[:material/check_circle: {t('Works')}]",
                "broken": f" · :red[:material/error: {t('Not working')}]",
            }[found and found.state]
            st.markdown(f"**{title}**{state}")
            st.caption(what)
            if asking:
                trials.asking(name, title)
            elif found:
                st.markdown(plain(spoken(found.text)))
        buttons.button(
            t("Test"),
            key=f"test-{name}",
            icon=":material/cable:",
            on_click=trials.start,
            args=(bench, name, work),
            help=t("Test {name}.", name=title),
        )


def size(count_of_bytes: int) -> str:
    """Return `812 KB`, `31.4 MB`, `2.1 GB`."""
    if count_of_bytes < 1e6:
        return f"{count_of_bytes / 1e3:,.0f} KB"
    return f"{count_of_bytes / 1e6:,.1f} MB" if count_of_bytes < 1e9 else f"{count_of_bytes / 1e9:,.1f} GB"


def _code(text: str) -> str:
    return text.replace("`", "'")
