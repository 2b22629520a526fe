"""A team's server as its users see it: the page queues a run, a worker runs it, and Postgres stores everything."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OUTPUT, ROOT, App, Held, ended, pick_row, served, settle
from tests.browser.test_all_pages import faults
from tests.browser.test_main_job import ask

pytestmark = pytest.mark.browser

FIRST, SECOND = "How much did the GDP of France grow?", "What is the population of Japan?"


@pytest.fixture
def team(library: Path, tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """The app, which only queues runs, and one worker."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(library, home)
    for name, value in {
        "WORKBENCH_HOME": str(home),
        "DATABASE_URL": database_url,
        "WORKBENCH_ENGINE": "workers",
    }.items():
        monkeypatch.setenv(name, value)
    with served(home) as app, (tmp_path / "worker.log").open("w") as log:
        worker = subprocess.Popen([sys.executable, "-m", "research", "worker"], cwd=ROOT, stderr=log)
        try:
            yield app
            assert worker.poll() is None, "the worker ended by itself"
        finally:
            worker.kill()
            worker.wait()
            sys.stdout.write((tmp_path / "worker.log").read_text())  # pytest shows it when a test fails


def look(page: Page, name: str) -> None:
    """Save a wide and a narrow screenshot of the page."""
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        page.screenshot(path=OUTPUT / f"team-{name}-{width}.png")
    page.set_viewport_size({"width": 1440, "height": 900})


@pytest.mark.slow
def test_a_worker_answers_and_stops_runs_started_on_the_page(team: App, page: Page, held: Held) -> None:
    stopped = ask(page, team, FIRST, model=held.model(team))
    held.let_go()
    rounds = page.locator(".st-key-rounds")
    expect(rounds.get_by_text("Search: France real GDP purchasing").first).to_be_visible()
    expect(ended(page)).to_have_count(0)  # the worker still runs it
    OUTPUT.mkdir(exist_ok=True)
    page.screenshot(path=OUTPUT / "team-live-1440.png")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text(re.compile("Stopped"))).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    assert team.bench.store.run(stopped).status == "stopped"

    answered = ask(page, team, SECOND)
    expect(ended(page)).to_be_visible()
    page.reload()
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_text(re.compile("2 runs"))).to_be_visible()
    page.get_by_test_id("stDataFrame").wait_for()
    look(page, "runs")
    pick_row(page, answered)  # the newest
    expect(ended(page)).to_be_visible()
    expect(page.locator(".st-key-report")).to_contain_text("123")
    look(page, "run")
    assert faults(page) == []
    assert not (team.home / "workbench.sqlite").exists(), "a SQLite file was written"
