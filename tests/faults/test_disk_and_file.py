"""A store on a full disk, and a store whose file is damaged."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from research.errors import ConfigError
from research.events.events import Event, ReportUpdated
from research.events.recipe import Recipe
from research.store import RunRow
from research.store.sqlite import SqliteStore

ROOT = Path(__file__).parents[2]

FULL = """
import os, resource, sys
from pathlib import Path
from research.errors import StoreUnavailable
from research.events.events import ReportUpdated, Streamed
from research.events.recipe import Recipe
from research.store import RunRow
from research.store.sqlite import SqliteStore

home, kind = Path(sys.argv[1]), sys.argv[2]
ballast = home / "ballast"

def fill():
    if kind == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, ((home / "runs.sqlite-wal").stat().st_size, resource.RLIM_INFINITY))
        return
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)) == 4096:
                pass
        except OSError:
            pass

def free():
    if kind == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    else:
        ballast.unlink()

def refused(do, *arguments, **named):
    try:
        do(*arguments, **named)
    except StoreUnavailable as error:
        assert str(home) in str(error), error
        return True
    return False

def noted(seq, run="a"):
    return ReportUpdated(run=run, seq=seq, time=float(seq), report=f"{seq} " * 5000)

def streamed(seq):
    return Streamed(run="a", seq=seq, time=float(seq), ask=1, text=f"piece {seq}")

store = SqliteStore(home / "runs.sqlite")
store.create(RunRow("a", "Why?", Recipe()))
store.append([noted(0), noted(1)])
fill()
seq = 2
store.append([streamed(seq)])
while not refused(store.append, [noted(seq + 1)]):
    seq += 2
    store.append([streamed(seq)])
for _ in range(3):
    assert refused(store.append, [noted(seq + 1)])
    assert refused(store.create, RunRow("b", "How?", Recipe()), [noted(0, "b")])
    assert [event.seq for event in store.events("a")] == list(range(seq)), "an acknowledged event cannot be read"
if kind == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
assert refused(SqliteStore, home / "new.sqlite"), "a full disk was not reported as one"
free()
store.append([noted(seq + 1)])
expected = [streamed(n) if n > 1 and n % 2 == 0 else noted(n) for n in range(seq + 2)]
assert store.events("a") == expected
assert [row.id for row in store.runs()] == ["a"]
store.create(RunRow("b", "How?", Recipe()))
store.close()
assert SqliteStore(home / "runs.sqlite").events("a") == expected
print("held")
"""
"""Runs in its own process: fills its disk, writes until a write fails, frees space, writes the same again."""


def mounted(folder: Path, code: str) -> list[str]:
    """Return a command that runs `code` with a private 1 MB disk mounted on the folder."""
    inside = 'mount -t tmpfs -o size=1m none "$1" && exec "$2" -c "$3" "$1" disk'
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", inside, "sh", str(folder), sys.executable, code]


@pytest.mark.parametrize("kind", ["disk", "limit"])
def test_a_full_disk_loses_nothing_and_a_refused_write_succeeds_once_there_is_room(tmp_path: Path, kind: str) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path), "limit"]
    if kind == "disk":
        probe = mounted(tmp_path, "")
        if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True, check=False).returncode:
            pytest.skip("cannot mount a private disk here")
        command = mounted(tmp_path, FULL)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "held\n"), done.stderr


def noted(run: str, seq: int) -> Event:
    return ReportUpdated(run=run, seq=seq, time=float(seq), report=f"{seq} " * 500)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a closed store with 60 runs of 10 events."""
    path = tmp_path / "workbench.sqlite"
    store = SqliteStore(path)
    for number in range(60):
        store.create(
            RunRow(f"run-{number:02}", "Why? " * 50, Recipe()), [noted(f"run-{number:02}", n) for n in range(10)]
        )
    store.close()
    return path


def spoiled(data: bytes, how: str) -> bytes:
    page, middle = 4096, len(data) // 2 // 4096 * 4096
    return {
        "no database": b"these are my notes, not a database\n" * 100,
        "beginning": bytes(100) + data[100:],
        "tables": data[:100] + b"\xff" * (page - 100) + data[page:],
        "cut": data[:middle],
        "cut within a page": data[: middle + 1000],
        "middle": data[:page] + b"\xa5" * (len(data) - 2 * page) + data[-page:],
    }[how]


@pytest.mark.parametrize("how", ["no database", "beginning", "tables", "cut", "cut within a page", "middle"])
def test_a_damaged_file_is_named_and_left_unchanged(file: Path, how: str) -> None:
    file.write_bytes(spoiled(file.read_bytes(), how))
    before = file.read_bytes()
    with pytest.raises(ConfigError) as raised:
        store = SqliteStore(file)
        store.runs()
        for number in range(60):
            store.events(f"run-{number:02}")
    assert str(file) in str(raised.value)
    assert "left unchanged" in str(raised.value)
    assert file.read_bytes() == before


def test_a_store_that_found_damage_refuses_every_later_write(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[:-40960] + b"\xa5" * 40960)
    before = file.read_bytes()
    store = SqliteStore(file)
    with pytest.raises(ConfigError):
        for number in range(60):
            store.events(f"run-{number:02}")
    writes: list[Callable[[], None]] = [
        lambda: store.append([noted("run-00", 10)]),
        lambda: store.create(RunRow("new", "Why?", Recipe())),
        lambda: store.heartbeat(["run-00"]),
        lambda: store.put("preset", "x", b"{}"),
    ]
    for write in writes:
        with pytest.raises(ConfigError, match="left unchanged"):
            write()
    store.close()
    assert file.read_bytes() == before


def test_opening_a_file_that_is_not_a_database_creates_no_other_files(tmp_path: Path) -> None:
    path = tmp_path / "workbench.sqlite"
    path.write_bytes(b"these are my notes, not a database\n" * 100)
    with pytest.raises(ConfigError, match="left unchanged"):
        SqliteStore(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["workbench.sqlite"]
