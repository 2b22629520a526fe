"""Runs from files, of this workbench or another one."""

from __future__ import annotations

import streamlit as st

from pages.parts import runs_table
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import count
from research import importing
from research.errors import REFUSED
from research.workbench import Workbench


def draw(bench: Workbench) -> None:
    """A button with the uploader behind it."""
    turn = st.session_state.setdefault("runs-import-turn", 0)
    with st.popover(t("Import"), icon=":material/upload:"):
        st.markdown(t("A run as a file, as **Export** writes it: .jsonl, or .zip for several."))
        st.file_uploader(
            t("Files of runs"), ["jsonl", "zip"], accept_multiple_files=True, key=f"runs-import-{turn}",
            on_change=_read, args=(bench, f"runs-import-{turn}"), label_visibility="collapsed",
            max_upload_size=importing.MAX_BYTES // 1_000_000,
        )  # fmt: skip


def said() -> None:
    """What became of the files, once."""
    kept, wrong = st.session_state.pop("runs-imported", ((), ()))
    new = [each for each in kept if each.state != "there"]
    if new:
        st.success(t("{runs} imported.", runs=count(len(new), "run")))
    for each in kept:
        if each.state == "there":
            st.info(t("Run {run} is there already, with the same events.", run=each.id))
        elif each.state == "renamed":
            st.info(t("Its id was taken by another run; it is kept as {run}.", run=each.id))
        if each.withheld:
            st.info(
                t("Left out of the recipe of {run}, because they belong to another computer: {what}.", run=each.id,
                  what=plain(", ".join(each.withheld)))
            )  # fmt: skip
    for name, reason in wrong:
        st.error(plain(reason), title=t("{name} was not imported", name=plain(name)))


def _read(bench: Workbench, key: str) -> None:
    kept, wrong = [], []
    for file in st.session_state[key]:
        try:
            runs = importing.read_runs(file.getvalue())
            kept += [importing.keep(bench.store, saved) for saved in runs]
        except REFUSED as error:
            wrong.append((file.name, str(error)))
    if not kept and not wrong:
        return  # a file was taken back
    st.session_state["runs-imported"] = kept, wrong
    st.session_state["runs-import-turn"] += 1  # a new, empty uploader
    if len(kept) == 1:
        runs_table.show(kept[0].id)
