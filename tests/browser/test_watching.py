"""Two visitors watch and open the same run of two hundred rounds; `bench/watching.py` measures the time."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from research.events.events import Asked, Replied, ReportUpdated, Streamed
from research.events.recipe import Recipe
from research.types import Citation, Reply, Usage
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
            visible(each, f"chronicle chapter {ROUNDS - 5}")
        for number in range(ROUNDS - 4, ROUNDS + 1):
            run.rounds(1)
            for each in (page, second):
                visible(each, f"chronicle chapter {number}")

        run.add([Asked(ask=201, round=201, purpose="act", model="extractive", keep=1, prompt_tokens=900)])
        visible(page, "Reading the prompt")
        expect(page.get_by_text("Rounds 176 to 200 of 200")).to_be_visible()

    run.finish()
    expect(ended(page)).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(page.locator(".st-key-rounds").get_by_text("chronicle chapter")).not_to_have_count(0)
    page.goto(f"{app.url}/?run={run.run_id}&round=150")
    visible(page, "chronicle chapter 150")
    expect(page.locator(".st-key-report")).to_contain_text("150 chapters were read so far")
    expect(page.locator(".st-key-report").get_by_role("button", name="changed", exact=True)).to_be_visible()
    page.get_by_role("button", name="Earlier").click()
    visible(page, "chronicle chapter 101")


@pytest.mark.slow
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


def top(place: Locator) -> float:
    """Return where an element is on the screen."""
    box = place.bounding_box()
    assert box
    return box["y"]


@pytest.mark.parametrize("first", [14, pytest.param(34, marks=pytest.mark.slow)])
def test_the_trace_follows_the_newest_round_until_the_reader_scrolls_away(page: Page, app: App, first: int) -> None:
    run = LongRun(app.bench.store, f"261121-1400{first}-long")
    run.rounds(first)
    page.goto(f"{app.url}/?run={run.run_id}")
    rounds = page.locator(".st-key-rounds")
    latest = page.get_by_role("button", name="Latest")
    expect(rounds.get_by_text(f"chronicle chapter {first}")).to_be_in_viewport()
    run.rounds(5)  # so many that the page is drawn anew
    expect(rounds.get_by_text(f"chronicle chapter {first + 5}").last).to_be_in_viewport()  # the last: it is being moved
    expect(latest).to_be_hidden()

    rounds.hover()
    page.mouse.wheel(0, -600)
    expect(latest).to_be_visible()
    seen = rounds.get_by_text(f"chronicle chapter {first - 4}")
    before = top(seen)
    run.rounds(5)
    expect(rounds.get_by_text(f"chronicle chapter {first + 10}")).to_have_count(1)
    assert top(seen) == before
    expect(rounds.get_by_text(f"chronicle chapter {first + 10}")).not_to_be_in_viewport()

    latest.click()
    expect(latest).to_be_hidden()
    run.rounds(1)
    expect(rounds.get_by_text(f"chronicle chapter {first + 11}")).to_be_in_viewport()


EMPTY = """() => {
    window.empty = 0;
    const look = () => {
        window.empty += !document.querySelector(".st-key-report")?.innerText;
        requestAnimationFrame(look);
    };
    look();
}"""
"""Counts the pictures of the page in which the report's pane is empty."""


@pytest.mark.slow
def test_a_draft_that_becomes_the_report_stays_in_sight_and_does_not_throw_the_reader_back(
    page: Page, app: App
) -> None:
    recipe = Recipe(framework="react")
    run = LongRun(app.bench.store, "261121-150000-long", recipe=recipe)
    text = "\n\n".join(f"Paragraph {n} tells of the harbour and of the people who came by the sea." for n in range(80))
    run.add([Asked(ask=1, round=1, purpose="act", model="extractive"), Streamed(ask=1, text=f"<answer>{text}")])
    page.goto(f"{app.url}/?run={run.run_id}")
    report = page.locator(".st-key-report")
    expect(report.get_by_text("Paragraph 79")).to_have_count(1)
    main = page.get_by_test_id("stMain")
    main.hover()
    page.mouse.wheel(0, 1_200)
    page.wait_for_function("document.querySelector('.stMain').scrollTop === 1200")
    page.evaluate(EMPTY)
    seen = report.get_by_text("Paragraph 20 tells")
    before = top(seen)
    reply = Reply(f"<answer>{text}</answer>", answer=text)
    run.add([Replied(ask=1, purpose="act", reply=reply, usage=Usage(), seconds=1.0)])
    checked = (Citation(1, "Paragraph 1 tells of the harbour.", "unverified"),)
    run.add([ReportUpdated(report=f"{text} [1]", citations=checked)])
    expect(page.get_by_text("Checking citations")).to_be_visible()
    expect(report.locator(".rw-mark")).to_have_count(1)
    run.finish(text, ())
    expect(ended(page)).to_be_visible()
    expect(report.get_by_text("Paragraph 79")).to_have_count(1)
    assert abs(top(seen) - before) < 2
    assert page.evaluate("window.empty") < 3
