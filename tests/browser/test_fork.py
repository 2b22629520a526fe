"""Fork a run from the list in two clicks, edit an observation, and compare the fork with the original."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from research.workbench.example import EXAMPLE_QUESTION
from tests.browser.conftest import OUTPUT, App, settle

pytestmark = pytest.mark.browser
RUN = "261121-120000-f0f0"


@pytest.mark.slow
@pytest.mark.examples(1)
@pytest.mark.parametrize("framework", ["iter_research", "react"])
def test_a_fork_continues_from_an_edited_observation(fresh: App, page: Page, framework: str) -> None:
    bench = fresh.bench
    list(bench.engine.start(EXAMPLE_QUESTION, bench.recipe(framework=framework), RUN, here=True).events())
    page.goto(f"{fresh.url}/runs?run={RUN}")
    settle(page)
    page.get_by_role("button", name="Fork", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    expect(page).to_have_url(re.compile("fork="))
    kept = dialog.get_by_label("Rounds to keep (of 2)")
    kept.fill("1")
    kept.press("Enter")
    expect(dialog.get_by_text("The fork shares round 1")).to_be_visible()
    dialog.get_by_role("combobox", name="Edit before continuing").click()
    page.get_by_role("option", name="Round 1").click()
    page.keyboard.press("Tab")
    box = dialog.get_by_role("textbox", name=re.compile("^Round 1"))
    expect(box).to_have_value(re.compile(r"3\.732"))
    box.fill(box.input_value().replace("3.732", "9.111"))
    box.press("Control+Enter")
    expect(dialog.get_by_text("Your edits are marked as yours")).to_be_visible()
    page.screenshot(path=OUTPUT / f"fork-form-{framework}-1440-light.png")
    dialog.get_by_role("button", name="Fork and continue").click()
    expect(page.locator(".st-key-fork-of")).to_contain_text("first round differs from the original")
    expect(page.locator(".st-key-report").get_by_text("9.111").first).to_be_visible()
    forked = parse_qs(urlsplit(page.url).query)["run"][0]
    assert forked != RUN
    expect(page.get_by_text("edited by you").first).to_be_visible()
    page.get_by_role("button", name="Compare with the original").click()
    page.wait_for_url(re.compile(r"compare\?id="))
    expect(page.locator(".st-key-compare-steps")).to_contain_text("edited by you")
    # Charts load more code: wait for it before the server stops.
    settle(page)
    page.screenshot(path=OUTPUT / f"fork-compare-{framework}-1440-light.png", full_page=True)
