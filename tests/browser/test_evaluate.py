"""A user evaluates two recipes, closes the page meanwhile, and finds every figure and every run afterwards."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import OUTPUT, App, pick_row, settle
from tests.browser.test_all_pages import faults

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_two_recipes_are_evaluated_while_the_page_is_closed(page: Page, context: BrowserContext, app: App) -> None:
    page.goto(f"{app.url}/evaluate")
    settle(page)
    for preset, chosen in (("Every strategy with ReAct", 4), ("Three to start with", 3)):
        page.get_by_role("button", name=preset).click()
        # The selection comes from the server and would overwrite a key pressed before it arrives.
        expect(page.get_by_text(f"questions × {chosen} recipes")).to_be_visible()
    page.get_by_role("combobox", name="Recipes").press("Backspace")  # removes the third
    expect(page.get_by_text("questions × 2 recipes")).to_be_visible()
    many = page.get_by_role("spinbutton", name="How many (of 164)")
    many.fill("2")
    many.press("Enter")
    expect(page.get_by_text("2 questions × 2 recipes = 4 runs")).to_be_visible()
    page.get_by_role("textbox", name="Name").fill("story")
    page.get_by_role("textbox", name="Name").press("Enter")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile(r"[?&]evaluation=story"))
    page.close()

    page = context.new_page()
    page.goto(f"{app.url}/evaluate?evaluation=story")
    expect(page.get_by_text("All 4 runs done")).to_be_visible()
    page.get_by_text("Statistics, which say little").click()
    quality = page.locator(".st-key-evaluate-table-right")
    expect(quality.get_by_role("row", name="2 · IterResearch / Evolving report")).to_be_visible()
    expect(page.locator(".st-key-evaluate-verdict").get_by_role("heading")).to_be_visible()
    expect(page.get_by_role("heading", name="Correct answers by recipe")).to_be_visible()
    expect(page.get_by_role("heading", name="Framework and strategy")).to_have_count(0)
    heights = page.get_by_test_id("stDataFrame").evaluate(
        "table => [table, table.querySelector('.dvn-scroll-inner')].map(each => each.clientHeight)"
    )
    assert heights[0] - heights[1] <= 2, "no empty strip below the last question"
    expect(page.get_by_text("No other recipe does as well")).to_be_visible()

    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
        page.get_by_role("button", name="Markdown").click()
    assert Path(download.value.path()).read_text(encoding="utf-8").startswith("# Evaluation story")
    with page.expect_download() as download:
        page.get_by_test_id("stPopoverBody").get_by_role("button", name="CSV").click()
    page.keyboard.press("Escape")
    lines = list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
    assert [line["recipe"] for line in lines] == ["react/full"] * 2 + ["iter_research/evolving"] * 2

    pick_row(page, r"[?&]question=", x=100)
    expect(page.get_by_text("Expected answer", exact=True)).to_be_visible()

    for dress, width, scheme in (("1440-light", 1440, "light"), ("390-dark", 390, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        settle(page)
        page.screenshot(path=OUTPUT / f"evaluate-{dress}.png", full_page=True)
        assert faults(page) == []
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0
    page.set_viewport_size({"width": 1440, "height": 900})

    page.get_by_role("link", name="Open the run").first.click()
    page.wait_for_url(re.compile(r"/runs\?run="))

    page.goto(f"{app.url}/evaluate")
    settle(page)
    assert faults(page) == []
    one = page.get_by_role("button", name="story", exact=True)
    expect(one).to_be_visible()
    mine = page.locator('[class*="st-key-evaluate-past-"]').filter(has=one)
    mine.get_by_role("button", name="Delete").click()
    expect(one).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(one).to_be_visible()
    one.click()
    expect(page.get_by_text("All 4 runs done")).to_be_visible()
