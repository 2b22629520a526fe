"""A user enters a key on the page Settings, tests it, never sees it again, and removes it."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocket, expect

from research._util.redaction import key_pattern
from research.config.settings import SAVED_FILE
from tests.browser.conftest import served
from tests.fake_openai import FakeOpenAI, FakeReply

pytestmark = pytest.mark.browser
KEY = "sk-canary/0123+456789abcdef=XYZ"
"""Contains characters that are escaped in URLs and in JSON."""


class Frames:
    """Records the frames of the page's websockets and the URLs of the server's responses."""

    def __init__(self, page: Page) -> None:
        self.sent: list[bytes] = []
        self.received: list[bytes] = []
        page.on("websocket", self._open)
        page.on("response", lambda response: self.received.append(response.url.encode()))

    def _open(self, socket: WebSocket) -> None:
        socket.on("framesent", lambda payload: self.sent.append(_bytes(payload)))
        socket.on("framereceived", lambda payload: self.received.append(_bytes(payload)))


def _bytes(payload: str | bytes) -> bytes:
    return payload.encode() if isinstance(payload, str) else payload


def leaks(data: bytes) -> bool:
    """Return whether the data contains the key: plain, hex, base64, percent-encoded or escaped."""
    return key_pattern(KEY).search(data.decode("latin-1")) is not None


def test_an_entered_key_works_is_never_sent_back_and_can_be_removed(page: Page, library: Path, tmp_path: Path) -> None:
    shutil.copy(library, tmp_path)
    frames = Frames(page)
    with (
        FakeOpenAI(lambda body: FakeReply("ready"), key=KEY, models=("fake", "other")) as server,
        served(tmp_path) as app,
    ):
        page.goto(f"{app.url}/settings?section=models")
        row = page.locator(".st-key-service-openai")
        expect(row).to_contain_text("Key missing")
        row.get_by_role("button", name="Set up").click()
        entry = page.get_by_role("dialog")
        entry.get_by_label("Key", exact=True).fill(KEY)
        entry.get_by_role("textbox", name="Address").fill(server.base_url)
        entry.get_by_role("button", name="Save and test").click()
        expect(row).to_contain_text("Works")
        expect(row).to_contain_text("2 models, e.g. fake, other")
        expect(row).to_contain_text("Key saved here")
        assert server.authorizations[-1] == f"Bearer {KEY}"
        assert stat.S_IMODE((tmp_path / SAVED_FILE).stat().st_mode) == 0o600

        page.reload()
        expect(row).to_contain_text("Works")
        expect(row).to_contain_text("Tested ")
        row.get_by_role("button", name="Change").click()
        expect(entry.get_by_label("New key", exact=True)).to_have_value("")
        shown = page.content()

        with FakeOpenAI() as elsewhere:
            entry.get_by_role("textbox", name="Address").fill(elsewhere.base_url)
            entry.get_by_role("button", name="Save and test").click()
            expect(row).to_contain_text("belongs to another address and is not sent to this one")
            expect(row).to_contain_text("Works")
            assert elsewhere.authorizations == [None]

        row.get_by_role("button", name="Set up").click()
        entry.get_by_role("button", name="Remove the key").click()
        page.get_by_role("button", name="Remove", exact=True).click()
        expect(entry).to_have_count(0)
        expect(row).not_to_contain_text("belongs to another address")
        assert KEY not in (tmp_path / SAVED_FILE).read_text("utf-8")
        page.close()

    assert not leaks(shown.encode())
    assert sum(map(leaks, frames.sent)) == 1, "only the frame that submits the key contains it"
    assert not any(map(leaks, frames.received))
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and leaks(path.read_bytes())]
    assert not kept, "the key is in a log or a database"
