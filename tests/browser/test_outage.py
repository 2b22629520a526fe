"""A page that stays open while its server is away."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import App, ended, settle
from tests.long_run import LongRun

pytestmark = pytest.mark.browser
AWAY = re.compile("/static/js/|/_stcore/health")


def test_a_page_that_missed_a_script_loads_itself_again_once_the_server_answers(chromium: Browser, app: App) -> None:
    run = LongRun(app.bench.store, "261121-160000-long")
    run.rounds(3)
    run.finish()
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{app.url}/?run={run.run_id}")
    expect(ended(page)).to_be_visible()
    settle(page)
    context.route(AWAY, lambda route: route.abort())
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_text("Failed to fetch dynamically imported module").first).to_be_visible()
    context.unroute(AWAY)
    expect(page.get_by_role("slider")).to_be_visible()
    expect(page.get_by_text("Failed to fetch dynamically imported module")).to_have_count(0)
    context.close()
