"""What is done to one run or several: compare, run again, tag, export, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import streamlit as st

from pages.parts import address, fork_form, head, runs_table, undo
from pages.parts.language import t
from pages.parts.words import count
from research import importing
from research.errors import ConfigError
from research.store import RunRow
from research.text import clip
from research.workbench import Workbench

MOST = 4
"""Runs that stand side by side in a comparison."""
LAST = 9_999
"""A round after the last that a fork may keep: the form begins with that one."""
TAG_LONGEST, TAGS_MOST = 40, 20


def draw(bench: Workbench, rows: Sequence[RunRow], checked: bool) -> None:
    """The bar below the table, for the checked rows, or for the open run where none is checked."""
    ids = [row.id for row in rows]
    with st.container(key="runs-bar", horizontal=True, vertical_alignment="center", gap="small"):
        if checked:
            st.markdown(t("**{runs} selected**", runs=count(len(rows), "run")), width="content")
        if len(rows) <= MOST:
            st.page_link(
                "pages/compare.py", label=t("Compare"), icon=":material/view_column:",
                query_params={"runs": ",".join(ids)},
            )  # fmt: skip
        else:
            st.caption(t("Up to {n} runs can be compared.", n=MOST), width="content")
        if len(rows) == 1:
            st.page_link(
                "pages/ask.py", label=t("Run again…"), icon=":material/replay:", query_params={"again": ids[0]},
                help=t("The same question, with this recipe or another one."),
            )  # fmt: skip
            fork_form.link(t("Fork …"), "runs-fork", LAST, ids[0])
        _tags(bench, rows)
        st.download_button(
            t("Export"), _file(bench, ids), f"{ids[0]}.jsonl" if len(ids) == 1 else "runs.zip", key="runs-export",
            mime="application/jsonl" if len(ids) == 1 else "application/zip", icon=":material/download:",
            on_click="ignore", help=t("With every event, to be kept or opened in another workbench."),
        )  # fmt: skip
        st.button(t("Delete"), key="runs-delete", icon=":material/delete:", on_click=_delete, args=(bench, list(rows)))
        if checked:
            st.button(t("Clear selection"), key="runs-unselect", type="tertiary", on_click=_unselect)


def _file(bench: Workbench, ids: list[str]) -> Callable[[], bytes]:
    """Made when it is asked for."""
    if len(ids) == 1:
        return lambda: importing.written(bench.store.events(ids[0]))
    return lambda: importing.packed({run_id: bench.store.events(run_id) for run_id in ids})


def _now(bench: Workbench, rows: list[RunRow]) -> list[RunRow]:
    """The rows as they stand by now, which may be long after the page was drawn; without those deleted meanwhile."""
    found = []
    for row in rows:
        with suppress(ConfigError):
            found.append(bench.store.run(row.id))
    return found


def _delete(bench: Workbench, rows: list[RunRow]) -> None:
    """Not while it is at work: it would go on unseen."""
    gone = [row.id for row in _now(bench, rows) if row.status != "running" or head.lost(row)]
    if len(gone) < len(rows):
        st.toast(t("A run at work was not deleted; stop it first."), icon=":material/info:")
    if not gone:
        return
    opened = st.query_params.get("run", "")
    bench.store.delete(gone)
    _unselect()
    if opened in gone:
        runs_table.show("")

    def restore() -> None:
        bench.store.restore(gone)
        if opened in gone:
            runs_table.show(opened)

    undo.offer(t("{runs} deleted.", runs=count(len(gone), "run")), restore)


def _unselect() -> None:
    st.session_state["runs-selected"], st.session_state["runs-cell"] = (), None
    key, _ = st.session_state.get("runs-listed", ("", []))
    if key in st.session_state:
        st.session_state[key] = {"selection": {"rows": [], "columns": [], "cells": []}}


def _tags(bench: Workbench, rows: Sequence[RunRow]) -> None:
    """Those that all of the runs have; existing ones are offered, new ones are typed."""
    common = sorted(set.intersection(*(set(row.tags) for row in rows)))
    key = address.shows("runs-tags-" + rows[0].id + f"-{len(rows)}", common)

    def changed(tags: Sequence[str]) -> None:
        chosen = [clip(" ".join(tag.split()), TAG_LONGEST) for tag in tags]
        added, taken = set(chosen) - set(common), set(common) - set(chosen)
        for row in _now(bench, rows):
            bench.store.tag(row.id, sorted((set(row.tags) | added) - taken)[:TAGS_MOST])

    with st.popover(t("Tags"), icon=":material/sell:"):
        st.multiselect(
            t("Tags"), sorted({*bench.store.tags(), *common}), key=key, accept_new_options=True,
            on_change=address.changed, args=(key, changed),
            placeholder=t("Choose or type a tag"), max_selections=TAGS_MOST,
        )  # fmt: skip
