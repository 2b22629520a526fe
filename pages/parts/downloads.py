"""The report as a file: Markdown at once, every other format one click further.

A file is made when it is asked for, not when the page is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.parts import home
from pages.parts.language import later, t
from research.events import Event
from research.exports import FORMATS
from research.view import RunView

Events = Callable[[], list[Event]]

_USES = {
    "html": later("One file that opens in any browser"),
    "pdf": later("To print and to send; long reports take a while"),
    "docx": later("To edit, in Word or LibreOffice"),
    "bib": later("The cited sources, for LaTeX"),
    "csl": later("The cited sources, for Zotero and pandoc"),
    "json": later("The report, its sources and its checks, for programs"),
    "jsonl": later("Everything that happened; can be brought in again"),
}
"""What each format is good for; shown by `t`."""


def draw(view: RunView, key: str = "") -> None:
    """One quiet row for a run with a report.  `key` tells two of them on one page apart."""
    events = home.reading(view.run)
    with st.container(horizontal=True, gap="xsmall", key=f"downloads-{key or view.run}"):
        _button(events, view, "md", t("Download Markdown"), key)
        with st.popover(t("Download as …"), type="tertiary", icon=":material/file_save:"):
            for name, use in _USES.items():
                _button(events, view, name, t(FORMATS[name].title), key, t(use))


def _button(events: Events, view: RunView, name: str, label: str, key: str, use: str = "") -> None:
    kind = FORMATS[name]
    st.download_button(
        label, partial(_made, events, view, name), f"{view.run}.{kind.suffix}", kind.mime, type="tertiary",
        icon=":material/download:", on_click="ignore", key=f"download-{name}-{key or view.run}", help=use or None,
    )  # fmt: skip


def _made(events: Events, view: RunView, name: str) -> bytes:
    return FORMATS[name].make(view, events())
