"""Holds the rule of this folder: no library, no database server, no other process, no network."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from research.search.library.file import LibraryFile


@pytest.fixture(scope="session", autouse=True)
def fonts() -> None:
    """Let matplotlib list the fonts of this machine: the first time ever, it starts a process for that."""
    import matplotlib.font_manager  # noqa: F401


@pytest.fixture(scope="module", autouse=True)
def sealed() -> Iterator[None]:
    """Fail a test that opens what belongs under `tests/contract`."""

    def refuse(what: str) -> Any:
        def refused(*args: object, **kwargs: object) -> NoReturn:
            pytest.fail(f"a test under tests/unit {what}; move it to tests/contract")

        return refused

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LibraryFile, "__init__", refuse("opens a library"))
        patch.setattr(subprocess.Popen, "__init__", refuse("starts a process"))
        patch.setattr(os, "fork", refuse("starts a process"))
        for name in ("connect", "connect_ex", "bind"):
            patch.setattr(socket.socket, name, refuse("uses the network"))
        yield


@pytest.fixture(scope="session")
def prepared_home() -> None:
    pytest.fail("a test under tests/unit requests a prepared library; move it to tests/contract")


@pytest.fixture(scope="session")
def postgres_url() -> None:
    pytest.fail("a test under tests/unit requests a Postgres; move it to tests/contract")
