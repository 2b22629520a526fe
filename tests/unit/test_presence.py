"""Who looks whether a run is driven sees only those that drive it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from research.engine import presence
from research.engine.presence import Presence
from tests.workers import LONG_S

fcntl = pytest.importorskip("fcntl", reason="without locks only heartbeats tell")


def test_two_that_look_at_the_same_moment_do_not_take_each_other_for_one_that_drives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a-run").touch()  # as a killed process leaves it
    flock, arrived, seen = fcntl.flock, threading.Event(), list[bool]()
    other = threading.Thread(target=lambda: seen.append(Presence(tmp_path).driven("a-run")))

    def watched(file: int, how: int) -> None:
        if threading.current_thread() is other:
            if not how & fcntl.LOCK_NB:
                arrived.set()
            try:
                flock(file, how)
            finally:
                arrived.set()
        else:
            flock(file, how)
            if how & fcntl.LOCK_NB:
                other.start()
                assert arrived.wait(LONG_S)

    monkeypatch.setattr(presence.fcntl, "flock", watched)
    assert not Presence(tmp_path).driven("a-run")
    other.join(LONG_S)
    assert seen == [False]
