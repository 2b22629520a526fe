"""A page that is open while its server is away."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import served, settle


@pytest.mark.slow
def test_a_page_says_that_its_server_is_away_and_goes_on_when_it_is_back(
    library: Path, tmp_path: Path, chromium: Browser
) -> None:
    shutil.copy(library, tmp_path)
    page = chromium.new_page(viewport={"width": 390, "height": 800}, locale="en-US")
    away = page.get_by_text("The server does not answer.")
    try:
        with served(tmp_path) as app:
            page.goto(app.url)
            settle(page)
            expect(away).to_be_hidden()
        expect(away).to_be_visible()
        expect(page.get_by_text("streamlit run")).not_to_be_visible()
        with served(tmp_path, urlsplit(app.url).port or 0):
            expect(away).to_be_hidden()
            expect(page.get_by_role("textbox", name="Question", exact=True)).to_be_editable()
    finally:
        page.close()
