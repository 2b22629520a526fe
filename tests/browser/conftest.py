"""The real app in its own process, and a real Chromium that may talk to nobody else."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from research.settings import load
from research.workbench import Workbench

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "tests" / "output"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip


class App:
    """A served app with a home of its own."""

    def __init__(self, home: Path, url: str) -> None:
        self.home, self.url = home, url

    @property
    def bench(self) -> Workbench:
        """The same home, opened from outside."""
        return Workbench(load(home=self.home))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Factbook, indexed once."""
    home = tmp_path_factory.mktemp("library")
    bench = Workbench(load(home=home))
    bench.prepare((), lambda done, total, what: None)
    bench.library.close()
    return home / "library.sqlite"


@pytest.fixture(scope="session")
def app(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    home = tmp_path_factory.mktemp("home")
    shutil.copy(library, home)
    with served(home) as app:
        yield app


@pytest.fixture
def fresh(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An app of its own, for a story that begins with nothing asked, remembered or uploaded."""
    home = tmp_path_factory.mktemp("fresh")
    shutil.copy(library, home)
    with served(home) as app:
        yield app


@contextmanager
def served(home: Path) -> Iterator[App]:
    """The app over this home, on a port of its own; a traceback in its log is an error."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (home / "server.log").open("w+b")
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"],
        cwd=ROOT, env={**os.environ, "WORKBENCH_HOME": str(home)}, stdout=log, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        _wait(server, f"http://localhost:{port}/_stcore/health")
        yield App(home, f"http://localhost:{port}")
    finally:
        server.terminate()
        server.wait()
        log.close()
    said = (home / "server.log").read_text()
    assert "Traceback" not in said, said[-3000:]


def _wait(server: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.05)
    raise AssertionError(f"the app does not answer at {url}; exit status {server.poll()}")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def watched(chromium: Browser, locale: str = "en-US") -> Iterator[BrowserContext]:
    """One visit; at its end, an error in the console or a request to any other host is an error here."""
    wrong: list[str] = []
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light", locale=locale)
    context.set_default_timeout(30_000)
    context.on("request", lambda request: _check(request.url, wrong))
    context.on("console", lambda message: _listen(message, wrong))
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    yield context
    context.close()
    assert not wrong, wrong


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    with watched(chromium) as context:
        yield context


def _listen(message: ConsoleMessage, wrong: list[str]) -> None:
    # Opened below its root, Streamlit's own page first looks for its server under the page's path.
    probing = message.location["url"].rpartition("/_stcore/")[2] in ("health", "host-config")
    if message.type == "error" and not probing:
        wrong.append(f"{message.text} {message.location['url']}")


def _check(url: str, wrong: list[str]) -> None:
    if not url.startswith(("http://localhost:", "ws://localhost:", "data:", "blob:")):
        wrong.append(f"asked for {url}")


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Three rounds of the example, slow enough to be watched: two tool calls, then the answer."""
    lines = [
        {"text": "<think>Look for the figures of France.</think>\n"
         '<tool_call>{"name": "search", "arguments": {"query": "France real GDP purchasing"}}</tool_call>'},
        {"text": "<think>Compute the growth.</think>\n"
         '<tool_call>{"name": "python", "arguments": {"code": "print((3.732 / 3.689 - 1) * 100)"}}</tool_call>'},
        {"text": "<think>Write it down.</think>\n<answer>Real GDP was **$3.732 trillion** in 2024 [1].</answer>"},
    ]  # fmt: skip
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(json.dumps({**line, "delay_s": 3}) for line in lines), encoding="utf-8")
    return path
