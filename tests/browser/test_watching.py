"""Two visitors watch and open the same run of two hundred rounds; `bench/watching.py` measures the time."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from research.events.events import Asked
from tests.browser.conftest import App, ended, settle, watched
from tests.long_run import LongRun

pytestmark = pytest.mark.browser
ROUNDS = 200


def visible(page: Page, text: str) -> None:
    page.locator(".st-key-rounds").get_by_text(text).first.wait_for()


@pytest.mark.slow
def test_two_visitors_watch_a_long_run_and_open_its_rounds(page: Page, app: App, chromium: Browser) -> None:
    bench = app.bench
    run = LongRun(bench.store, "261121-120000-long")
    run.rounds(ROUNDS - 5)
    with watched(chromium) as other:
        second = other.new_page()
        for each in (page, second):
            each.goto(f"{app.url}/?run={run.run_id}")
            visible(each, f"Read chapter {ROUNDS - 5} of")
        for number in range(ROUNDS - 4, ROUNDS + 1):
            run.rounds(1)
            for each in (page, second):
                visible(each, f"Read chapter {number} of")

        run.add([Asked(ask=201, round=201, purpose="act", model="extractive", keep=1, prompt_tokens=900)])
        visible(page, "Waiting for the model")
        expect(page.get_by_text("Rounds 193 to 200 of 200")).to_be_visible()

    run.finish()
    expect(ended(page)).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(page.locator(".st-key-rounds").get_by_text("Read chapter", exact=False)).not_to_have_count(0)
    page.goto(f"{app.url}/?run={run.run_id}&round=150")
    visible(page, "Read chapter 150 of")
    expect(page.locator(".st-key-report")).to_contain_text("150 chapters were read so far")
    expect(page.locator(".st-key-report").get_by_role("button", name="changed", exact=True)).to_be_visible()
    page.get_by_role("button", name="Earlier").click()
    visible(page, "Read chapter 101 of")


def test_a_replay_is_paused(page: Page, app: App) -> None:
    """From its first round, it would play for minutes."""
    run = LongRun(app.bench.store, "261121-130000-long")
    run.rounds(ROUNDS)
    run.finish()
    page.goto(f"{app.url}/?run={run.run_id}")
    expect(ended(page)).to_be_visible()
    settle(page)
    page.keyboard.press("k")
    page.get_by_role("button", name="Pause replay").click()
    play = page.get_by_role("button", name=re.compile(r"\bPlay\b"))
    expect(play).to_be_visible()
    expect(page.get_by_role("button", name="Pause replay")).to_have_count(0)
