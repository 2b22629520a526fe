"""The main task of each page, in a browser that prefers Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from playwright.sync_api import Browser, Page, expect

from pages.locale.update import FILE
from research.workbench.example import EXAMPLE_QUESTION
from tests.browser.conftest import OUTPUT, App, settle, watched

pytestmark = pytest.mark.browser
Words = Callable[[str], str]


@pytest.fixture
def zh() -> Words:
    """Translates an English text of the pages into Chinese."""
    with FILE.open("rb") as file:
        known = {str(each.id): str(each.string) for each in read_po(file, locale="zh") if each.id}
    return known.__getitem__


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    with watched(chromium, locale="zh-CN") as context:
        yield context.new_page()


@pytest.mark.slow
def test_every_page_works_in_chinese(app: App, page: Page, zh: Words) -> None:
    page.goto(app.url)
    page.get_by_role("textbox", name=zh("Question")).fill(
        zh(EXAMPLE_QUESTION)
    )  # about a country of the tests' small Factbook
    page.get_by_role("button", name=zh("Start")).click()
    page.wait_for_url(re.compile(r"[?&]run="))
    expect(page.get_by_text(zh("Answered")).first).to_be_visible()
    expect(page.locator(".st-key-report")).to_contain_text("3.732")
    settle(page)  # each run of the script offers the files anew, and a click on an earlier offer is lost
    page.screenshot(path=OUTPUT / "chinese-run.png", full_page=True)
    with page.expect_download() as download:
        page.get_by_role("button", name=zh("Export")).click()
        page.get_by_role("button", name="Markdown").click()
    assert "## 参考" in Path(download.value.path()).read_text("utf-8")
    page.locator(".st-key-memory-keep").get_by_role("button").click()
    page.locator(".st-key-memory-keep-button button").click()
    kept = zh("{findings} of this run in memory").partition("{findings}")[2]
    expect(page.get_by_text(kept)).to_be_visible()  # the first entry loads the encoder

    page.get_by_role("link", name=zh("Memory"), exact=True).click()
    expect(page.locator(".st-key-memory-list").get_by_role("link").first).to_be_visible()
    page.get_by_role("link", name=zh("Runs"), exact=True).click()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()

    page.get_by_role("link", name=zh("Compare"), exact=True).click()
    page.get_by_role("button", name=zh("Start all")).click()
    heads = page.locator(".st-key-compare-heads")
    expect(heads.get_by_text(zh("Answered"))).to_have_count(2)
    settle(page)
    page.screenshot(path=OUTPUT / "chinese-comparison.png", full_page=True)
    with page.expect_download():
        page.get_by_role("button", name=zh("Export")).click()
        page.get_by_role("button", name="Markdown").click()

    page.get_by_role("link", name=zh("Library"), exact=True).click()
    box = page.get_by_role("searchbox", name=zh("Search the library"))
    expect(box).to_be_visible()
    settle(page)
    box.fill("France real GDP")
    box.press("Enter")
    expect(page.get_by_text("France · Economy").first).to_be_visible()
    page.get_by_role("link", name=zh("Settings"), exact=True).click()
    expect(page.get_by_text(zh("Key missing")).first).to_be_visible()


@pytest.mark.slow
def test_a_chosen_language_is_kept_when_an_address_is_opened_afresh(app: App, page: Page, zh: Words) -> None:
    page.goto(app.url)
    settle(page)
    switch = page.locator("[class*=st-key-language-switch]")
    switch.get_by_text("EN", exact=True).click()
    expect(page.get_by_role("heading", name="What do you want to know?")).to_be_visible()
    page.wait_for_function("document.cookie.includes('workbench-language=en')")
    afresh = page.context.new_page()
    afresh.goto(f"{app.url}/runs")
    expect(afresh.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    afresh.goto(f"{app.url}/runs?lang=zh")  # a link's language comes first, and does not change what is kept
    expect(afresh.get_by_role("heading", name=zh("Runs"), exact=True)).to_be_visible()
    afresh.goto(f"{app.url}/library")
    expect(afresh.get_by_role("heading", name="Library", exact=True)).to_be_visible()


@pytest.mark.slow
def test_tools_chosen_on_ask_hold_on_compare_and_a_change_of_language_asks_on(app: App, page: Page, zh: Words) -> None:
    """The browser knows the options of a form by their words."""
    page.goto(f"{app.url}?lang=en")
    page.get_by_text("Customize").first.click()
    expect(page.get_by_text("Read a page", exact=True)).to_be_visible()
    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_text("Shared settings").click()
    tools = page.get_by_test_id("stButtonGroup").filter(has=page.get_by_text("Read a page", exact=True))
    expect(tools.locator("[aria-checked=true], [aria-pressed=true], [kind=pillsActive]")).to_have_count(3)
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_text("中", exact=True).click()
    box = page.get_by_role("textbox", name=zh("Question"))
    box.fill(zh(EXAMPLE_QUESTION))
    page.get_by_role("button", name=zh("Start")).click()
    page.wait_for_url(re.compile(r"[?&]run="))
    expect(page.get_by_text(zh("Answered")).first).to_be_visible()


@pytest.mark.slow
def test_tools_and_sources_hold_on_the_next_page_after_a_change_of_language(app: App, page: Page, zh: Words) -> None:
    page.goto(f"{app.url}?lang=en")
    page.get_by_text("Customize").first.click()
    expect(page.get_by_text("Read a page", exact=True)).to_be_visible()
    page.get_by_text("中", exact=True).click()
    page.get_by_role("link", name=zh("Compare"), exact=True).click()
    page.get_by_text(zh("Shared settings: budget, tools, sources, memory")).click()
    for chosen, number in ((zh("Read a page"), 3), (zh("CIA World Factbook"), 1)):
        group = page.get_by_test_id("stButtonGroup").filter(has=page.get_by_text(chosen))
        expect(group.locator("[aria-checked=true], [aria-pressed=true], [kind=pillsActive]")).to_have_count(number)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "name"), [("", "Customize"), ("compare", "Shared settings: budget, tools, sources, memory")]
)
def test_a_change_of_language_leaves_open_what_was_opened(
    app: App, page: Page, zh: Words, path: str, name: str
) -> None:
    page.goto(f"{app.url}/{path}?lang=en")
    page.locator("summary").filter(has_text=name).click()
    expect(page.locator("details[open] summary").filter(has_text=name)).to_be_visible()
    page.get_by_text("中", exact=True).click()
    expect(page.locator("details[open] summary").filter(has_text=zh(name))).to_be_visible()


def test_the_words_of_the_frame_are_chinese(app: App, page: Page, zh: Words) -> None:
    page.goto(app.url)
    settle(page)
    page.get_by_test_id("stMainMenuButton").click()
    shown = "each => getComputedStyle(each, '::after').content.slice(1, -1)"
    for place, word in (("theme-System", "System"), ("theme-Dark", "Dark"), ("print", "Print")):
        item = page.get_by_test_id(f"stMainMenuItem-{place}")
        label = item if place.startswith("theme") else item.get_by_test_id("stMainMenuItemLabel")
        expect(label).to_have_css("font-size", "0px")
        assert label.evaluate(shown) == zh(word)
    assert page.locator("a[href='#stMain']").evaluate(shown) == zh("Skip to main content")
