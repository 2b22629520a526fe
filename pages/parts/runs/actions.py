"""Actions on one or more runs: compare, run again, tag, export, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import streamlit as st

from pages.parts.run import head
from pages.parts.runs import table
from pages.parts.shared import address, undo
from pages.parts.shared.language import t
from pages.parts.shared.words import count
from research.errors import ConfigError
from research.store import RunRow
from research.text import clip
from research.workbench import deleting, run_import
from research.workbench.workbench import Workbench

MOST = 4
"""Maximum number of runs in a comparison."""
TAG_LONGEST, TAGS_MOST = 40, 20


def draw(bench: Workbench, rows: Sequence[RunRow], checked: bool) -> None:
    """Draw the bar for the selected rows, or for the open run if none is selected."""
    ids = [row.id for row in rows]
    below = ids == [st.query_params.get("run")] and rows[0].outcome not in (None, "needs_input")  # it has these itself
    with st.container(key="runs-bar", horizontal=True, vertical_alignment="center", gap="small"):
        if checked:
            st.markdown(t("**{runs} selected**", runs=count(len(rows), "run")), width="content")
        if not below:
            _compare(ids)
        _tags(bench, rows)
        if not below:
            _export(bench, ids)
        st.button(t("Delete"), key="runs-delete", icon=":material/delete:", on_click=_delete, args=(bench, list(rows)))
        if checked:
            st.button(t("Clear selection"), key="runs-unselect", type="tertiary", on_click=_unselect)


def _compare(ids: Sequence[str]) -> None:
    if len(ids) <= MOST:
        st.page_link(
            "pages/compare.py",
            label=t("Compare"),
            icon=":material/view_column:",
            query_params={"runs": ",".join(ids)},
        )
    else:
        st.caption(t("Up to {n} runs can be compared.", n=MOST), width="content")


def _export(bench: Workbench, ids: list[str]) -> None:
    st.download_button(
        t("Export"),
        _file(bench, ids),
        f"{ids[0]}.jsonl" if len(ids) == 1 else "runs.zip",
        key="runs-export",
        mime="application/jsonl" if len(ids) == 1 else "application/zip",
        icon=":material/download:",
        on_click="ignore",
        help=t("The complete run log, for archiving or another workbench."),
    )


def _file(bench: Workbench, ids: list[str]) -> Callable[[], bytes]:
    """Return a function that builds the export when it is requested."""
    if len(ids) == 1:
        return lambda: _lines(bench, ids[0])
    return lambda: run_import.to_zip({run_id: _lines(bench, run_id) for run_id in ids})


def _lines(bench: Workbench, run_id: str) -> bytes:
    """Return a run as JSON lines; a damaged one as it is stored."""
    try:
        return run_import.to_jsonl(bench.store.events(run_id))
    except ConfigError:
        return run_import.as_it_is(bench.store, run_id)


def _now(bench: Workbench, rows: list[RunRow]) -> list[RunRow]:
    """Return the current rows of these runs, without runs deleted since the page was drawn."""
    found = []
    for row in rows:
        with suppress(ConfigError):
            found.append(bench.store.run(row.id))
    return found


def _delete(bench: Workbench, rows: list[RunRow]) -> None:
    """Delete the runs that are not active; an active one would continue unseen."""
    gone = [row.id for row in _now(bench, rows) if row.status != "running" or head.is_interrupted(row)]
    if len(gone) < len(rows):
        st.toast(t("Active runs were not deleted; stop them first."), icon=":material/info:")
    if not gone:
        return
    opened = st.query_params.get("run", "")
    pages = bench.library.pages.of(gone)
    deleting.delete(bench.store, bench.library, gone)
    _unselect()
    if opened in gone:
        table.show("")

    def restore() -> None:
        deleting.restore(bench.store, bench.library, gone)
        if opened in gone:
            table.show(opened)

    deleted = t("{runs} deleted.", runs=count(len(gone), "run"))
    if pages:
        deleted += " " + t("{pages} that only they had read went with them.", pages=count(pages, "kept page"))
    undo.offer(deleted, restore)


def _unselect() -> None:
    st.session_state["runs-selected"], st.session_state["runs-cell"] = (), None
    key, _ = st.session_state.get("runs-listed", ("", []))
    if key in st.session_state:
        st.session_state[key] = {"selection": {"rows": [], "columns": [], "cells": []}}


def _tags(bench: Workbench, rows: Sequence[RunRow]) -> None:
    """Draw the tags that all of the runs have; existing ones are offered, new ones can be typed."""
    common = sorted(set.intersection(*(set(row.tags) for row in rows)))
    key = address.shows("runs-tags-" + rows[0].id + f"-{len(rows)}", common)

    def changed(tags: Sequence[str]) -> None:
        chosen = [clip(" ".join(tag.split()), TAG_LONGEST) for tag in tags]
        added, taken = set(chosen) - set(common), set(common) - set(chosen)
        for row in _now(bench, rows):
            bench.store.tag(row.id, sorted((set(row.tags) | added) - taken)[:TAGS_MOST])

    with st.popover(t("Tags"), icon=":material/sell:"):
        st.multiselect(
            t("Tags"),
            sorted({*bench.store.tags(), *common}),
            key=key,
            accept_new_options=True,
            on_change=address.changed,
            args=(key, changed),
            placeholder=t("Choose or type a tag"),
            max_selections=TAGS_MOST,
        )
