"""Uploading documents from the user's computer."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from msgspec.structs import replace
from streamlit.delta_generator import DeltaGenerator
from streamlit.typing import UploadedFile

from pages.parts.shared import files, once
from pages.parts.shared.language import current, spoken, t, versions
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count
from research._util.retold import retold
from research.errors import REFUSED
from research.search.library import uploads
from research.search.library.indexing import Progress
from research.web.readers import MAX_BYTES, SUFFIXES
from research.workbench.workbench import Workbench


def draw(bench: Workbench, place: str) -> Path | None:
    """Draw the uploader and return the folder once, in the rerun after files were added.

    `place` distinguishes several uploaders.
    """
    state, done = st.session_state, f"uploaded-{place}"
    turn = state.setdefault(f"upload-turn-{place}", 0)
    state.setdefault(f"upload-name-{place}", _usual(bench))
    name = st.text_input(
        t("Collection for the files"),
        key=f"upload-name-{place}",
        persist_state="session",
        help=t("A new or existing collection in the library."),
    )
    uploaded = files.pick(
        t("Upload documents"),
        [suffix.removeprefix(".") for suffix in SUFFIXES],
        MAX_BYTES // 10**6,
        called=t("PDF, Word, Excel, PowerPoint, web pages, text, e-books, e-mail and more"),
        accept_multiple_files=True,
        key=f"upload-{place}-{turn}",
        help=t("Files are copied into the workbench's data folder and stay on this computer."),
    )
    report: uploads.UploadReport | None = once.take(done)
    if report is not None:
        _show_report(report)
    if uploaded:
        _add(bench, name or "", uploaded, place)
    return report.folder if report and (report.saved or report.known) else None


def reading() -> tuple[DeltaGenerator, Progress]:
    """Draw a progress bar; return it, and the function that says on it how many files are done."""
    bar = st.progress(0.0, t("Reading"))

    def progress(done: int, total: int, what: str) -> None:
        said = t("Reading: {done} of {total} files · {name}", done=f"{done:,}", total=f"{total:,}", name=plain(what))
        bar.progress(done / max(1, total), said)

    return bar, progress


def _usual(bench: Workbench) -> str:
    """Return the collection for documents: the one that exists, whichever language named it, else a new one."""
    own = {Path(folder).name for folder in bench.folders()}
    return next(iter(sorted(own & versions("Documents"))), t("Documents"))


def _add(bench: Workbench, name: str, given: list[UploadedFile], place: str) -> None:
    """Save and index the files, then rerun the page, because lists drawn above are missing the new folder."""
    bar, progress = reading()
    try:
        folder = uploads.folder(bench.settings.home, name)
        bench.caps.uploads([file.size for file in given])
        usage = bench.library.usage(str(folder))
        report = uploads.save(folder, [(file.name, file.getvalue) for file in given], progress, usage.refusal)
        if report.saved or report.known:
            bench.library.add_folder(folder, progress, report.texts)
            bench.library.start_embedding()
    except REFUSED as error:
        bar.empty()
        st.error(plain(spoken(error)), title=t("The documents could not be added"))
        return
    st.session_state[f"uploaded-{place}"] = replace(report, texts={})
    st.session_state[f"upload-turn-{place}"] += 1  # a new, empty uploader
    st.rerun()


def _show_report(report: uploads.UploadReport) -> None:
    if report.saved:
        st.success(
            t(
                "{files} added to {name} and searchable.",
                files=count(len(report.saved), "document"),
                name=plain(report.folder.name),
            )
        )
    if report.known:
        st.info(t("{files} skipped: the same content is already there.", files=count(len(report.known), "document")))
    for name, reason in report.refused:
        st.warning(plain(spoken(f"{name} {reason}")), title=t("Not added"))
    for name, note in report.partial:
        st.info(f"{plain(name)}: {plain(retold(note, current()))}", title=t("Read in part"))
