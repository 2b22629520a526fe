"""Connection tests in the background; their results stay in the session, and those of services in the store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Final

import msgspec
import streamlit as st
from msgspec import Struct

from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain
from research.errors import ConfigError, StoreUnavailable, WorkbenchError
from research.store.saved import readable
from research.workbench import model_trial
from research.workbench.diagnostics import Check, masked
from research.workbench.workbench import Workbench

LOOK_EVERY_S: Final = 0.5
RESULTS: Final = (
    later("answers"),
    later("{n} models, e.g. {names}"),
    later("{encoder}, {n} dimensions"),
    later("Monty, no numpy and no plots: {why}"),
    later("CPython with numpy and matplotlib, sealed: no files, network or processes"),
)
"""Results of the doctor that are the same everywhere, listed for the catalogue."""

Work = Callable[[Workbench], Check]


class Tested(Struct):
    """The result of the last test of a service."""

    name: str
    check: Check
    time: float
    """Seconds since the epoch."""


class Trial:
    """One test in its own thread."""

    def __init__(self, name: str, work: Work, bench: Workbench, patience_s: float, keep: bool) -> None:
        self._name = name
        self._keep = keep
        self._patience_s = patience_s
        self._since = time.monotonic()
        self._found: Future[Check] = Future()
        threading.Thread(target=self._run, args=(work, bench), name=f"try-{name}", daemon=True).start()

    def _run(self, work: Work, bench: Workbench) -> None:
        try:
            try:
                check = masked(bench.settings, work(bench))
            except WorkbenchError as error:
                check = masked(bench.settings, Check(self._name, "broken", str(error)))
            if self._keep:
                with suppress(StoreUnavailable):  # the session still has the result
                    bench.store.put("tested", self._name, msgspec.json.encode(Tested(self._name, check, time.time())))
            self._found.set_result(check)
        except BaseException as error:  # noqa: BLE001 - handed to the page's thread, which raises it
            self._found.set_exception(error)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._since

    @property
    def check(self) -> Check | None:
        """The result, or None while the test is running."""
        if self._found.done():
            return self._found.result()
        if self.seconds > self._patience_s:
            return Check(self._name, "broken", t("No answer within {n} seconds.", n=round(self._patience_s)))
        return None


def start(bench: Workbench, name: str, work: Work, patience_s: float = 0.0, keep: bool = False) -> None:
    """Start the test, replacing an earlier one; it counts as failed after `patience_s`, or by default after `Timings.test`.

    With `keep`, its result is stored for later sessions.
    """
    _all()[name] = Trial(name, work, bench, patience_s or bench.settings.timings.test, keep)


def last(bench: Workbench, name: str) -> Tested | None:
    """Return the newest result for a service: of its connection, or of a job for its models, also of earlier sessions."""
    found = [each for each in readable(bench.store.values("tested", name), Tested, "test") if each.name == name]
    with suppress(ConfigError):  # the section Endpoints says that the file is damaged
        if job := model_trial.results(bench.settings.home).get(name):
            found.append(Tested(name, Check(name, "ok" if job.ok else "broken", job.line()), job.at))
    return max(found, key=lambda each: each.time, default=None)


def forget_stored(bench: Workbench, name: str) -> None:
    """Drop the stored results of a test, because what it tested has changed."""
    bench.store.remove("tested", name)
    with suppress(ConfigError):
        model_trial.forget(bench.settings.home, name)


def forget(name: str = "") -> None:
    """Drop the result of one test, or of all without a name."""
    if name:
        _all().pop(name, None)
    else:
        _all().clear()


def at_work(name: str) -> bool:
    return name in _all() and _all()[name].check is None


def found(name: str) -> Check | None:
    """Return the result of the last test, or None if there is none yet."""
    return _all()[name].check if name in _all() else None


def asking(name: str, title: str) -> None:
    """Draw the progress of the test, and rerun the page when it ends."""
    st.fragment(_asking, run_every=LOOK_EVERY_S)(name, title)


def _asking(name: str, title: str) -> None:
    if not at_work(name):
        st.rerun()
    waited = t("Testing {name} … {n} s", name=plain(title), n=round(_all()[name].seconds))
    st.markdown(f":gray[:material/hourglass_top: {waited}]")


def _all() -> dict[str, Trial]:
    trials: dict[str, Trial] = st.session_state.setdefault("trials", {})
    return trials
