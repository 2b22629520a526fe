"""The page Runs: filter, open, export, delete, restore and import runs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from research.events.recipe import Recipe
from research.store import Origin, RunRow
from research.workbench import run_import
from tests.browser.conftest import OUTPUT, App, pick_row, served, settle
from tests.unit.test_importing import life

pytestmark = pytest.mark.browser
FIRST, SECOND = "261121-120000-abcd", "261121-120001-abce"


@pytest.mark.slow
def test_runs_are_filtered_exported_deleted_restored_and_imported(page: Page, library: Path, tmp_path: Path) -> None:
    shutil.copy(library, tmp_path)
    bench = App(tmp_path, "").bench
    for run, recipe in ((FIRST, Recipe()), (SECOND, Recipe(framework="rewoo", context="window"))):
        bench.store.create(RunRow(run, "How many?", recipe, origin=Origin(FIRST, "rerun") if run == SECOND else None))
        bench.store.append(life(recipe, run))
    with served(tmp_path) as app:
        page.goto(f"{app.url}/runs?framework=rewoo")
        expect(page.get_by_text("1 run · 1.0 rounds on average")).to_be_visible()
        page.get_by_role("button", name="Filters (1)").click()
        page.get_by_role("button", name="Reset filters").click()
        page.wait_for_url(re.compile(r"/runs$"))
        expect(page.get_by_text("2 runs · 1.0 rounds on average")).to_be_visible()
        page.keyboard.press("Escape")

        # A filter selected in the closed popover stays reset after "Show all runs".
        page.get_by_role("button", name="Filters", exact=True).click()
        page.get_by_role("combobox", name="Framework").click()
        page.get_by_role("option", name="Supervisor").click()
        page.wait_for_url(re.compile("framework=supervisor"))
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Show all runs").click()
        expect(page.get_by_text("2 runs · 1.0 rounds on average")).to_be_visible()

        pick_row(page, SECOND)
        expect(page.get_by_text("Related runs · 2")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("button", name="Export").click()
            page.get_by_role("button", name="All events").click()
        body = Path(download.value.path()).read_bytes()
        assert run_import.read_run(body).id == SECOND

        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_text("1 run deleted.")).to_be_visible()
        expect(page.get_by_text("1 run · 1.0 rounds on average")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("2 runs · 1.0 rounds on average")).to_be_visible()

        expect(page.get_by_role("button", name="Import", exact=True)).to_have_count(1)
        page.get_by_role("button", name="Import", exact=True).click()
        file = {"name": "run.jsonl", "mimeType": "application/jsonl", "buffer": body}
        page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)  # type: ignore[arg-type]
        expect(page.get_by_text("already exists with the same events")).to_be_visible()
        page.keyboard.press("Escape")
        OUTPUT.mkdir(exist_ok=True)
        for width, scheme in ((1440, "light"), (390, "dark")):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{app.url}/runs")
            expect(page.get_by_text("2 runs · 1.0 rounds on average")).to_be_visible()
            settle(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.screenshot(path=OUTPUT / f"runs-list-{width}-{scheme}.png")
        page.locator(".st-key-runs-narrow").get_by_role("button").first.click()
        page.wait_for_url(re.compile(SECOND))
        expect(page.locator(".st-key-run")).to_be_visible()
        page.goto("about:blank")
