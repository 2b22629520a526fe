"""Serve the app in a separate process, over a home folder whose library is indexed."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]


@contextmanager
def served(home: Path, address: str = "_stcore/health") -> Iterator[tuple[str, int]]:
    """Yield the address of the app and its process id as soon as it answers.

    Raises `RuntimeError` when the app ends before that; stderr then contains the reason.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"],
        cwd=ROOT,
        env={**os.environ, "WORKBENCH_HOME": str(home)},
        stdout=subprocess.DEVNULL,
    )
    url = f"http://localhost:{port}"
    try:
        while not _answers(f"{url}/{address}"):
            if server.poll() is not None:
                raise RuntimeError(f"the app ended with {server.returncode}")
            time.sleep(0.02)
        yield url, server.pid
    finally:
        server.terminate()
        server.wait()


class Wire:
    """A proxy in front of a local port that counts the bytes that come back, compressed as they are sent."""

    def __init__(self, port: int) -> None:
        self.received, self._port, self._loop = 0, port, asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        starting = asyncio.start_server(self._join, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        self.url = f"http://localhost:{server.sockets[0].getsockname()[1]}"

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", self._port)
        await asyncio.gather(self._pass(reader, forth), self._pass(back, writer, count=True))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: bool = False) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                self.received += len(data) if count else 0
                writer.write(data)
                await writer.drain()
        writer.close()


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=30).close()
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False
    return True


def prepare(home: Path, *options: str) -> None:
    """Index the Factbook in that home folder, like the command line.  Raises `CalledProcessError`."""
    command = [sys.executable, "-m", "research", "library", "prepare", *options]
    environment = {**os.environ, "WORKBENCH_HOME": str(home)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
