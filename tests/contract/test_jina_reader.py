"""Reading web pages through Jina, against a fake service."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from research.errors import ToolError
from research.web.fetch import FetchPolicy
from research.web.jina import JinaReader

KEY = "jina_5ecret+/key"
PAGE = "https://8.8.8.8/page"
"""A public IP address, so that no name is resolved; only the service would connect to it."""
POLICY = FetchPolicy()
DATA = {
    "title": "A  page", "url": PAGE, "content": "# A page\n\nWords.", "publishedTime": "Sun, 30 Nov 2025 13:45:20 GMT",
    "links": {"Two": "https://8.8.8.8/two#x", "Script": "javascript:x()", "Self": PAGE},
}  # fmt: skip


class Service:
    """A fake that answers like the real service."""

    def __init__(self) -> None:
        self.status, self.body = 200, json.dumps({"code": 200, "status": 20000, "data": DATA})
        self.asked: list[tuple[dict[str, str], Any]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers["Content-Length"]))
                service.asked.append(({k.lower(): v for k, v in self.headers.items()}, json.loads(sent)))
                body = service.body.encode()
                self.send_response(service.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    with closing(Service()) as service:
        yield service


def test_a_page_is_read_through_the_service(service: Service) -> None:
    page = JinaReader(service.url, KEY)(f"{PAGE}#secret", POLICY)
    assert (page.url, page.title, page.text) == (PAGE, "A page", "# A page\n\nWords.")
    assert [(link.text, link.url) for link in page.links] == [("Two", "https://8.8.8.8/two")]
    assert page.csl == {"type": "webpage", "title": "A page", "issued": {"date-parts": [[2025, 11, 30]]}}
    ((headers, body),) = service.asked
    assert body == {"url": PAGE}, "the fragment was sent"
    assert headers["authorization"] == f"Bearer {KEY}"


def test_links_can_also_be_pairs(service: Service) -> None:
    service.body = json.dumps({"data": {**DATA, "links": [["Two", "/two"]]}})
    assert JinaReader(service.url)(PAGE, POLICY).links[0].url == "https://8.8.8.8/two"
    assert "authorization" not in service.asked[0][0]


@pytest.mark.parametrize(
    "url", ["http://127.1/", "http://10.0.0.1/", "http://169.254.169.254/", "file:///x", "http://[::1]/"]
)
def test_a_forbidden_address_is_refused_without_asking_the_service(service: Service, url: str) -> None:
    with pytest.raises(ToolError, match="cannot be visited"):
        JinaReader(service.url, KEY)(url, POLICY)
    assert service.asked == []


def test_an_allowed_private_host_is_read_directly(service: Service) -> None:
    host = service.url.removeprefix("http://")
    with pytest.raises(ToolError, match="status 501"):  # the fake has no GET
        JinaReader(service.url, KEY)(f"{service.url}/page", FetchPolicy(allow_hosts=(host,)))
    assert service.asked == []


@pytest.mark.parametrize(
    ("status", "said"), [(402, "no balance left"), (422, "cannot open this page"), (451, "may not open this site"), (401, "JINA_API_KEY")]
)  # fmt: skip
def test_a_refusal_says_what_to_do_and_does_not_contain_the_key(service: Service, status: int, said: str) -> None:
    service.status = status
    service.body = json.dumps(
        {"data": None, "code": status, "message": f"{KEY} {base64.b64encode(KEY.encode()).decode()}"}
    )
    with pytest.raises(ToolError, match=said) as caught:
        JinaReader(service.url, KEY)(PAGE, POLICY)
    assert "5ecret" not in str(caught.value)
    assert base64.b64encode(KEY.encode()).decode()[4:-4] not in str(caught.value)
    assert len(service.asked) == 1


def test_a_key_in_a_page_is_redacted(service: Service) -> None:
    service.body = json.dumps(
        {"data": {**DATA, "title": KEY, "content": f"Bearer {KEY}", "links": {KEY: f"https://8.8.8.8/{KEY}"}}}
    )
    page = JinaReader(service.url, KEY)(PAGE, POLICY)
    assert "5ecret" not in repr(page)


@pytest.mark.parametrize(
    "body", ['{"data": null}', '{"data": {"content": " ", "warning": "Target URL returned error 404"}}', "{}"]
)
def test_a_page_without_text_is_an_error(service: Service, body: str) -> None:
    service.body = body
    with pytest.raises(ToolError, match="found no text"):
        JinaReader(service.url, KEY)(PAGE, POLICY)
