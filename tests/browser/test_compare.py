"""A new user compares two frameworks offline, reads both answers, votes, exports, deletes and restores."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from research.workbench.example import EXAMPLE_QUESTION
from tests.browser.conftest import OUTPUT, App

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_two_recipes_are_compared_voted_on_exported_removed_and_restored(
    fresh: App, page: Page, context: BrowserContext
) -> None:
    page.goto(f"{fresh.url}/compare")
    expect(page.get_by_role("combobox", name="Framework")).to_have_count(2)
    page.get_by_role("textbox", name="Question").fill(EXAMPLE_QUESTION)
    page.get_by_role("button", name="Start all").click()
    page.wait_for_url(re.compile(r"[?&]id="))
    key = parse_qs(urlsplit(page.url).query)["id"][0]
    heads = page.locator(".st-key-compare-heads")
    expect(heads).to_contain_text("1 · ReAct / Full history")
    expect(heads.get_by_text("Answered")).to_have_count(2)
    for place in (1, 2):
        expect(page.locator(f".st-key-compare-run-{place}-report")).to_contain_text("$3.732 trillion")
    expect(page.locator(".st-key-compare-verdict").get_by_text("Same answer")).to_be_visible()
    expect(page.get_by_text("All 3 steps are the same in every run.")).to_be_visible()
    page.get_by_text("Only differences").click()
    first = page.locator(".st-key-compare-steps tbody tr").first
    expect(first.get_by_text("Search")).to_have_count(2)

    mine = page.locator(".st-key-compare-run-2-opinion")
    mine.get_by_role("radio", name="Better").click()
    note = mine.get_by_role("textbox")
    note.fill("Shows its work.")
    note.press("Control+Enter")
    other = context.new_page()
    other.goto(f"{fresh.url}/compare?id={key}")
    theirs = other.locator(".st-key-compare-run-2-opinion")
    expect(theirs.get_by_role("textbox")).to_have_value("Shows its work.")
    theirs.get_by_role("textbox").fill("I agree.")
    theirs.get_by_role("textbox").press("Control+Enter")
    expect(note).to_have_value("I agree.")

    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
        page.get_by_role("button", name="Markdown").click()
    assert download.value.suggested_filename == f"comparison-{key}.md"
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.startswith("---\ntitle: ")
    assert "| Vote |  | better |" in text
    assert text.count("## References") == 2

    page.screenshot(path=OUTPUT / "compare-1440-light.png", full_page=True)
    page.set_viewport_size({"width": 390, "height": 844})
    second = page.locator(".st-key-compare-run-2-report")
    expect(second).to_be_hidden()
    page.locator(".st-key-compare-switch").get_by_text("2 · IterResearch").click()
    expect(second).to_be_visible()
    expect(page.locator(".st-key-compare-run-1-report")).to_be_hidden()
    places = [each.bounding_box() for each in page.locator(".st-key-compare-switch [role=radio]").all()]
    assert len({place["x"] for place in places if place}) == 1  # one name per line
    box, words = note.bounding_box(), second.bounding_box()
    assert box and words and box["width"] > words["width"] - 4
    cells = page.locator(".st-key-compare-figures :is(th, td)")
    assert cells.evaluate_all("cells => cells.every((cell) => cell.scrollWidth <= cell.clientWidth + 1)"), "cut"
    page.screenshot(path=OUTPUT / "compare-390-light.png", full_page=True)
    page.set_viewport_size({"width": 1440, "height": 900})

    page.get_by_role("button", name="New comparison").click()
    past = page.locator(f".st-key-compare-past-{key}")
    past.get_by_role("button", name="Remove").click()
    expect(past).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(past).to_be_visible()
