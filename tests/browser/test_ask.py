"""The story of the page Ask: choose by task, add a document, ask, and ask again with a change."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OUTPUT, App, settle

pytestmark = pytest.mark.browser

MOON = {"name": "../moon.md", "mimeType": "text/markdown", "buffer": b"# The moon\n\nThe moon is made of basalt."}
FAKE = {"name": "fake.pdf", "mimeType": "application/pdf", "buffer": b"no pdf"}


def test_from_a_task_and_a_document_to_an_answer_and_again(page: Page, app: App) -> None:
    page.goto(app.url)
    box = page.get_by_role("textbox", name="Question")
    page.get_by_role("radio", name="Quick look").click()
    expect(page.get_by_text("A few rounds on a tight budget")).to_be_visible()
    expect(page.get_by_text("at most 60.0k tokens, $0.10, 3 min")).to_be_visible()
    page.get_by_text("Options", exact=True).click()

    # With the keyboard: the advice, then the cards, of which one cannot be chosen.
    page.get_by_role("radio", name="Must be reliable").focus()
    page.keyboard.press("Space")
    framework = page.get_by_role("radiogroup", name="Framework")
    expect(framework.get_by_role("radio", name="Parallel sampling")).to_be_checked()
    expect(page.get_by_text("Parallel sampling with ")).to_be_visible()
    framework.get_by_role("radio", name="Parallel sampling").focus()
    for above in ("Reflexion", "ReWOO"):
        page.keyboard.press("ArrowUp")
        expect(framework.get_by_role("radio", name=above)).to_be_checked()
        expect(page.get_by_text(f"{above} with ")).to_be_visible()  # the server has heard of it
    expect(page.get_by_text("Evolving report cannot be chosen here")).to_be_visible()
    framework.get_by_text("Think, act, observe").click(force=True)  # the label lies over the words of its card
    expect(framework.get_by_role("radio", name="ReAct")).to_be_checked()
    expect(page.get_by_text("ReAct with ")).to_be_visible()
    page.screenshot(path=OUTPUT / "ask-options-1440-light.png", full_page=True)

    page.get_by_role("button", name="Add documents").click()
    page.locator("input[type=file]").first.set_input_files([MOON, FAKE])  # type: ignore[list-item]
    expect(page.get_by_text("ready to be searched")).to_be_visible()
    expect(page.get_by_text("is not a whole pdf")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("sources: library, Documents")).to_be_visible()

    settle(page)
    box.fill("What is the moon made of?")
    box.press("Control+Enter")
    page.wait_for_url(re.compile(r"[?&]run="))
    expect(page.get_by_role("heading", name="What is the moon made of?")).to_be_visible()
    expect(page.locator(".st-key-report")).to_contain_text("made of basalt")
    expect(box).to_have_count(0)

    page.get_by_role("link", name="Run again with another recipe").click()
    page.wait_for_url(re.compile(r"[?&]again="))
    expect(box).to_have_value("What is the moon made of?")
    expect(page.get_by_text("at most 60.0k tokens, $0.10, 3 min")).to_be_visible()
    page.reload()
    expect(box).to_have_value("What is the moon made of?")
    page.go_back()
    expect(page.get_by_role("button", name="New question")).to_be_visible()
    page.get_by_role("button", name="New question").click()
    expect(box).to_have_value("")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_box_fits_a_phone_in_both_languages(page: Page, app: App, language: str) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    page.emulate_media(color_scheme="dark")
    page.goto(f"{app.url}/?lang={language}&preset=Academic&q=Who")
    expect(page.locator(".st-key-question textarea")).to_have_value("Who")
    expect(page.locator(".st-key-presets")).to_be_visible()
    settle(page)
    page.get_by_test_id("stExpander").locator("summary").first.click()
    expect(page.locator(".st-key-framework").get_by_role("radio").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(path=OUTPUT / f"ask-box-390-dark-{language}.png")
