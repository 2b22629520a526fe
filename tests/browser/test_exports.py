"""An exported web page in a real browser shows the report and requests nothing."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from research.exports.html import html
from research.types import Source
from tests.unit.test_exports_bibliography import HOSTILE, run_of, source
from tests.unit.test_exports_documents import MORE, chinese

pytestmark = pytest.mark.browser
OUTPUT = Path(__file__).parents[1] / "output"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_an_exported_web_page_shows_the_report_and_requests_nothing(context: BrowserContext, tmp_path: Path) -> None:
    report = "\n\n".join([*HOSTILE, *MORE, "Fact [1]."])
    hostile = run_of(source(1), *(Source(n, text, text, text) for n, text in enumerate(MORE, 2)), report=report)
    (tmp_path / "hostile.html").write_text(html(hostile), "utf-8")
    (tmp_path / "chinese.html").write_text(html(chinese()), "utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    try:
        home = f"http://localhost:{server.server_port}"
        page.goto(f"{home}/hostile.html")
        expect(page.get_by_text("Fact")).to_be_visible()
        expect(page.get_by_text("<script>alert(1)</script>").first).to_be_visible()
        page.goto(f"{home}/chinese.html")
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("link", name="[1]").first.click()
        expect(page.locator("#source-1")).to_be_in_viewport()
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=OUTPUT / "export-390-dark.png", full_page=True)
    finally:
        server.shutdown()
        server.server_close()
    assert [url for url in asked if not url.startswith("data:")] == [f"{home}/hostile.html", f"{home}/chinese.html"]
