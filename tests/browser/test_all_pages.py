"""Every page in both languages, wide and narrow, light and dark: no console errors, no serious accessibility issues.

The screenshots stay in `tests/output/pages/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

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
SIZES = {"wide-light": (1440, "light"), "narrow-dark": (390, "dark")}
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="module")
def saved(app: App) -> Iterator[dict[str, dict[str, str]]]:
    """A finished run in each language, and its comparison with another."""
    bench = app.bench
    made = {}
    for language, question in QUESTIONS.items():
        runs = [
            bench.engine.start(question, bench.recipe(framework=each)).run_id
            for each in ("iter_research", "supervisor")
        ]
        for run in runs:
            assert bench.engine.wait(run, 120)
        bench.saved.save_comparison(Comparison(f"pages-{language}", question, tuple(runs), 1.0))
        made[language] = {"run": runs[0], "comparison": f"pages-{language}"}
    yield made
    bench.library.close()
    bench.store.close()


@pytest.fixture(scope="module")
def visitor(chromium: Browser) -> Iterator[BrowserContext]:
    """One browser context for all pages, so that Streamlit's scripts are loaded once."""
    with watched(chromium) as context:
        yield context


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("language", QUESTIONS)
def test_every_page_is_accessible_and_fits_the_window(
    visitor: BrowserContext, app: App, saved: dict[str, dict[str, str]], shown: str, language: str
) -> None:
    page = visitor.new_page()
    for dress, (width, scheme) in SIZES.items():
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        where = SHOWN[shown].format(**saved[language])
        page.goto(f"{app.url}/{where}{'&' if '?' in where else '?'}lang={language}")
        settle(page)
        (OUTPUT / "pages").mkdir(parents=True, exist_ok=True)
        page.screenshot(path=OUTPUT / "pages" / f"{shown}-{language}-{dress}.png")
        assert faults(page) == []
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, f"the page is {overflow} px wider than the window"
        menu = page.get_by_test_id("stMainMenu").bounding_box()  # a menu hidden by the bar does not widen the page
        assert menu is not None and menu["x"] + menu["width"] <= width, menu
    page.close()


def faults(page: Page) -> list[Any]:
    """Return axe-core's serious and critical violations, each with its first element."""
    found = Axe().run(page).response["violations"]
    return [
        (each["id"], each["nodes"][0]["target"], each["nodes"][0]["html"][:200])
        for each in found
        if each["impact"] in SERIOUS
    ]
