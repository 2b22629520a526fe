"""Fetching web pages: reading, SSRF protection, redirects, and limits on size and time."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import replace
from pypdf import PdfWriter

from research.errors import ConfigError, ToolError
from research.search.scope import scope_of
from research.tools.visit import Pages, VisitTool, direct
from research.web.archive import archived, fetched
from research.web.fetch import FetchPolicy, fetch, vet
from tests.contract.test_readers import pdf
from tests.workers import LONG_S

ARTICLE = """<html><head><title>Public  debt</title><script>alert(1)</script></head><body><nav>Home</nav><article>
<h1>Debt of France</h1><p>The public debt of France was 113 percent of GDP in 2024, says the statistics office.</p>
<p>It had been 110 percent in the year before, after several years of slow decline since the pandemic.</p>
<table><tr><th>Year</th><th>Percent</th></tr><tr><td>2023</td><td>110</td></tr><tr><td>2024</td><td>113</td></tr>
</table></article></body></html>"""

Reply = tuple[int, dict[str, str], bytes]


class Site:
    """A real server on loopback with scripted replies; it records its requests."""

    def __init__(self, address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.replies: dict[str, Reply] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.cookies: list[str | None] = []
        self.agents: list[str | None] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.path, self.headers["Host"]))
                site.cookies.append(self.headers["Cookie"])
                site.agents.append(self.headers["User-Agent"])
                status, headers, body = site.replies[self.path]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                pass  # some tests make clients disconnect

        self.server = Quiet((address, port), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.host = f"{address}:{self.port}"
        self.policy = FetchPolicy(allow_hosts=(self.host,))
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def says(self, path: str, body: str | bytes, status: int = 200, **headers: str) -> str:
        """Serve `body` at `path` and return its URL; keywords such as `content_type="..."` become headers."""
        data = body.encode() if isinstance(body, str) else body
        self.replies[path] = (status, {name.replace("_", "-"): text for name, text in headers.items()}, data)
        return f"http://{self.host}{path}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    with closing(Site()) as site:
        yield site


@pytest.fixture
def sink() -> Iterator[Site]:
    """A server that no policy allows."""
    with closing(Site()) as sink:
        sink.says("/", "secret")
        yield sink


Speaker = Callable[[socket.socket, threading.Event], None]


@pytest.fixture
def speaking() -> Iterator[Callable[[Speaker], str]]:
    """Serves one connection with a function that takes the socket and an event set at the end of the test."""
    over = threading.Event()
    listeners = []

    def serve(speak: Speaker) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def accept() -> None:
            try:
                connection, _ = listener.accept()
                with connection:
                    speak(connection, over)
            except OSError:
                return  # the client disconnected, as some tests intend

        threading.Thread(target=accept, daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield serve
    over.set()
    for listener in listeners:
        listener.close()


def names(monkeypatch: pytest.MonkeyPatch, *answers: list[str], host: str = "wiki.test") -> list[str]:
    """Make `host` resolve to each of `answers` in turn and return the list of resolutions."""
    real, left, made = socket.getaddrinfo, list(answers), []

    def resolve(name: Any, port: Any, *rest: Any, **options: Any) -> Any:
        if name != host:
            return real(name, port, *rest, **options)
        made.append(host)
        return [found for address in left.pop(0) for found in real(address, port, *rest, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return made


# Reading pages


def test_html_becomes_markdown_with_its_title(site: Site) -> None:
    url = site.says("/debt", ARTICLE, content_type="text/html; charset=utf-8")
    page = fetch(url, policy=site.policy)
    assert (page.url, page.title, page.content_type) == (url, "Public debt", "text/html")
    assert "# Debt of France" in page.text
    assert "| 2024 | 113 |" in page.text
    assert "alert" not in page.text


def test_a_page_without_an_article_still_gives_its_text(site: Site) -> None:
    url = site.says("/", "<title>x</title><script>no()</script><p>just this", content_type="text/html")
    assert fetch(url, policy=site.policy).text == "just this"


def test_a_page_without_a_title_is_titled_by_its_url(site: Site) -> None:
    url = site.says("/notes.txt", "some notes", content_type="text/plain")
    assert fetch(url, policy=site.policy).title == url


@pytest.mark.parametrize(
    "declared", ["text/plain; charset=gbk", 'text/html; charset="GB2312"', "text/plain", "text/plain; charset=nonsense"]
)
def test_charsets_are_decoded(site: Site, declared: str) -> None:
    url = site.says("/", "法国国内生产总值".encode("gbk"), content_type=declared)
    assert fetch(url, policy=site.policy).text == "法国国内生产总值"


def test_a_codec_that_is_no_charset_of_the_web_is_ignored(site: Site) -> None:
    url = site.says("/", "-".join("abcdef"), content_type="text/plain; charset=punycode")
    assert fetch(url, policy=site.policy).text == "a-b-c-d-e-f"


def test_a_pdf_is_recognised_by_its_first_bytes(site: Site) -> None:
    url = site.says("/paper", b"%PDF-1.4 cut", content_type="application/octet-stream")
    with pytest.raises(ToolError, match="a damaged pdf"):
        fetch(url, policy=site.policy)


def test_a_page_that_is_not_text_is_rejected_with_its_type(site: Site) -> None:
    url = site.says("/cat", b"\x89PNG", content_type="image/png")
    with pytest.raises(ToolError, match="is image/png"):
        fetch(url, policy=site.policy)


def test_an_empty_page_is_an_error(site: Site) -> None:
    with pytest.raises(ToolError, match="/ is empty"):
        fetch(site.says("/", ""), policy=site.policy)


@pytest.mark.parametrize("status", [404, 429, 500, 304])
def test_an_error_status_is_reported(site: Site, status: int) -> None:
    url = site.says("/gone", "sorry", status)
    with pytest.raises(ToolError, match=f"/gone answered with status {status}"):
        fetch(url, policy=site.policy)


# Rejected URLs


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,hi", "example.com", "http://",
        "http:///path", "", "http://exa mple.com/", "http://example.com/a b", " http://example.com/",
        "http://example.com\\@127.0.0.1/", "http:\\\\example.com", "http://example.com/\n", "http://example.com/\x00",
        "http://exam\u200bple.com/", "http://example.com/\u3000", "http://user@example.com/", "http://u:p@example.com/",
        "http://@example.com/", "http://a@b@example.com/", "http://example.com:99999/", "http://example.com:0/",
        "http://example.com:x/", "http://[::1/",
    ],
)  # fmt: skip
def test_malformed_and_unsupported_urls_are_rejected(url: str) -> None:
    with pytest.raises(ToolError, match="is not a url|cannot be visited"):
        fetch(url)


PRIVATE = """
127.0.0.1 localhost 127.1 0 2130706433 0x7f.1 0177.1 １２７.0.0.1 １２７。０。０。１ 127.8.8.8 0.0.0.0 10.0.0.1
172.16.0.1 192.168.1.1 100.64.0.1 169.254.169.254 2852039166 192.0.0.1 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1
192.88.99.1 224.0.0.1 240.0.0.1 255.255.255.255 168.63.129.16 100.100.100.200
[::] [::1] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:8.8.8.8] [::ffff:0:127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::808:808]
[64:ff9b:1::1] [2002:7f00:1::1] [2001::1] [2001:db8::1] [3fff::1] [5f00::1] [fe80::1] [fec0::1] [fc00::1] [ff02::1]
[fd00:ec2::254]
"""


@pytest.mark.parametrize("host", PRIVATE.split())
def test_private_addresses_are_rejected_in_every_spelling(host: str, sink: Site) -> None:
    with pytest.raises(ToolError, match="is in a private network|is reserved|is not a url"):
        fetch(f"http://{host}:{sink.port}/", policy=FetchPolicy(total_s=2))
    assert sink.asked == []


def test_a_host_with_one_private_address_is_rejected(monkeypatch: pytest.MonkeyPatch, sink: Site) -> None:
    names(monkeypatch, ["8.8.8.8", "127.0.0.1"])
    with pytest.raises(ToolError, match=r"wiki\.test cannot be visited: 127\.0\.0\.1 is in a private network"):
        fetch(f"http://wiki.test:{sink.port}/")
    assert sink.asked == []


@pytest.mark.parametrize("host", ["nowhere.invalid", ".invalid", "a..invalid", f"{'a' * 64}.invalid"])
def test_an_unresolvable_host_is_reported(host: str) -> None:
    with pytest.raises(ToolError, match=f"{re.escape(host)} does not resolve"):
        fetch(f"http://{host}/")


def test_a_hanging_resolver_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(LONG_S) and [])
    with pytest.raises(ToolError, match=r"took more than 0\.2 s"):
        fetch("http://wiki.test/", policy=FetchPolicy(total_s=0.2))
    over.set()


# Hosts that an administrator allows


def test_an_allowed_host_is_allowed_only_on_its_port(site: Site, sink: Site) -> None:
    assert fetch(site.says("/", "hello", content_type="text/plain"), policy=site.policy).text == "hello"
    with pytest.raises(ToolError, match="private network"):
        fetch(f"http://{sink.host}/", policy=site.policy)
    assert sink.asked == []


@pytest.mark.parametrize("host", ["127.1", "localhost", "2130706433"])
def test_another_spelling_of_an_allowed_host_is_another_host(site: Site, host: str) -> None:
    with pytest.raises(ToolError, match="private network"):
        fetch(f"http://{host}:{site.port}/", policy=site.policy)


@pytest.mark.parametrize("host", ["169.254.169.254", "[fd00:ec2::254]", "100.100.100.200", "[::ffff:169.254.169.254]"])
def test_cloud_metadata_addresses_cannot_be_allowed(host: str) -> None:
    with pytest.raises(ToolError, match="is reserved"):
        fetch(f"http://{host}/", policy=FetchPolicy(allow_hosts=(host,)))


def test_an_allowed_host_cannot_resolve_to_a_metadata_address(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, ["169.254.169.254"])
    with pytest.raises(ToolError, match="is reserved"):
        fetch("http://wiki.test/", policy=FetchPolicy(allow_hosts=("wiki.test",)))


@pytest.mark.parametrize("entry", ["", "http://wiki.internal", "wiki.internal/path", "wiki:http", "[::1", "me@wiki"])
def test_a_malformed_allowed_host_is_reported(entry: str) -> None:
    with pytest.raises(ConfigError, match="allow_hosts"):
        fetch("http://example.com/", policy=FetchPolicy(allow_hosts=(entry,)))


# Redirects


def test_redirects_are_followed_to_the_end(site: Site) -> None:
    site.says("/a/start", "", 302, location="../b")
    site.says("/b", "", 308, location=f"http://{site.host}/c?d=1")
    site.says("/c?d=1", "found", content_type="text/plain")
    page = fetch(f"http://{site.host}/a/start", policy=site.policy)
    assert (page.url, page.text) == (f"http://{site.host}/c?d=1", "found")


def test_endless_redirects_are_cut_off(site: Site) -> None:
    url = site.says("/", "", 302, location="/")
    with pytest.raises(ToolError, match="redirects more than 10 times"):
        fetch(url, policy=site.policy)
    assert len(site.asked) == 11


@pytest.mark.parametrize(
    "location",
    [
        "http://{sink}/",
        "//{sink}/",
        "http://127.1:{port}/",
        "file:///etc/passwd",
        "http://u@{site}/",
        "http:\\\\{sink}/",
    ],
)
def test_every_redirect_target_is_checked(site: Site, sink: Site, location: str) -> None:
    url = site.says("/", "", 302, location=location.format(sink=sink.host, port=sink.port, site=site.host))
    with pytest.raises(ToolError):
        fetch(url, policy=site.policy)
    assert sink.asked == []
    assert len(site.asked) == 1


def test_a_cookie_goes_back_to_its_host_within_one_fetch_only(site: Site) -> None:
    with closing(Site("127.0.0.2")) as other:
        policy = FetchPolicy(allow_hosts=(site.host, other.host))
        url = site.says("/", "", 302, location=f"http://{other.host}/", set_cookie="a=1; Path=/")
        other.says("/", "", 302, location=f"http://{site.host}/b", set_cookie="b=2")
        site.says("/b", "found", content_type="text/plain")
        for _ in range(2):
            assert fetch(url, policy=policy).text == "found"
        assert (site.cookies, other.cookies) == ([None, "a=1"] * 2, [None] * 2)


@pytest.mark.parametrize(("location", "path"), [("/a page?b c", "/a%20page?b%20c"), (" /a\t", "/a")])
def test_a_redirect_is_read_as_browsers_do(site: Site, location: str, path: str) -> None:
    url = site.says("/", "", 302, location=location)
    site.says(path, "found", content_type="text/plain")
    assert fetch(url, policy=site.policy).url == f"http://{site.host}{path}"


REFRESHES = [
    "<meta http-equiv=refresh content='0; url=/b'><p>Going on.</p>",
    "<html><head><META HTTP-EQUIV='Refresh' CONTENT=\"3;URL='b'\"></head></html>",
    "<meta http-equiv=refresh content='0;b'>",
]


@pytest.mark.parametrize("body", REFRESHES)
def test_a_page_that_only_sends_its_reader_on_is_followed(site: Site, body: str) -> None:
    url = site.says("/", body, content_type="text/html")
    site.says("/b", ARTICLE, content_type="text/html")
    page = fetch(url, policy=site.policy)
    assert page.url == f"http://{site.host}/b" and "113 percent" in page.text


def test_the_target_of_a_refresh_is_checked(site: Site, sink: Site) -> None:
    url = site.says("/", f"<meta http-equiv=refresh content='0; url=http://{sink.host}/'>", content_type="text/html")
    with pytest.raises(ToolError):
        fetch(url, policy=site.policy)
    assert sink.asked == []


@pytest.mark.parametrize("when", ["600; url=/b", "30"])
def test_a_page_that_loads_again_later_is_read(site: Site, when: str) -> None:
    url = site.says("/", f"<meta http-equiv=refresh content='{when}'>{ARTICLE}", content_type="text/html")
    assert "113 percent" in fetch(url, policy=site.policy).text


# Pages in front of the content

WALLS = {
    "challenge": "<title>Just a moment...</title><p>Please stand by, we are checking your browser.</p>",
    "captcha": "<title>example.org</title><p>Enter the characters of the captcha below.</p><form><input></form>",
    "denied": "<title>Access to this page has been denied</title><p>Press and hold the button.</p><script></script>",
    "german challenge": "<title>Sicherheitsüberprüfung</title><p>Bestätigen Sie, dass Sie kein Bot sind.</p>",
    "chinese challenge": "<title>安全验证</title><p>请完成下面的验证后继续访问</p>",
    "consent": "<title>Before you continue</title><p>We keep cookies.</p><button>Accept all</button>",
    "german consent": "<title>Datenschutz</title><p>Wir und 200 Partner.</p><button>Alle akzeptieren</button>",
    "script": "<title>Data</title><noscript>Turn on JavaScript.</noscript><div id=root></div><script src=/a.js></script>",
    "script said": "<title>Data</title><div>Please enable JavaScript to run this app.</div><script src=/a.js></script>",
    "missing": "<title>Oops</title><h1>Page not found</h1><p>It may have moved. Search our site, or go home.</p>",
    "german missing": "<title>Fehler</title><h1>Die Seite wurde nicht gefunden</h1>",
    "japanese missing": "<title>お探しのページは見つかりませんでした</title><p>トップへ</p>",
    "sign-in": "<title>Log in</title><form><input name=u><input type=password><button>Log in</button></form>",
}


@pytest.mark.parametrize("name", WALLS)
def test_a_page_in_front_of_the_content_is_no_source(site: Site, name: str) -> None:
    url = site.says("/", WALLS[name], content_type="text/html; charset=utf-8")
    with pytest.raises(ToolError, match=r"robot|consent|JavaScript|no such page|sign in") as error:
        fetch(url, policy=site.policy)
    assert error.value.code == "unreadable"


GONE = "<title>Mairie</title><h1>Oups</h1><p>Ce que vous cherchez n'est plus ici.</p><a href=/>Accueil</a>"
OWN = "<title>Mairie</title><h1>Marché</h1><p>Il se tient place de la Halle, le samedi.</p><a href=/>Accueil</a>"


@pytest.mark.parametrize(
    ("page", "elsewhere", "is_page"),
    [(GONE, GONE, False), (OWN, GONE, True), (OWN, "", True), (ARTICLE, ARTICLE, True)],
)
def test_what_a_site_shows_at_any_address_is_no_page(
    site: Site, monkeypatch: pytest.MonkeyPatch, page: str, elsewhere: str, is_page: bool
) -> None:
    monkeypatch.setattr("research._util.network.is_public", lambda _: True)
    url = site.says("/vie/marche", page, content_type="text/html; charset=utf-8")
    site.says("/vie/no-such-page-7f3e9a1c", elsewhere, 200 if elsewhere else 404, content_type="text/html")
    if is_page:
        assert fetch(url, policy=site.policy).text
        return
    with pytest.raises(ToolError, match="shows what its site shows at any address") as error:
        fetch(url, policy=site.policy)
    assert error.value.code == "unreadable"


def test_a_private_site_is_asked_for_nothing_else(site: Site) -> None:
    assert fetch(site.says("/a/b", OWN, content_type="text/html"), policy=site.policy).text
    assert [path for path, _ in site.asked] == ["/a/b"]


@pytest.mark.parametrize(("there", "is_page"), [("broker.example/?d={}", False), ("social.example/share", True)])
def test_a_host_that_is_for_sale_is_no_source(site: Site, there: str, is_page: bool) -> None:
    host = site.host.partition(":")[0]
    text = f"<h1>{host}</h1><p>Angebot abgeben</p><a href='https://{there.format(host)}'>hier</a>"
    url = site.says("/", text, content_type="text/html")
    if is_page:
        assert fetch(url, policy=site.policy).text
        return
    with pytest.raises(ToolError, match="only offers its own name for sale"):
        fetch(url, policy=site.policy)


CONTENT = {
    "about walls": "<title>Captchas</title><h1>Are you a robot?</h1><p>" + "A captcha keeps robots out. " * 12,
    "beacon": ARTICLE.replace("alert(1)", "src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'"),
    "short": "<title>Zelkova dam</title><p>The dam is 93 metres high.</p>",
    "banner": ARTICLE.replace("<nav>", "<div>We use cookies <button>Accept</button></div><nav>"),
    "noscript": ARTICLE.replace("<nav>", "<noscript>Please enable JavaScript</noscript><nav>"),
    "about parking": "<title>Trade</title><h1>This domain may be for sale</h1><p>Of 100 names, 30 are sold, for 4,000 dollars.</p>",
    "about 404 in German": "<title>404</title><h1>Seite nicht gefunden</h1><p>1992 erfunden; von 100 Verweisen führen 38 ins Leere.</p>",
    "route 404": "<title>Bus routes</title><p>Route 404 runs from Lind to Rost every day, except on Sundays.</p>",
}


@pytest.mark.parametrize("name", CONTENT)
def test_content_is_read_whatever_is_beside_it(site: Site, name: str) -> None:
    assert fetch(site.says("/", CONTENT[name], content_type="text/html"), policy=site.policy).text


# DNS rebinding and TLS


def test_the_checked_address_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    # The address that other tests use chooses the port, so that it is free on both.
    with closing(Site("127.0.0.1")) as other, closing(Site("127.0.0.2", other.port)) as wiki:
        wiki.says("/", "the wiki", content_type="text/plain")
        place = f"wiki.test:{wiki.port}"
        resolutions = names(monkeypatch, ["127.0.0.2"], ["127.0.0.1"])
        assert fetch(f"http://{place}/", policy=FetchPolicy(allow_hosts=(place,))).text == "the wiki"
        assert wiki.asked == [("/", place)]
        assert other.asked == []
        assert resolutions == ["wiki.test"]


def test_the_next_address_is_tried_when_one_is_dead(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    names(monkeypatch, ["127.0.0.9", "127.0.0.1"])
    site.says("/", "alive", content_type="text/plain")
    place = f"wiki.test:{site.port}"
    assert fetch(f"http://{place}/", policy=FetchPolicy(allow_hosts=(place,))).text == "alive"


@pytest.fixture
def certified(tmp_path: Path) -> Callable[[str], tuple[Path, ssl.SSLContext]]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to make a certificate")

    def certify(name: str) -> tuple[Path, ssl.SSLContext]:
        key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
        subprocess.run(
            [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
             "-addext", f"subjectAltName=DNS:{name}", "-keyout", key, "-out", certificate],
            check=True, capture_output=True,
        )  # fmt: skip
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        return certificate, tls

    return certify


def test_tls_is_verified_for_the_name_not_the_address(
    monkeypatch: pytest.MonkeyPatch, certified: Callable[[str], tuple[Path, ssl.SSLContext]]
) -> None:
    authority, tls = certified("wiki.test")
    greeted: list[str | None] = []
    tls.sni_callback = lambda _socket, name, _context: greeted.append(name)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    names(monkeypatch, ["127.0.0.1"])
    with closing(Site(tls=tls)) as wiki:
        wiki.says("/", "over tls", content_type="text/plain")
        place = f"wiki.test:{wiki.port}"
        assert fetch(f"https://{place}/", policy=FetchPolicy(allow_hosts=(place,))).text == "over tls"
    assert greeted == ["wiki.test"]


@pytest.mark.parametrize(("name", "trusted"), [("wiki.test", False), ("other.test", True)])
def test_an_invalid_certificate_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
    certified: Callable[[str], tuple[Path, ssl.SSLContext]],
    name: str,
    trusted: bool,
) -> None:
    authority, tls = certified(name)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    names(monkeypatch, ["127.0.0.1"])
    with closing(Site(tls=tls)) as wiki:
        place = f"wiki.test:{wiki.port}"
        with pytest.raises(ToolError, match="CERTIFICATE_VERIFY_FAILED"):
            fetch(f"https://{place}/", policy=FetchPolicy(allow_hosts=(place,)))
        assert wiki.asked == []


# Size


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("gzip", lambda body: gzip.compress(body[:7], mtime=0) + gzip.compress(body[7:], mtime=0) + b"\0" * 9),
    ],
)
def test_compressed_bodies_are_decompressed(site: Site, encoding: str, pack: Callable[[bytes], bytes]) -> None:
    body = "packed and unpacked " * 10_000
    url = site.says("/", pack(body.encode()), content_type="text/plain", content_encoding=encoding)
    assert fetch(url, policy=site.policy).text == body.strip()


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress"])
def test_unsupported_compression_is_rejected(site: Site, encoding: str) -> None:
    url = site.says("/", b"x", content_type="text/plain", content_encoding=encoding)
    with pytest.raises(ToolError, match=f"compressed as '{encoding}'"):
        fetch(url, policy=site.policy)


@pytest.mark.parametrize(
    "body", [b"not gzip", gzip.compress(b"cut off " * 99, mtime=0)[:-20], gzip.compress(b"a", mtime=0) + b"tail"]
)
def test_a_damaged_compressed_body_is_reported(site: Site, body: bytes) -> None:
    url = site.says("/", body, content_type="text/plain", content_encoding="gzip")
    with pytest.raises(ToolError, match="cannot be unpacked"):
        fetch(url, policy=site.policy)


def test_a_decompression_bomb_is_stopped_at_the_size_limit(site: Site) -> None:
    bomb = gzip.compress(bytes(300_000_000))
    url = site.says("/", bomb, content_type="text/plain", content_encoding="gzip")
    tracemalloc.start()
    try:
        with pytest.raises(ToolError, match="is bigger than 10 MB"):
            fetch(url, policy=site.policy)
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_an_endless_body_is_cut_off_at_the_size_limit(speaking: Callable[[Speaker], str]) -> None:
    def pour(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while not over.is_set():
            connection.sendall(b"x" * 65536)

    host = speaking(pour)
    with pytest.raises(ToolError, match="is bigger than 1 MB"):
        fetch(f"http://{host}/", policy=FetchPolicy(max_bytes=1_000_000, allow_hosts=(host,)))


def test_a_truncated_body_is_an_error(speaking: Callable[[Speaker], str]) -> None:
    def break_off(connection: socket.socket, _over: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 99\r\n\r\nhalf")

    host = speaking(break_off)
    with pytest.raises(ToolError, match="cannot be read"):
        fetch(f"http://{host}/", policy=FetchPolicy(allow_hosts=(host,)))


# Time


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"])
def test_a_trickling_server_does_not_extend_the_time_limit(speaking: Callable[[Speaker], str], head: bytes) -> None:
    def trickle(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(head)
        while not over.wait(0.02):
            connection.sendall(b"X")

    host = speaking(trickle)
    with pytest.raises(ToolError, match=r"took more than 0\.4 s"):
        fetch(f"http://{host}/", policy=FetchPolicy(total_s=0.4, allow_hosts=(host,)))


def test_a_silent_server_times_out(speaking: Callable[[Speaker], str]) -> None:
    host = speaking(lambda _connection, over: over.wait(LONG_S) and None)
    for scheme in ("http", "https"):
        with pytest.raises(ToolError, match=r"took more than 0\.2 s"):
            fetch(f"{scheme}://{host}/", policy=FetchPolicy(total_s=0.2, allow_hosts=(host,)))


def test_a_closed_port_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host = f"127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(ToolError, match="cannot be read"):
        fetch(f"http://{host}/", policy=FetchPolicy(allow_hosts=(host,)))


def test_a_reply_that_is_not_http_is_reported(speaking: Callable[[Speaker], str]) -> None:
    host = speaking(lambda connection, _over: connection.sendall(b"SSH-2.0-OpenSSH_9.9\r\n"))
    with pytest.raises(ToolError, match="cannot be read"):
        fetch(f"http://{host}/", policy=FetchPolicy(allow_hosts=(host,)))


# Links and metadata


def test_links_are_absolute_and_unique(site: Site) -> None:
    page = """<head><base href="/docs/"></head><body><p>Words. <a href="one?a=1&amp;b=2">One  <b>more</b></a>
    <a href="one?a=1&amp;b=2#part">again</a> <a href="//example.org/two">Two</a> <a href="javascript:x()">no</a>
    <a href="mailto:me@example.org">no</a> <a href="http://u@example.org/">no</a> <a href="/pictured"><img></a>
    <a href="/page">itself</a></body>"""
    url = site.says("/page", page, content_type="text/html")
    assert [(link.text, link.url) for link in fetch(url, policy=site.policy).links] == [
        ("One more", f"http://{site.host}/docs/one?a=1&b=2"),
        ("Two", "http://example.org/two"),
    ]


def test_the_fragment_of_a_url_is_dropped(site: Site) -> None:
    url = site.says("/page", "words", content_type="text/plain")
    assert fetch(f"{url}#part", policy=site.policy).url == url


def test_author_date_and_site_are_read_from_the_meta_tags(site: Site) -> None:
    head = """<title>Debt</title><meta name="author" content="Jane Doe"><meta property="og:site_name" content="The Site">
    <meta property="article:published_time" content="2024-05-06T07:00:00Z">"""
    url = site.says(
        "/", f"<html><head>{head}</head><body><p>Written in 1999.</p></body></html>", content_type="text/html"
    )
    assert fetch(url, policy=site.policy).csl == {
        "type": "webpage",
        "title": "Debt",
        "author": [{"literal": "Jane Doe"}],
        "issued": {"date-parts": [[2024, 5, 6]]},
        "container-title": "The Site",
    }


def test_citation_meta_tags_give_a_journal_article(site: Site) -> None:
    told = {"title": "A Study", "author": "Curie, Marie", "publication_date": "2020/3", "journal_title": "J. Phys.",
            "doi": "10.1/x", "volume": "7"}  # fmt: skip
    tags = "".join(f'<meta name="citation_{name}" content="{value}">' for name, value in told.items())
    url = site.says("/", f'{tags}<meta name="citation_author" content="李明"><p>Words.', content_type="text/html")
    assert fetch(url, policy=site.policy).csl == {
        "type": "article-journal",
        "title": "A Study",
        "author": [{"family": "Curie", "given": "Marie"}, {"literal": "李明"}],
        "issued": {"date-parts": [[2020, 3]]},
        "container-title": "J. Phys.",
        "DOI": "10.1/x",
        "volume": "7",
    }


def test_a_pdf_is_read_with_its_metadata(site: Site) -> None:
    writer = PdfWriter(clone_from=io.BytesIO(pdf("The debt of France", "was 113 percent")))
    writer.add_metadata({"/Title": "Debt\nreport", "/Author": "INSEE"})
    data = io.BytesIO()
    writer.write(data)
    page = fetch(site.says("/report", data.getvalue(), content_type="application/pdf"), policy=site.policy)
    assert (page.title, page.text) == ("Debt report", "The debt of France\n\nwas 113 percent")
    assert page.csl == {"title": "Debt report", "author": [{"literal": "INSEE"}]}


@pytest.mark.parametrize("url", ["http://127.1/", "http://10.0.0.1/", "file:///x"])
def test_vet_rejects_a_url_without_a_request(url: str) -> None:
    with pytest.raises(ToolError, match="cannot be visited"):
        vet(url)


def test_vet_returns_an_accepted_url_as_it_would_be_requested(site: Site) -> None:
    assert vet("http://8.8.8.8/a#b") == ("http://8.8.8.8/a", False)
    assert vet(f"http://{site.host}/a", policy=site.policy) == (f"http://{site.host}/a", True)
    assert site.asked == []


def test_a_refusal_is_told_in_the_words_of_the_page(site: Site) -> None:
    page = "<title>403</title><p>Please set a user agent with a contact; see our <a href=/p>policy</a>.</p>"
    url = site.says("/no", page, 403, content_type="text/html")
    with pytest.raises(
        ToolError, match="answered with status 403 and says: '403 Please set a user agent with a contact"
    ):
        fetch(url, policy=site.policy)


def test_a_site_is_told_whom_to_contact(site: Site) -> None:
    fetch(site.says("/a", ARTICLE), policy=replace(site.policy, contact="mailto:ana@example.org"))
    assert site.agents == ["Mozilla/5.0 (compatible; ResearchWorkbench/0.1; mailto:ana@example.org)"]


def test_a_busy_server_is_asked_again_once_after_the_wait_that_it_names(site: Site) -> None:
    url = site.says("/busy", "", 503, retry_after="0")
    with pytest.raises(ToolError, match="status 503"):
        fetch(url, policy=site.policy)
    assert len(site.asked) == 2
    site.says("/busy", "", 429, retry_after="60")
    with pytest.raises(ToolError, match="status 429"):
        fetch(url, policy=site.policy)
    assert len(site.asked) == 3


PAGE = "http://93.184.216.34/page"
"""On a public address, which is not asked."""


def copies(site: Site, near: str, *times: str) -> None:
    """Let the site be an archive that names the first of these copies of `PAGE`."""
    asked = f"/wayback/available?url={quote(PAGE, safe='')}{near}"
    known = {"archived_snapshots": {"closest": {"available": True, "url": f"http://{site.host}/web/{times[0]}/{PAGE}"}}}
    site.says(asked, json.dumps(known if times[0] else {"archived_snapshots": {}}), content_type="application/json")
    for time in filter(None, times):
        site.says(f"/web/{time}id_/{PAGE}", ARTICLE, content_type="text/html")


def test_a_page_that_is_gone_is_read_from_the_archive_with_the_day_of_the_copy(site: Site) -> None:
    copies(site, "", "20210304050607")
    page, day = archived(PAGE, f"http://{site.host}", site.policy) or pytest.fail("no copy")
    assert "113 percent" in page.text
    assert day == "2021-03-04"
    copies(site, "", "")
    assert archived(PAGE, f"http://{site.host}", site.policy) is None


@pytest.mark.parametrize(
    ("nearest", "last", "day"),
    [
        ("20210304050607", "", "2021-03-04"),
        ("20210702000000", "20190101000000\n", "2019-01-01"),
        ("20210702000000", "", ""),
    ],
)
def test_a_page_is_read_as_of_a_day_and_its_source_says_so(site: Site, nearest: str, last: str, day: str) -> None:
    copies(site, "&timestamp=20210630235959", nearest, last.strip())
    asked = f"/cdx/search/cdx?url={quote(PAGE, safe='')}&to=20210630235959&filter=statuscode:200&fl=timestamp&limit=-1"
    site.says(asked, last, content_type="text/plain")
    reader = direct(site.policy.allow_hosts, archive=f"http://{site.host}", as_of="2021-06-30")
    visit = VisitTool(None, Pages(reader, None))  # type: ignore[arg-type]
    if not day:
        with pytest.raises(ToolError, match="the archive has no copy of .* of 2021-06-30 or before"):
            visit(url=PAGE, goal="debt")
        return
    (source,) = visit(url=PAGE, goal="debt").passages
    assert source.notes == (f"read as of 2021-06-30: this is its copy of {day} in the archive",)


def test_an_archive_does_not_get_the_address_of_a_private_page(site: Site) -> None:
    gone = site.says("/gone", "", 404)
    for as_of, why in (("", "status 404"), ("2021-06-30", "no copy")):
        with pytest.raises(ToolError, match=why):
            fetched(gone, f"http://{site.host}", site.policy, as_of)
    assert [path for path, _ in site.asked] == ["/gone"]


GONE = dict.fromkeys(("gone-4711.com", "old.gone-4711.com"), socket.EAI_NONAME)
"""A domain that left the DNS, with all its hosts."""


@pytest.mark.parametrize(
    ("url", "answers", "allowed", "machine", "asked"),
    [
        ("http://gone-4711.com/page", GONE, "", "box", True),
        ("http://old.gone-4711.com/page", GONE, "", "box", True),
        (
            "http://old.gone-4711.com/page",
            GONE | {"gone-4711.com": 0},
            "",
            "box",
            False,
        ),  # an intranet, without its VPN
        ("http://old.gone-4711.com/page", GONE | {"gone-4711.com": socket.EAI_NODATA}, "", "box", False),
        ("http://old.gone-4711.com/page", GONE | {"gone-4711.com": socket.EAI_AGAIN}, "", "box", False),
        ("http://gone-4711.com/page", GONE | {"gone-4711.com": socket.EAI_AGAIN}, "", "box", False),
        ("http://gone-4711.com/page", GONE, "wiki.gone-4711.com", "box", False),
        ("http://gone-4711.com/page", GONE, "", "box.gone-4711.com", False),
        ("http://wiki.internal/page", {"wiki.internal": socket.EAI_NONAME}, "", "box", False),
        (
            "http://nas.home.arpa/page",
            dict.fromkeys(("nas.home.arpa", "home.arpa"), socket.EAI_NONAME),
            "",
            "box",
            False,
        ),
        ("http://wiki/page", {"wiki": socket.EAI_NONAME}, "", "box", False),
    ],
)
def test_an_archive_gets_the_address_of_a_host_that_does_not_exist_only_if_its_domain_is_a_public_one_and_gone(
    site: Site,
    url: str,
    answers: dict[str, int],
    allowed: str,
    machine: str,
    asked: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = socket.getaddrinfo

    def resolve(name: Any, *rest: Any, **options: Any) -> Any:
        if code := answers.get(name):
            raise socket.gaierror(code, "from the server of names")
        return real("93.184.216.34" if name in answers else name, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "gethostname", lambda: machine)
    near = f"/web/20210304050607/{url}"
    copy = {"archived_snapshots": {"closest": {"available": True, "url": f"http://{site.host}{near}"}}}
    site.says(f"/wayback/available?url={quote(url, safe='')}", json.dumps(copy), content_type="application/json")
    site.says(near.replace("/http", "id_/http", 1), ARTICLE, content_type="text/html")
    policy = FetchPolicy(allow_hosts=tuple(filter(None, (site.host, allowed))))
    if asked:
        page = fetched(url, f"http://{site.host}", policy)
        assert page.notes[0] == "the page is gone; this is its copy of 2021-03-04 in the archive"
    else:
        with pytest.raises(ToolError, match="does not resolve"):
            fetched(url, f"http://{site.host}", policy)
    assert bool(site.asked) is asked


def test_a_copy_counts_as_a_page_of_its_own_domain(site: Site) -> None:
    copies(site, "&timestamp=20210630235959", "20210304050607")
    reader = direct(site.policy.allow_hosts, archive=f"http://{site.host}", as_of="2021-06-30")
    visit = VisitTool(None, Pages(reader, None, scope_of(["93.184.216.34"])))  # type: ignore[arg-type]
    assert visit(url=PAGE, goal="debt").passages
