"""On a full disk a run waits and loses nothing; a damaged file is reported by name and left unchanged."""

from __future__ import annotations

import logging
import random
import resource
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from research.config.settings import load
from research.errors import StoreUnavailable
from research.events import events as e
from research.events.view import fold
from research.store import RunRow
from research.workbench.workbench import Workbench
from tests.command import Cli
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.faults.kills import Bench, Provider
from tests.faults.test_waiting import environment
from tests.player import QUESTION, Player
from tests.warm import Process, Warm
from tests.workers import LONG_S, until

LAPS = 3


def whole(events: list[e.Event]) -> None:
    assert [event.seq for event in events] == list(range(len(events)))
    assert fold(events).outcome == "answered"
    used = [event.observation.call_id for event in events if isinstance(event, e.ToolFinished)]
    assert ([event.ask for event in events if isinstance(event, e.Replied)], len(used)) == ([1, 2, 3, 4], LAPS)


def test_a_command_that_cannot_write_reports_it_and_waits(home: Path, warm: Warm) -> None:
    """A limit keeps every file of the process from growing, like a full disk or a quota, and is lifted later."""
    process: Process | None = None
    begun = threading.Event()
    player = Player("native", LAPS)

    def full_at_the_second(body: Body) -> FakeReply:
        reply = player(body)
        if len(player.purposes) == 2:
            assert begun.wait(LONG_S) and process is not None
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        return reply

    with FakeOpenAI(full_at_the_second) as server:
        words = ["run", QUESTION, "--home", str(home), "--model", "openai:fake"]
        process = warm.start(words, cwd=home, environment=environment(server.base_url))
        begun.set()
        # The loop ends when the process does, so it also shows that the run went on.
        said = []
        for line in process.stderr:
            said.append(line)
            if "waits until its events can be saved" in line:
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        process.communicate()
    store = Workbench(load(home=home)).store
    assert (process.returncode, len(server.requests)) == (0, LAPS + 1), said
    assert any(
        str(home / "workbench.sqlite") in line for line in said if "waits until its events can be saved" in line
    ), said
    whole(store.events(store.runs()[0].id))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A 4 MB disk."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("cannot mount a disk here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_run_waits_for_disk_space_while_the_app_keeps_working(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ballast = small_disk / "ballast"

    class Filling(Provider):
        """Fills the disk during the second tool call."""

        def listed(self, query: str) -> object:
            found = super().listed(query)
            if self.looked_up == 2:
                fill(ballast)
            return found

    player = Player("native", LAPS)
    with Filling(player) as provider, caplog.at_level(logging.WARNING):
        bench = Bench(small_disk, provider.base_url)
        recipe = bench.recipe(model="openai:fake", tools=["search"])
        run_id = bench.engine.start(QUESTION, recipe).run_id
        until(lambda: bool(bench.engine.blocked(run_id)))
        assert str(small_disk) in bench.engine.blocked(run_id)
        # Reads still work, and a write fails with the reason.
        before = bench.store.events(run_id)
        assert bench.store.run(run_id).status == "running"
        with pytest.raises(StoreUnavailable, match="workbench.sqlite"):
            for _ in range(50):  # the write-ahead log may still have some room
                bench.store.put("opinion", "x", b"x" * 4096)
        asked = provider.asked_for
        ballast.unlink()
        assert bench.engine.wait(run_id, LONG_S)
        assert bench.engine.blocked(run_id) == ""
        events = bench.store.events(run_id)
        bench.store.close()
    assert events[: len(before)] == before
    assert asked == 2, "the run waited"
    assert (provider.asked_for, provider.looked_up) == (LAPS + 1, LAPS)
    assert "waits until its events can be saved" in caplog.text
    whole(events)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        size = 1 << 16
        while size:
            try:
                while file.write(b"\0" * size) == size:
                    pass
            except OSError:
                pass
            size //= 2


def damaged(path: Path, how: str) -> bytes:
    """Write a database of 40 runs, damage it, and return the damaged bytes."""
    bench = Workbench(load(home=path.parent))
    for n in range(40):
        bench.store.create(RunRow(f"run-{n}", "q" * 2000, bench.recipe()))
    bench.store.close()
    assert not path.with_name(f"{path.name}-wal").exists()
    data = bytearray(path.read_bytes())
    noise = random.Random(how)
    match how:
        case "not a database":
            data = bytearray(noise.randbytes(len(data)))
        case "cut short":
            del data[len(data) // 3 :]
        case "pages overwritten":
            data[4096:] = noise.randbytes(len(data) - 4096)
    path.write_bytes(data)
    return bytes(data)


@pytest.mark.parametrize("how", ["not a database", "cut short", "pages overwritten"])
def test_a_command_names_a_damaged_database_and_leaves_it_unchanged(cli: Cli, home: Path, how: str) -> None:
    path = home / "workbench.sqlite"
    for each in home.glob("workbench.sqlite*"):
        each.unlink()
    data = damaged(path, how)
    done = cli("runs")
    assert (done.status, str(path) in done.err, "Move it away" in done.err) == (2, True, True), done.err
    assert path.read_bytes() == data


@pytest.mark.slow
def test_a_library_that_does_not_fit_says_how_much_it_needs(small_disk: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"disk is full\. Free \d+ MB") as caught:
        Workbench(load(home=small_disk / "home")).library.index_factbook()
    assert str(small_disk) in str(caught.value)
