"""Measure the cost of watching a long run: bytes while nothing changes, time until a new round is seen, memory.

    python -m bench.watching [--rounds 200] [--every 2] [--seconds 30] [--tabs 20] [--library library.sqlite]

Serves the app from a temporary home folder, writes a run into its store like an engine, and opens it in Chromium.  The
library is indexed first, so that no background work disturbs the figures; with `--library` an indexed file is copied.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright

from bench.printing import machine, table
from bench.serving import Wire, prepare, served
from research.events.events import Asked
from research.store.sqlite import SqliteStore
from tests.chromium import ARGUMENTS, CHROMIUM
from tests.long_run import LongRun


def rss_mb(pid: int) -> float:
    """Return the resident memory of a process, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def seen(page: Page, text: str) -> float:
    """Wait until the text is drawn; return when, in seconds since the epoch."""
    page.get_by_text(text).first.wait_for()
    return time.time()


def opened(browser: Browser, url: str) -> Page:
    return browser.new_context(viewport={"width": 1440, "height": 900}).new_page()


def measure(browser: Browser, wire: Wire, pid: int, store: SqliteStore, chosen: argparse.Namespace) -> list[str]:
    """Return the results, in the order of `names`."""
    url, rounds, tabs = wire.url, chosen.rounds, chosen.tabs
    finished = LongRun(store, "261121-120000-done")
    finished.rounds(rounds)
    finished.finish()
    page = opened(browser, url)
    page.goto(url)
    seen(page, "Start")
    opens = []
    for _ in range(3):
        begun = time.time()
        page.goto(f"{url}/?run={finished.run_id}")
        page.locator(".st-key-run-head").get_by_text("Answered").first.wait_for()
        opens.append(seen(page, f"Chronicle · Chapter {rounds}") - begun)
    page.close()

    live = LongRun(store, "261121-120001-live")
    live.rounds(rounds - 20)
    beating = threading.Event()

    def beat() -> None:
        while not beating.wait(1):
            store.heartbeat([live.run_id])

    threading.Thread(target=beat, daemon=True).start()
    pages = [opened(browser, url) for _ in range(tabs)]
    for each in pages:
        each.goto(f"{url}/?run={live.run_id}")
        seen(each, f"chronicle chapter {rounds - 20}")
    waits = []
    begun, sent = time.time(), wire.received
    for number in range(rounds - 19, rounds + 1):
        saved = live.rounds(1)
        waits.append(seen(pages[0], f"chronicle chapter {number}") - saved)
        pages[0].wait_for_timeout(chosen.every * 1000)
    growing = (wire.received - sent) / (time.time() - begun) / tabs / 1000

    live.add([Asked(ask=rounds + 1, round=rounds + 1, purpose="act", model="extractive", keep=1, prompt_tokens=900)])
    seen(pages[0], "Reading the prompt")
    pages[0].wait_for_timeout(3_000)
    before, memory = wire.received, rss_mb(pid)
    pages[0].wait_for_timeout(chosen.seconds * 1000)
    waiting, after = (wire.received - before) / chosen.seconds / tabs / 1000, rss_mb(pid)
    beating.set()
    return [
        f"{median(opens):.2f} s",
        f"{median(waits) * 1000:.0f} ms, at worst {max(waits) * 1000:.0f} ms",
        f"{growing:.1f} kB/s",
        f"{waiting:.1f} kB/s",
        f"{memory:.0f} MB, {chosen.seconds:.0f} s later {after:.0f} MB",
    ]


def names(rounds: int, tabs: int, every: float) -> list[str]:
    """Return the names of the rows."""
    return [
        f"a finished run of {rounds} rounds, opened",
        f"a new round, until the first of {tabs} watching pages shows it",
        f"sent to each page while a round comes {every:g} s after the last was seen",
        f"sent to each page while nothing changes in {rounds} rounds",
        f"memory of the server with {tabs} pages open",
    ]


def lines(found: list[str], rounds: int, tabs: int, every: float) -> Iterator[str]:
    """Return the results as a Markdown table."""
    yield table(["watching", "found"], zip(names(rounds, tabs, every), found, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.watching", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--every", type=float, default=2, help="seconds from one round to the next")
    parser.add_argument("--tabs", type=int, default=3, help="pages that watch the run")
    chosen = parser.parse_args()
    print(f"{machine()}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        if chosen.library:
            shutil.copy(chosen.library, home / "library.sqlite")
        else:
            prepare(home, "--vectors")
        store = SqliteStore(home / "workbench.sqlite")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        with served(home) as (url, pid):
            found = measure(browser, Wire(int(url.rsplit(":", 1)[1])), pid, store, chosen)
        browser.close()
    for line in lines(found, chosen.rounds, chosen.tabs, chosen.every):
        print(line)


if __name__ == "__main__":
    main()
