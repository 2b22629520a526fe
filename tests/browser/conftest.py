"""Run the real app in its own process and a real Chromium that may reach no other host."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from research.config import saved_endpoints
from research.config.named_endpoints import Entry
from research.config.settings import load
from research.workbench.workbench import Workbench
from tests.chromium import ARGUMENTS, CHROMIUM
from tests.conftest import LIBRARY, BuiltOnce, embedded_countries
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.workers import LONG_S, address

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "tests" / "output"
LOCAL = ("http://localhost:", "ws://localhost:", "data:", "blob:")
WAIT_MS = 120_000
"""Time limit of every wait, for a slow and busy machine; a passing test never waits this long."""
LOST_MS = 20_000
"""A click without an effect after this time was lost."""
COUNTRIES = (
    "china",
    "comoros",
    "ethiopia",
    "france",
    "germany",
    "iceland",
    "japan",
    "kenya",
    "norway",
    "united-states",
    "vietnam",
)


class App:
    """A running app with its own home."""

    def __init__(self, home: Path, url: str) -> None:
        self.home, self.url = home, url

    @property
    def bench(self) -> Workbench:
        """Return a workbench on the app's home, in this process."""
        return Workbench(load(home=self.home))


@pytest.fixture(scope="session")
def library(prepared_home: Path, built_once: BuiltOnce) -> Path:
    """The Factbook's sections on a few countries, with their vectors.

    With the whole Factbook, each app would embed it in the background for two minutes, while its test runs.
    """
    return built_once("countries", lambda folder: embedded_countries(prepared_home, folder, COUNTRIES)) / LIBRARY


@pytest.fixture(scope="session")
def app(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    home = tmp_path_factory.mktemp("home")
    shutil.copy(library, home)
    with served(home) as app:
        yield app


@pytest.fixture
def fresh(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A new app, for a test that starts with no runs, memories or uploads.

    Request it before `page`, so that the page closes first: a page whose server is gone logs errors to the console.
    """
    home = tmp_path_factory.mktemp("fresh")
    shutil.copy(library, home)
    with served(home) as app:
        yield app


@contextmanager
def served(home: Path, port: int = 0) -> Iterator[App]:
    """Serve the app with this home, by default on a port that the server chooses; a traceback in its log is an error."""
    log = home / "server.log"
    with log.open("wb") as said:
        server = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"],
            cwd=ROOT, env={**os.environ, "WORKBENCH_HOME": str(home)}, stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        url = address(log, server)
        urllib.request.urlopen(f"{url}/_stcore/health", timeout=LONG_S).close()  # it listens, and answers once it is up
        yield App(home, url)
    finally:
        server.terminate()
        server.wait()
    assert "Traceback" not in log.read_text(), log.read_text()[-3000:]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        SPARE.clear()
        browser.close()


SPARE: dict[str, list[BrowserContext]] = {}
"""Contexts that no test uses, by language: what they have loaded takes a quarter of the time to load again."""


@contextmanager
def watched(chromium: Browser, locale: str = "en-US") -> Iterator[BrowserContext]:
    """Open a browser context that fails the test on a console error or a request to another host.

    It has no pages, cookies and stored data of other tests, but may have their cache.
    """
    spare = SPARE.setdefault(locale, [])
    context = spare.pop() if spare else chromium.new_context(
        viewport={"width": 1440, "height": 900}, color_scheme="light", locale=locale
    )  # fmt: skip
    context.set_default_timeout(WAIT_MS)
    wrong: list[str] = []
    listeners: dict[str, Callable[[Any], None]] = {
        "request": lambda request: _check(request.url, wrong),
        "console": lambda message: _listen(message, wrong),
        "weberror": lambda error: wrong.append(str(error.error)),
    }
    for event, listener in listeners.items():
        context.on(event, listener)  # type: ignore[call-overload]
    yield context
    for page in context.pages:
        page.close()
    for event, listener in listeners.items():
        context.remove_listener(event, listener)
    context.set_storage_state({"cookies": [], "origins": []})
    spare.append(context)
    assert not wrong, wrong


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    with watched(chromium) as context:
        yield context


def _listen(message: ConsoleMessage, wrong: list[str]) -> None:
    # Opened at a page's path, Streamlit first probes for its server below that path.
    probing = message.location["url"].rpartition("/_stcore/")[2] in ("health", "host-config")
    if message.type == "error" and not probing:
        wrong.append(f"{message.text} {message.location['url']}")


def _check(url: str, wrong: list[str]) -> None:
    if not url.startswith(LOCAL):
        wrong.append(f"asked for {url}")


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


class Held(FakeOpenAI):
    """A provider of the example in three rounds, two tool calls and the answer, that holds each reply until `let_go`."""

    _rounds = (
        FakeReply(calls=[("search", {"query": "France real GDP purchasing"})], reasoning="Look for the figures of France."),
        FakeReply(calls=[("python", {"code": "print((3.732 / 3.689 - 1) * 100)"})], reasoning="Compute the growth."),
        FakeReply("<answer>Real GDP was **$3.732 trillion** in 2024 [1]. "
                  "It grew by 1.2 % from $3.689 trillion in 2023 [1].</answer>", reasoning="Write it down."),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__(self._reply)
        self._go = threading.Semaphore(0)

    def model(self, app: App) -> str:
        """Add this provider to the app and return the name of its model."""
        entry = Entry(kind="vllm", url=self.base_url)
        saved_endpoints.add(load(home=app.home), "held", entry, replace=True)
        return "held:fake"

    def let_go(self, replies: int = 1) -> None:
        self._go.release(replies)

    def _reply(self, body: Body) -> FakeReply:
        if not body.get("tools"):  # not a round, such as a request to judge the citations
            return FakeReply("{}")
        self._go.acquire(timeout=LONG_S)
        return self._rounds[sum(message["role"] == "assistant" for message in body["messages"])]


@pytest.fixture
def held() -> Iterator[Held]:
    with Held() as provider:
        yield provider
        provider.let_go(9)


def ended(page: Page, outcome: str = "Answered") -> Locator:
    """Return the badge of a run that has ended with this outcome."""
    return page.locator(".st-key-run-head").get_by_text(re.compile(rf"(^|\W){outcome}$"))


QUIET_MS = 15_000


def settle(page: Page) -> None:
    """Wait until the script has run, stale elements are gone and nothing is loading.

    Call this after opening a page.  After a click, first wait for its effect: the server receives it a moment later.
    """
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", re.compile("notRunning"))
    expect(page.locator("[data-stale=true], [data-testid=stSkeleton]").locator("visible=true")).to_have_count(0)
    # Scripts of charts and components, and the theme, come last, and nothing on the page says that they are there.  A
    # request that the browser keeps open after a reload says nothing about the page.
    with suppress(PlaywrightTimeout):
        page.wait_for_load_state("networkidle", timeout=QUIET_MS)


def pick_row(page: Page, address: str, x: int = 200) -> None:
    """Click the first row of the table and wait for its URL.

    The table is a canvas.  While charts above it grow, it loses clicks; a user would click again, and so does this.
    """
    for clicks in range(4):
        settle(page)
        if clicks and re.search(address, page.url):
            return  # the click was late rather than lost
        table = page.get_by_test_id("stDataFrame")
        expect(table).to_have_count(1)  # a new search draws a new table, and the old one disappears a moment later
        table.click(position={"x": x, "y": 52})
        try:
            page.wait_for_url(re.compile(address), timeout=LOST_MS)
        except PlaywrightTimeout:
            continue
        return
    page.wait_for_url(re.compile(address))


def opened(part: Locator, label: str | re.Pattern[str], inside: str) -> None:
    """Open the section with this label, and click again if the click was lost while the page was being drawn."""
    for clicks in range(4):
        settle(part.page)
        if clicks and part.get_by_text(inside).first.is_visible():
            return  # the click was late rather than lost
        part.get_by_text(label).first.click()
        try:
            expect(part.get_by_text(inside).first).to_be_visible(timeout=LOST_MS)
        except AssertionError:
            continue
        return
    expect(part.get_by_text(inside).first).to_be_visible()
