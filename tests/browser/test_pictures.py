"""Take the screenshots of the README: `make pictures` writes them to docs/images.

They are marked `slow`, because other tests cover the same paths.
"""

from __future__ import annotations

import os
import re

import pytest
from playwright.sync_api import Page, expect

from research.evaluation import Plan, candidate, evaluate, load, open_corpus
from research.workbench.example import EXAMPLE_QUESTION
from tests.browser.conftest import OUTPUT, ROOT, App, settle
from tests.browser.test_main_job import answered, ask

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FOLDER = ROOT / "docs/images" if os.environ.get("WORKBENCH_PICTURES") else OUTPUT / "pictures"
RECIPES = [
    "react:rounds=1/full",
    "react/full",
    "react/window",
    "iter_research/evolving",
    "rewoo/full",
    "supervisor/full",
]


def keep(page: Page, name: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    settle(page)
    page.screenshot(path=FOLDER / f"{name}.png")


def test_take_the_picture_of_a_run(page: Page, app: App) -> None:
    ask(page, app)
    answered(page)
    keep(page, "ask")


def test_take_the_picture_of_a_comparison(page: Page, app: App) -> None:
    page.goto(f"{app.url}/compare")
    page.get_by_role("textbox", name="Question").fill(EXAMPLE_QUESTION)
    page.get_by_role("button", name="Start all").click()
    page.wait_for_url(re.compile(r"[?&]id="))
    expect(page.locator(".st-key-compare-heads").get_by_text("Answered")).to_have_count(2)
    keep(page, "compare")


def test_take_the_picture_of_an_evaluation(page: Page, app: App) -> None:
    bench, dataset = app.bench, load("almanac")
    corpus = open_corpus(bench.settings.home, dataset.name, dataset.documents)
    bench.prepare(corpus.folders, lambda done, total, what: None)
    recipes = [candidate(bench, text, search=corpus.search, folders=corpus.folders) for text in RECIPES]
    evaluate(bench, Plan("almanac", dataset.questions[:8], tuple(recipes), corpus))
    page.goto(f"{app.url}/evaluate?evaluation=almanac")
    expect(page.get_by_text(f"All {8 * len(RECIPES)} runs done")).to_be_visible()
    box = page.get_by_role("combobox", name="Metric")
    box.fill("Evidence cited")
    box.press("Enter")
    expect(page.get_by_role("heading", name="Evidence cited by recipe")).to_be_visible()
    keep(page, "evaluate")
