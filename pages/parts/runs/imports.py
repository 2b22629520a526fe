"""Importing runs from files of this or another workbench."""

from __future__ import annotations

import streamlit as st

from pages.parts.runs import table
from pages.parts.shared import files
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count
from research.errors import REFUSED
from research.workbench import run_import
from research.workbench.workbench import Workbench


def draw(bench: Workbench) -> None:
    """Draw a button with the uploader behind it."""
    turn = st.session_state.setdefault("runs-import-turn", 0)
    with st.popover(t("Import"), icon=":material/upload:"):
        st.markdown(t("Run files written by **Export**: .jsonl, or .zip for several runs."))
        files.pick(
            t("Run files"),
            ["jsonl", "zip"],
            run_import.MAX_BYTES // 1_000_000,
            accept_multiple_files=True,
            key=f"runs-import-{turn}",
            on_change=_read,
            args=(bench, f"runs-import-{turn}"),
            label_visibility="collapsed",
        )


def show_result() -> None:
    """Draw the result of an import once."""
    imported, wrong = st.session_state.pop("runs-imported", ((), ()))
    new = [each for each in imported if each.state != "there"]
    if new:
        st.success(t("{runs} imported.", runs=count(len(new), "run")))
    for each in imported:
        if each.state == "there":
            st.info(t("Run {run} already exists with the same events.", run=each.id))
        elif each.state == "renamed":
            st.info(t("Another run already has this id; imported as {run}.", run=each.id))
        if each.withheld:
            st.info(
                t(
                    "Removed from the recipe of {run}, because it belongs to another computer: {what}.",
                    run=each.id,
                    what=plain(t(", ").join(each.withheld)),
                )
            )
        if each.limited:
            st.info(
                t(
                    "Changed in the recipe of {run}, because it is beyond the limits of this workbench: {what}.",
                    run=each.id,
                    what=plain(t(", ").join(each.limited)),
                )
            )
        if each.state != "there" and each.unfinished:
            st.info(t("Run {run} had not ended. It is paused until you resume it.", run=each.id))
    for name, reason in wrong:
        st.error(plain(reason), title=t("{name} could not be imported", name=plain(name)))


def _read(bench: Workbench, key: str) -> None:
    imported, wrong = [], []
    for file in st.session_state[key]:
        try:
            bench.caps.uploads([file.size])
            runs = run_import.read_runs(file.getvalue())
            imported += [run_import.import_run(bench.store, each) for each in runs]
        except REFUSED as error:
            wrong.append((file.name, spoken(error)))
    if not imported and not wrong:
        return  # a file was removed from the uploader
    st.session_state["runs-imported"] = imported, wrong
    st.session_state["runs-import-turn"] += 1  # a new, empty uploader
    if len(imported) == 1:
        table.show(imported[0].id)
