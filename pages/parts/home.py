"""The one open workbench of this server, and its library made ready in the background."""

from __future__ import annotations

import sqlite3
import threading
import time
from typing import Final

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from pages.parts.language import t
from pages.parts.safe import plain
from research.errors import ConfigError, WorkbenchError
from research.workbench import Workbench

KEPT_S: Final = 86_400.0
"""What was deleted can be brought back for so long, whoever still holds the button; then it is removed for good."""


class Preparation(threading.Thread):
    """Makes the words of the library searchable, then lets the vectors follow at low priority."""

    def __init__(self, bench: Workbench) -> None:
        super().__init__(name="prepare-library", daemon=True)
        self._bench = bench
        self.done, self.total = 0, 1
        self.error = ""
        """Why the library could not be made ready, in words."""
        self.start()

    def run(self) -> None:
        try:
            self._bench.purge(time.time() - KEPT_S)
            self._bench.prepare((), self._report)
            self._bench.library.start_embedding()
        except (WorkbenchError, OSError, sqlite3.Error) as error:
            self.error = str(error)

    def _report(self, done: int, total: int, what: str) -> None:
        self.done, self.total = done, max(1, total)


@st.cache_resource(show_spinner=False)
def _open() -> tuple[Workbench, Preparation]:
    bench = Workbench()
    return bench, Preparation(bench)


def bench() -> Workbench:
    """The workbench of `WORKBENCH_HOME`, opened once.  Ends the page with the reason where it cannot be."""
    try:
        return _open()[0]
    except ConfigError as error:
        st.error(plain(str(error)), title=t("The workbench cannot be opened"))
        st.stop()


def preparing() -> bool:
    """Whether the library is still being made ready."""
    return _open()[1].is_alive()


def until_ready() -> None:
    """Wait, with progress, until the library can be searched; only the first start ever takes noticeable time.

    Ends the page with the reason where it cannot be.
    """
    preparation = _open()[1]
    if preparation.is_alive():
        bar = st.empty()
        while preparation.is_alive():
            share = min(1.0, preparation.done / preparation.total)
            bar.progress(share, t("Making the library searchable, once: {share}", share=f"{share:.0%}"))
            preparation.join(0.2)
        bar.empty()
    if preparation.error:
        st.error(plain(preparation.error), title=t("The library could not be made ready"))
        st.stop()


def start_with_app() -> None:
    """Begin again with `app.py` if Streamlit ran this page by itself.

    Until `st.navigation` was called once in a server, Streamlit serves the files of a folder called `pages` one by one.
    """
    if "app" not in st.session_state:
        # What `st.navigation` does first; calling it here would tell the browser that the page does not exist.
        PagesManager.uses_pages_directory = False
        st.rerun()
