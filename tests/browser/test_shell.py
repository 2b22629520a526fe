"""What all pages share: one choice of theme, and the menu of a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import App, settle

pytestmark = pytest.mark.browser
DARK, LIGHT = "rgb(23, 24, 27)", "rgb(253, 252, 250)"


def choose(page: Page, theme: str) -> None:
    page.get_by_test_id("stMainMenu").click()
    page.get_by_role("menuitemradio", name=theme).click()
    page.keyboard.press("Escape")


def test_a_chart_follows_a_change_of_the_theme(page: Page, app: App) -> None:
    bench, run = app.bench, "261121-120009-abcd"
    for _ in bench.engine.start(
        "What is the population of Kenya and of France?", bench.recipe(), run, here=True
    ).events():
        pass
    page.goto(f"{app.url}/?run={run}")
    figure = page.locator(".vega-embed .role-mark text").first
    expect(figure).to_have_css("fill", "rgb(16, 19, 22)")
    choose(page, "Dark")
    expect(figure).to_have_css("fill", "rgb(228, 229, 231)")


def test_a_theme_holds_for_all_pages_wherever_it_was_chosen(page: Page, app: App) -> None:
    page.goto(f"{app.url}/library")
    settle(page)
    shown = page.get_by_test_id("stApp")
    expect(shown).to_have_css("background-color", LIGHT)
    choose(page, "Dark")
    expect(shown).to_have_css("background-color", DARK)
    for path in ("/", "/runs", "/library"):
        page.goto(app.url + path)
        settle(page)
        expect(shown).to_have_css("background-color", DARK)
    page.get_by_role("link", name="Metrics").click()  # chosen where the address is no longer the one that was opened
    page.wait_for_url(re.compile("/metrics"))
    settle(page)
    choose(page, "Light")
    expect(shown).to_have_css("background-color", LIGHT)
    for path in ("/metrics", "/"):
        page.goto(app.url + path)
        settle(page)
        expect(shown).to_have_css("background-color", LIGHT)


def test_on_a_phone_the_menu_closes_once_a_page_is_chosen(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(app.url)
    settle(page)
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebar").get_by_role("link", name="Library").click()
    page.wait_for_url(re.compile("/library"))
    expect(page.get_by_role("heading", name="Library", exact=True)).to_be_visible()
    expect(page.get_by_test_id("stSidebarNavLink").first).not_to_be_in_viewport()
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(page.get_by_test_id("stSidebarNavLink").first).to_be_in_viewport()
