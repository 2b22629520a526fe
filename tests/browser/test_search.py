"""The search over everything: one key or button on every page, results by the keyboard, filters by kind."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from research.memory import Entry
from tests.browser.conftest import App, settle

pytestmark = pytest.mark.browser

PAGES = ("", "check", "compare", "evaluate", "runs", "memory", "metrics", "library", "settings")


def test_every_page_opens_the_search_and_its_results_are_reached_by_keys(fresh: App, page: Page) -> None:
    bench = fresh.bench
    run = bench.engine.start("How long is the coastline of Iceland?", bench.recipe())
    assert bench.engine.wait(run.run_id, 120)
    bench.memory.add([Entry("Iceland draws its power from the heat of the earth.")])
    box = page.get_by_role("searchbox", name="Search everything")
    results = page.locator(".st-key-search-results").get_by_role("button")
    for number, path in enumerate(PAGES):
        page.goto(f"{fresh.url}/{path}")
        settle(page)
        inputs = page.locator("textarea, input[type=text], input[type=search]").locator("visible=true")
        if inputs.count():
            inputs.first.focus()
        page.keyboard.press("Meta+k" if number % 2 else "Control+k")
        expect(box).to_be_focused()
        page.keyboard.press("Escape")
        expect(box).to_have_count(0)

    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Search Ctrl K").click()
    page.keyboard.type("iceland")  # before the server has answered
    expect(box).to_have_value("iceland")
    for kind in ("Runs", "Memory", "Library"):
        expect(page.locator(".st-key-search-results").get_by_text(kind, exact=True)).to_be_visible()
    page.get_by_role("radio", name="Memory").click()
    expect(results).to_have_count(1)
    page.get_by_role("radio", name="Runs").click()
    expect(results).to_contain_text(["How long is the coastline"])
    box.focus()
    page.keyboard.press("ArrowDown")
    expect(results.first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"runs.run={run.run_id}"))
    expect(box).to_have_count(0)

    assert "Evidence" in bench.store.run(run.run_id).answer  # the section that its page leaves out
    page.keyboard.press("Control+k")
    box.fill("evidence")
    page.get_by_role("radio", name="Reports").click()
    expect(page.get_by_text("Nothing found.")).to_be_visible()
