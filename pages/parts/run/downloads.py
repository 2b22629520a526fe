"""Download buttons for a report: Markdown directly, other formats in a menu.

A file is built when it is requested, not when the page is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.parts.shared import home
from pages.parts.shared.language import later, t
from research._util import extras
from research.events.events import Event
from research.events.view import RunView
from research.exports import FORMATS

Events = Callable[[], list[Event]]

_USES = {
    "html": later("One file that opens in any browser"),
    "pdf": later("For printing and sharing; long reports take a while"),
    "docx": later("For editing in Word or LibreOffice"),
    "bib": later("The cited sources, for LaTeX"),
    "csl": later("The cited sources, for Zotero and pandoc"),
    "json": later("The report, sources and checks as data, for programs"),
    "jsonl": later("The complete run log; can be imported again"),
}
"""What each format is for."""


def draw(view: RunView, key: str = "") -> None:
    """Draw the downloads of a report.

    `key` distinguishes two rows on the same page.
    """
    events = home.reading(view.run)
    with st.container(horizontal=True, gap="xsmall", key=f"downloads-{key or view.run}"):
        _button(events, view, "md", t("Download Markdown"), key)
        with st.popover(t("Download as …"), type="tertiary", icon=":material/file_save:"):
            for name, use in _USES.items():
                _button(events, view, name, t(FORMATS[name].title), key, t(use))


def _button(events: Events, view: RunView, name: str, label: str, key: str, use: str = "") -> None:
    kind = FORMATS[name]
    needs = extras.command(kind.extra) if kind.extra and extras.missing(kind.extra) else ""
    st.download_button(
        label,
        partial(_made, events, view, name),
        f"{view.run}.{kind.suffix}",
        kind.mime,
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
        key=f"download-{name}-{key or view.run}",
        help=needs or use or None,
        disabled=bool(needs),
    )


def _made(events: Events, view: RunView, name: str) -> bytes:
    return FORMATS[name].make(view, events())
