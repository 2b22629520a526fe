"""What it costs to watch a long run: bytes while it stands still, time until a new round is seen, memory of the server.

    python -m bench.watching [--rounds 200] [--seconds 30] [--library library.sqlite]

Serves the app over a home of its own, writes a run into its store as an engine would, and opens it in Chromium.  With
`--library` the file of an indexed library is copied, so that no indexing in the background disturbs the figures.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright

from research.events import Asked
from research.store.sqlite import SqliteStore
from tests.long_run import LongRun

ROOT = Path(__file__).parents[1]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
TABS = 3


@contextmanager
def served(home: Path) -> Iterator[tuple[str, int]]:
    """The app over that home: its address and the id of its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"],
        cwd=ROOT, env={**os.environ, "WORKBENCH_HOME": str(home)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://localhost:{port}"
    try:
        while server.poll() is None:
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
                break
            except (urllib.error.URLError, TimeoutError, ConnectionError):
                time.sleep(0.1)
        yield url, server.pid
    finally:
        server.terminate()
        server.wait()


def rss_mb(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def received(page: Page) -> list[int]:
    """Grows by the size of each websocket frame that the page receives, in bytes."""
    sizes: list[int] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    # Frames are binary, and told in base64.
    session.on(
        "Network.webSocketFrameReceived", lambda told: sizes.append(len(told["response"]["payloadData"]) * 3 // 4)
    )
    return sizes


def seen(page: Page, text: str) -> float:
    """Waits until the text is drawn; returns when, in seconds since the epoch."""
    page.get_by_text(text).first.wait_for()
    return time.time()


def opened(browser: Browser, url: str) -> Page:
    return browser.new_context(viewport={"width": 1440, "height": 900}).new_page()


def measure(browser: Browser, url: str, pid: int, store: SqliteStore, rounds: int, seconds: float) -> None:
    finished = LongRun(store, "261121-120000-done")
    finished.rounds(rounds)
    finished.finish()
    page = opened(browser, url)
    page.goto(url)
    seen(page, "Start")
    for _ in range(3):
        begun = time.time()
        page.goto(f"{url}/?run={finished.run_id}")
        seen(page, f"Answered in {rounds} rounds")
        drawn = seen(page, f"Chronicle · Chapter {rounds}")
        print(f"finished run of {rounds} rounds open after {drawn - begun:.2f} s")
    page.close()

    live = LongRun(store, "261121-120001-live")
    live.rounds(rounds - 20)
    beating = threading.Event()

    def beat() -> None:
        while not beating.wait(1):
            store.beat([live.run_id])

    threading.Thread(target=beat, daemon=True).start()
    pages = [opened(browser, url) for _ in range(TABS)]
    sizes = received(pages[0])
    for each in pages:
        each.goto(f"{url}/?run={live.run_id}")
        seen(each, f"Read chapter {rounds - 20} of")
    waits = []
    for number in range(rounds - 19, rounds + 1):
        saved = live.rounds(1)
        waits.append(seen(pages[0], f"Read chapter {number} of") - saved)
        pages[0].wait_for_timeout(700)
    print(
        f"new round visible after {median(waits) * 1000:.0f} ms, at worst {max(waits) * 1000:.0f} ms ({len(waits)} rounds)"
    )

    live.add([Asked(ask=rounds + 1, round=rounds + 1, purpose="act", model="extractive", keep=1, prompt_tokens=900)])
    seen(pages[0], "Asking the model")
    pages[0].wait_for_timeout(3_000)
    before, memory = sum(sizes), rss_mb(pid)
    pages[0].wait_for_timeout(seconds * 1000)
    print(f"{(sum(sizes) - before) / seconds / 1000:.1f} kB/s while {rounds} rounds stand still")
    print(f"server {memory:.0f} MB, after {seconds:.0f} s more of {TABS} tabs watching {rss_mb(pid):.0f} MB")
    beating.set()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--chromium", default=os.environ.get("CHROMIUM", "/usr/bin/chromium"))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        if chosen.library:
            shutil.copy(chosen.library, home / "library.sqlite")
        store = SqliteStore(home / "workbench.sqlite")
        browser = playwright.chromium.launch(executable_path=chosen.chromium, args=ARGUMENTS)
        with served(home) as (url, pid):
            measure(browser, url, pid, store, chosen.rounds, chosen.seconds)
        browser.close()


if __name__ == "__main__":
    main()
