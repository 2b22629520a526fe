"""The open workbenches of this server, one for each user, each with its library made ready in the background."""

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

from pages.parts import account
from pages.parts.language import t
from pages.parts.safe import plain
from research import logs, sharing, users
from research.errors import REFUSED, ConfigError, WorkbenchError
from research.events import Event
from research.sharing import SharedRun
from research.store import Store
from research.workbench import Workbench

KEPT_S: Final = 86_400.0
"""What was deleted can be brought back for so long, whoever still holds the button; then it is removed for good."""


_log = logging.getLogger(__name__)


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
def _bench(*user: str) -> Workbench:
    """The workbench of that user, which does nothing by itself; "" is what all users have in common.

    No key at all: there is no login.
    """
    bench = Workbench(users.settings_for(account.settings(), *user)) if user else Workbench()
    logs.start(bench.settings.logs, bench.settings.log_level)
    return bench


@st.cache_resource(show_spinner=False)
def _open(*user: str) -> tuple[Workbench, Preparation]:
    bench = _bench(*user)
    bench.engine.tend()
    return bench, Preparation(bench)


@asynccontextmanager
async def lifespan(app: object) -> AsyncIterator[None]:
    """Of the server: what a crash or a restart has interrupted goes on without anybody opening a page."""
    threading.Thread(target=_go_on, name="go-on", daemon=True).start()
    yield


def _go_on() -> None:
    try:
        everybody = [("",), *((key,) for key in users.known(account.settings()))] if account.configured() else [()]
        for user in everybody:
            _bench(*user).engine.tend()
    except WorkbenchError as error:
        _log.warning("interrupted runs do not go on by themselves: %s", error)


def _own() -> tuple[Workbench, Preparation]:
    """Of who is looking, and of nobody else: the key comes from his login alone."""
    who = account.person()
    return _open(who.key) if who else _open()


def bench() -> Workbench:
    """The workbench of who is looking, opened once.  Ends the page with the reason where it cannot be."""
    try:
        return _own()[0]
    except REFUSED as error:
        st.error(plain(str(error)), title=t("The workbench cannot be opened"))
        st.stop()


def common() -> Store:
    """Where it is kept what users share."""
    return _bench("").store


def shared(token: str) -> SharedRun | None:
    """The run of another user that a link opens; None for a link that opens nothing, and where there is no login."""
    return sharing.opened(common(), lambda owner: _bench(owner).store, token) if account.person() else None


def reading(run: str) -> Callable[[], list[Event]]:
    """A way to the events of a run that is shown: of one's own, or of the one that the link in the address opens.

    It may be gone later, and raises `ConfigError` when it was shared and is not any more.
    """
    token = st.query_params.get("shared", "")
    if not token or account.person() is None:
        return partial(bench().store.events, run)
    return partial(_shared_events, token, run, common(), bench().store)


def _shared_events(token: str, run: str, common: Store, own: Store) -> list[Event]:
    found = sharing.opened(common, lambda owner: _bench(owner).store, token)
    if found is None:
        raise ConfigError("the run is not shared any more")
    return found.events() if found.run == run else own.events(run)


def preparing() -> bool:
    """Whether the library is still being made ready."""
    return _own()[1].is_alive()


def until_ready() -> None:
    """Wait, with progress, until the library can be searched; only the first start ever takes noticeable time.

    Ends the page with the reason where it cannot be.
    """
    preparation = _own()[1]
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
    """Begin again with `app.py` if Streamlit ran this page by itself; who is outside gets no further.

    Until `st.navigation` was called once in a server, Streamlit serves the files of a folder called `pages` one by one.
    """
    if "app" not in st.session_state:
        # What `st.navigation` does first; calling it here would tell the browser that the page does not exist.
        PagesManager.uses_pages_directory = False
        st.rerun()
    account.person()
