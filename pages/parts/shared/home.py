"""The open workbenches of this server, one per user, each with its library prepared in the background."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from pages.parts.shared import account
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.config import users
from research.errors import REFUSED, ConfigError, WorkbenchError
from research.events.events import Event
from research.ops import logs
from research.store import Store, shares
from research.store.shares import SharedRun
from research.workbench import detect
from research.workbench.detect import Detection
from research.workbench.workbench import Workbench

KEPT_S: Final = 86_400.0
"""How long deleted data can be restored before it is purged."""


_log = logging.getLogger(__name__)


class Preparation(threading.Thread):
    """Indexes the library for keyword search, then starts the semantic index at low priority."""

    def __init__(self, bench: Workbench) -> None:
        super().__init__(name="prepare-library", daemon=True)
        self._bench = bench
        self.done, self.total = 0, 1
        self.error = ""
        """Why the library could not be prepared."""
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
def _bench(*user: str) -> Workbench:
    """Return the workbench of a user, opened once; "" is the one for data that all users share.

    Without a key, login is disabled.
    """
    bench = Workbench(users.settings_for(account.settings(), *user)) if user else Workbench()
    logs.start(bench.settings.logs, bench.settings.log_level)
    return bench


@st.cache_resource(show_spinner=False)
def _open(*user: str) -> tuple[Workbench, Preparation]:
    bench = _bench(*user)
    bench.engine.reclaimer.watch()
    return bench, Preparation(bench)


@st.cache_resource(show_spinner=False)
def _detection(*user: str) -> Detection | None:
    return Detection() if detect.wanted(_bench(*user)) else None


@asynccontextmanager
async def lifespan(app: object) -> AsyncIterator[None]:
    """Resume interrupted runs when the server starts, without waiting for a page to be opened."""
    threading.Thread(target=_go_on, name="go-on", daemon=True).start()
    yield


def _go_on() -> None:
    try:
        everybody = (
            [("",), *((key,) for key in users.known_users(account.settings()))] if account.configured() else [()]
        )
        for user in everybody:
            _bench(*user).engine.reclaimer.watch()
    except WorkbenchError as error:
        _log.warning("interrupted runs do not go on by themselves: %s", error)


def _own() -> tuple[Workbench, Preparation]:
    """Return the current user's workbench; the key comes from the login alone."""
    who = account.person()
    return _open(who.key) if who else _open()


def bench() -> Workbench:
    """Return the current user's workbench.

    Ends the page with the reason if it cannot be opened.
    """
    try:
        found = _own()[0]
        found.refresh()
        return found
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("The workbench can't be opened"))
        st.stop()


def detection() -> Detection | None:
    """Return the search for model servers of this machine, which starts with the first page; None: there is none."""
    who = account.person()
    return _detection(who.key) if who else _detection()


def common() -> Store:
    """Return the store of the data that users share."""
    return _bench("").store


def open_shared(token: str) -> SharedRun | None:
    """Return the run that a shared link opens; None if the link is invalid or login is disabled."""
    return shares.open_share(common(), lambda owner: _bench(owner).store, token) if account.person() else None


def reading(run: str) -> Callable[[], list[Event]]:
    """Return a function that reads the events of a run: the user's own, or the shared one named in the address.

    The function raises `ConfigError` if the run is not shared any more.
    """
    token = st.query_params.get("shared", "")
    if not token or account.person() is None:
        return partial(bench().store.events, run)
    return partial(_shared_events, token, run, common(), bench().store)


def _shared_events(token: str, run: str, common: Store, own: Store) -> list[Event]:
    found = shares.open_share(common, lambda owner: _bench(owner).store, token)
    if found is None:
        raise ConfigError("the run is not shared any more")
    return found.events() if found.run == run else own.events(run)


def preparing() -> bool:
    """Return whether the library is still being prepared."""
    return _own()[1].is_alive()


def until_ready() -> None:
    """Wait with a progress bar until the library can be searched; noticeable only on the first start.

    Ends the page with the reason if preparation failed.
    """
    preparation = _own()[1]
    if preparation.is_alive():
        bar = st.empty()
        while preparation.is_alive():
            share = min(1.0, preparation.done / preparation.total)
            bar.progress(share, t("Indexing the library (first start only): {share}", share=f"{share:.0%}"))
            preparation.join(0.2)
        bar.empty()
    if preparation.error:
        st.error(plain(preparation.error), title=t("The library could not be prepared"))
        st.stop()


def start_with_app() -> None:
    """Restart with `app.py` if Streamlit ran this page directly, and end the page for signed-out users.

    Until `st.navigation` has been called once, Streamlit serves the files of a folder named `pages` itself.
    """
    if "app" not in st.session_state:
        # As `st.navigation` does; calling that here would tell the browser that the page does not exist.
        PagesManager.uses_pages_directory = False
        st.rerun()
    account.person()
