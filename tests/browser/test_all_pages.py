"""Every page in both languages, narrow and wide, dark and light: no console errors, no serious accessibility issues.

The screenshots stay in `tests/output/pages/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from research.store.saved import Comparison
from tests.browser.conftest import OUTPUT, App, settle, watched

pytestmark = pytest.mark.browser

QUESTIONS = {
    "en": "What was the population of Japan, and how long is its coastline?",
    "zh": "法国2024年的实际GDP是多少？",
}
SHOWN = {
    "ask": "", "answer": "?run={run}", "compare": "compare", "comparison": "compare?id={comparison}", "runs": "runs",
    "run": "runs?run={run}&round=1", "memory": "memory", "library": "library",
    "document": "library?doc=library://factbook/france/economy&quote=Real GDP (purchasing power parity) 2024", "settings": "settings", "metrics": "metrics", "evaluate": "evaluate",
}  # fmt: skip
"""The name of each page and its path."""
SIZES = {"narrow-dark": (390, "dark"), "wide-light": (1440, "light")}
BACKGROUND = {"light": "rgb(253, 252, 250)", "dark": "rgb(23, 24, 27)"}
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="module")
def saved(app: App) -> Iterator[Callable[[str], dict[str, str]]]:
    """Returns a function that makes a finished run in a language, and its comparison with another, once."""
    bench = app.bench

    @cache
    def made(language: str) -> dict[str, str]:
        question = QUESTIONS[language]
        runs = [
            bench.engine.start(question, bench.recipe(framework=each)).run_id
            for each in ("iter_research", "supervisor")
        ]
        for run in runs:
            assert bench.engine.wait(run, 120)
        bench.saved.save_comparison(Comparison(f"pages-{language}", question, tuple(runs), 1.0))
        return {"run": runs[0], "comparison": f"pages-{language}"}

    yield made
    bench.library.close()
    bench.store.close()


@pytest.fixture(scope="module")
def visitor(chromium: Browser) -> Iterator[Page]:
    """One browser tab for all pages, so that Streamlit's scripts are loaded and compiled once."""
    with watched(chromium) as context:
        yield context.new_page()


CASES = [
    pytest.param(
        language, shown, loads,
        marks=() if loads == 1 and number % 3 == 0 and language == [*QUESTIONS][number % 2] else pytest.mark.slow,
    )
    for number, shown in enumerate(SHOWN)
    for language in QUESTIONS
    for loads in (1, 2)
]  # fmt: skip
"""`make test` loads every third page once, half of them in Chinese."""


@pytest.mark.parametrize(("language", "shown", "loads"), CASES)
def test_every_page_is_accessible_and_fits_the_window(
    visitor: Page, app: App, saved: Callable[[str], dict[str, str]], shown: str, language: str, loads: int
) -> None:
    """Loaded once, the page becomes wide and light while it is open."""
    page = visitor
    where = SHOWN[shown]
    if "{" in where:
        where = where.format(**saved(language))
    for number, (dress, (width, scheme)) in enumerate(SIZES.items()):
        dress_up(page, width, scheme)
        if number < loads:
            page.goto(f"{app.url}/{where}{'&' if '?' in where else '?'}lang={language}")
        settled_in(page, scheme, OUTPUT / "pages" / f"{shown}-{language}-{dress}.png")
        assert faults(page) == []
        assert page.locator("h1").count() == 1
        assert page.title() not in ("", "Research Workbench")
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, f"the page is {overflow} px wider than the window"
        menu = page.get_by_test_id("stMainMenu").bounding_box()  # a menu hidden by the bar does not widen the page
        assert menu is not None and menu["x"] + menu["width"] <= width, menu


END_OF_MOVES = """() => document.getAnimations()
    .filter(each => each.effect.getComputedTiming().endTime < Infinity).forEach(each => each.finish())"""
"""Ends what fades and moves, such as the change of colours: a page that is not in front draws no frames and never ends it."""


def dress_up(page: Page, width: int, scheme: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]


def settled_in(page: Page, scheme: str, screenshot: Path) -> None:
    """Wait until the page has the colours of this scheme, and keep a screenshot."""
    settle(page)
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", BACKGROUND[scheme])
    screenshot.parent.mkdir(parents=True, exist_ok=True)
    page.evaluate(END_OF_MOVES)
    page.screenshot(path=screenshot, animations="disabled")


def faults(page: Page) -> list[Any]:
    """Return axe-core's serious and critical violations, each with its first element."""
    found = Axe().run(page).response["violations"]
    return [
        (each["id"], each["nodes"][0]["target"], each["nodes"][0]["html"][:200])
        for each in found
        if each["impact"] in SERIOUS
    ]
