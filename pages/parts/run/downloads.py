"""The export menu of a report.

A file is built when it is requested, not when the page is drawn.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.parts.shared import home
from pages.parts.shared.language import later, t
from research._util import extras
from research.events.events import Event
from research.events.view import RunView
from research.exports import FORMATS, of_markdown
from research.text import clip

NAME = 60
"""Maximum characters of the question in the name of a file."""
Events = Callable[[], list[Event]]

_USES = {
    "md": later("For notes and other programs; plain text"),
    "html": later("One file that opens in any browser"),
    "pdf": later("For printing and sharing; long reports take a while"),
    "docx": later("For editing in Word or LibreOffice"),
    "bib": later("The cited sources, for LaTeX"),
    "ris": later("The cited sources, for reference managers"),
    "csl": later("The cited sources, for Zotero and pandoc"),
    "json": later("The report, sources and checks as data, for programs"),
    "jsonl": later("The complete run log; can be imported again"),
}
"""What each format is for."""


def draw(view: RunView, key: str = "") -> None:
    """Draw the menu of file formats.

    `key` distinguishes two menus on the same page.
    """
    events = home.reading(view.run)
    place = st.container(width="content", key=f"downloads-{key or view.run}")
    with place, st.popover(t("Export"), type="tertiary", icon=":material/file_save:"):
        for name, use in _USES.items():
            _button(partial(_made, events, view, name), name, file_name(view), key or view.run, t(use))


def papers(
    text: Callable[[], str], name: str, rows: Callable[[], str] | None = None, *, disabled: bool = False
) -> None:
    """Draw the menu of formats of a comparison or an evaluation: `text` makes its Markdown, `rows` its table as CSV."""
    with st.popover(t("Export"), icon=":material/file_save:", disabled=disabled):
        for kind in ("md", "pdf", "docx"):
            _button(lambda kind=kind: of_markdown(text(), kind), kind, name, "paper", t(_USES[kind]))
        if rows:
            st.download_button(
                "CSV", rows, f"{name}.csv", "text/csv", type="tertiary", icon=":material/download:", on_click="ignore"
            )


def _button(made: Callable[[], bytes], name: str, file: str, key: str, use: str) -> None:
    kind = FORMATS[name]
    needs = extras.command(kind.extra) if kind.extra and extras.missing(kind.extra) else ""
    st.download_button(
        t(kind.title),
        made,
        f"{file}.{kind.suffix}",
        kind.mime,
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
        key=f"download-{name}-{key}",
        help=needs or use,
        disabled=bool(needs),
    )


def file_name(view: RunView) -> str:
    """Return the name of an exported file without its suffix: the words of the question, and the date of the run."""
    words = clip(" ".join(re.findall(r"[\w.]+", view.question.lower())), NAME).rstrip("…._ ").replace(" ", "-")
    date = time.strftime("%Y-%m-%d", time.localtime(view.started))
    return f"{words or view.run}-{date}"


def _made(events: Events, view: RunView, name: str) -> bytes:
    return FORMATS[name].make(view, events())
