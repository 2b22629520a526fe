"""The page Memory: add a note, find it by meaning, pick it on the map, edit, remove and restore it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from research.memory import Entry
from tests.browser.conftest import OUTPUT, App, ended, settle

pytestmark = pytest.mark.browser

NOTE = "The staple food of Ethiopia is injera, made from teff flour."
OTHERS = (
    "Iceland draws its power from the heat of the earth.",
    "Norway has a large wealth fund.",
    "长江是中国最长的河流。",
)


def row(page: Page, text: str) -> Locator:
    return page.locator(".st-key-memory-list").get_by_role("link", name=text)


@pytest.mark.slow
def test_a_note_is_found_by_meaning_edited_removed_and_restored(fresh: App, page: Page) -> None:
    page.goto(f"{fresh.url}/memory")
    expect(page.get_by_text("No memories yet")).to_be_visible()
    page.get_by_label("Note", exact=True).fill(NOTE)
    page.get_by_role("button", name="Save note").click()
    opened = page.locator(".st-key-memory-opened")
    expect(opened.get_by_text(NOTE)).to_be_visible()  # the first entry loads the encoder
    memory = fresh.bench.memory
    memory.add(Entry(text) for text in OTHERS)

    page.goto(f"{fresh.url}/memory")
    settle(page)
    box = page.get_by_placeholder("Search by meaning or words")
    box.fill("what do people eat in Addis Ababa")
    box.press("Enter")
    expect(page.locator(".st-key-memory-list").get_by_text("Best match")).to_be_visible()
    first = page.locator(".st-key-memory-list").get_by_role("link").first
    expect(first).to_contain_text("injera")
    expect(page).to_have_url(re.compile("q=what"))

    points = page.locator(".st-key-memory-map .mark-symbol.role-mark path")
    expect(points).to_have_count(4)
    page.screenshot(path=OUTPUT / "memory-search.png", full_page=True)
    settle(page)
    points.nth(3).click()  # drawn newest first: the note is the oldest
    expect(opened.get_by_text(NOTE)).to_be_visible()
    expect(page).to_have_url(re.compile("entry="))

    opened.get_by_role("button", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("Injera is eaten with stew.")
    page.get_by_role("button", name="Save").click()
    expect(opened.get_by_text("Injera is eaten with stew.")).to_be_visible()
    expect(row(page, "Injera is eaten with stew.")).to_be_visible()

    opened.get_by_role("button", name="Remove").click()
    expect(row(page, "Injera is eaten with stew.")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(opened.get_by_text("Injera is eaten with stew.")).to_be_visible()
    assert memory.count() == 4
    memory.close()


def choose(page: Page, label: str, value: str) -> None:
    """Select an option of a select box as a user does."""
    box = page.get_by_role("combobox", name=label)
    option = page.get_by_role("option", name=value, exact=True)
    for _ in range(20):  # a list that opens while the page scrolls closes again, and a user would reopen it
        if box.get_attribute("aria-expanded") == "false":
            box.click()
        try:
            option.click(timeout=2_000)
        except PlaywrightTimeout:
            continue
        return
    option.click()


def asked(page: Page, app: App, question: str, label: str, value: str, said: str) -> None:
    """Ask with one option set, once the page has `said` so."""
    page.goto(app.url)
    settle(page)
    page.get_by_text("Customize", exact=True).click()
    choose(page, label, value)
    expect(page.get_by_text(said)).to_be_visible()
    settle(page)
    page.get_by_role("textbox", name="Question", exact=True).fill(question)
    page.get_by_role("button", name="Start").click()
    expect(ended(page)).to_be_visible()


@pytest.mark.slow
def test_a_run_saves_its_findings_and_a_related_run_recalls_them(fresh: App, page: Page) -> None:
    asked(page, fresh, "What was the real GDP of Kenya in 2024?", "Keep in memory", "Findings", "keeps findings")
    kept = page.get_by_role("link", name=re.compile(r"Kept in memory: \d+ new findings?"))
    expect(kept).to_be_visible()
    expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)

    asked(
        page,
        fresh,
        "What real GDP did Kenya have in 2024?",
        "Recall from memory",
        "up to 5 entries",
        "recalls up to 5 entries",
    )
    rounds = page.locator(".st-key-rounds")
    expect(rounds.get_by_text(re.compile(r"^Recalled from memory: "))).to_be_visible()
    settle(page)  # the report may still be drawn a last time, which closes its quotes
    report = page.locator(".st-key-report")
    report.get_by_role("button", name=re.compile("^Citation 1")).first.click()
    body = report.get_by_role("dialog")
    expect(body).to_contain_text("Real GDP (purchasing power parity) 2024")
    OUTPUT.mkdir(exist_ok=True)
    page.screenshot(path=OUTPUT / "memory-recalled.png")
    body.get_by_role("link", name="Open the memory entry").click()
    opened = page.locator(".st-key-memory-opened")
    expect(opened.get_by_text("Learned while answering: What was the real GDP of Kenya in 2024?")).to_be_visible()
    expect(page).to_have_url(re.compile("entry="))
    opened.get_by_role("link", name=re.compile("Run, round")).click()
    expect(page.get_by_role("heading", name="What was the real GDP of Kenya in 2024?")).to_be_visible()
