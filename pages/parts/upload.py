"""Documents from the reader's computer: chosen or dropped, read one by one, searchable at once."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.typing import UploadedFile

from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import count
from research.errors import REFUSED
from research.readers import MAX_BYTES, SUFFIXES
from research.search import uploads
from research.workbench import Workbench


def draw(bench: Workbench, place: str) -> Path | None:
    """The uploader; returns the folder once, in the run after files were added to it.

    `place` tells several of them apart.
    """
    state, done = st.session_state, f"uploaded-{place}"
    turn = state.setdefault(f"upload-turn-{place}", 0)
    state.setdefault(f"upload-name-{place}", t("Documents"))
    name = st.text_input(
        t("Keep them in"), key=f"upload-name-{place}", persist_state="session",
        help=t("A collection of the library: a new one, or one that is there."),
    )  # fmt: skip
    files = st.file_uploader(
        t("Upload documents"), [suffix.removeprefix(".") for suffix in SUFFIXES], accept_multiple_files=True,
        key=f"upload-{place}-{turn}", max_upload_size=MAX_BYTES // 10**6,
        help=t("They are copied into the home folder of the workbench and stay on this computer."),
    )  # fmt: skip
    report: uploads.Kept | None = state.pop(done, None)
    if report is not None:
        _said(report)
    if files:
        _add(bench, name or "", files, place)
    return report.folder if report and (report.saved or report.known) else None


def _add(bench: Workbench, name: str, files: list[UploadedFile], place: str) -> None:
    """Keep and index the files, and draw the page once more: the folder is in lists that are drawn already."""
    bar = st.progress(0.0, t("Reading"))

    def progress(at: int, total: int, what: str) -> None:
        bar.progress(at / max(1, total), t("Reading {name}", name=plain(what)))

    try:
        folder = uploads.folder(bench.settings.home, name)
        report = uploads.keep(folder, [(file.name, file.getvalue) for file in files], progress)
        if report.saved or report.known:
            bench.library.add_folder(folder, progress)
            bench.library.start_embedding()
    except REFUSED as error:
        bar.empty()
        st.error(plain(str(error)), title=t("The documents were not added"))
        return
    st.session_state[f"uploaded-{place}"] = report
    st.session_state[f"upload-turn-{place}"] += 1  # a new, empty uploader
    st.rerun()


def _said(report: uploads.Kept) -> None:
    if report.saved:
        st.success(
            t("{files} added to {name}, ready to be searched.", files=count(len(report.saved), "document"),
              name=plain(report.folder.name))
        )  # fmt: skip
    if report.known:
        st.info(t("{files} there already, with the same content.", files=count(len(report.known), "document")))
    for name, reason in report.refused:
        st.warning(t("{name} {reason}", name=plain(name), reason=plain(reason)), title=t("Not added"))
