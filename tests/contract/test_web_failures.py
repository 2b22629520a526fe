"""Failing search services over real HTTP on loopback: what an error contains, and what it must not contain."""

from __future__ import annotations

import base64
import gzip
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pytest

from research import plugins
from research.config.settings import load
from research.errors import ConfigError
from research.search.services.duckduckgo import DuckDuckGo
from research.search.web import Service
from tests import fake_search as fake
from tests.fake_search import ALL, HITS, KEY, KEYED, OVER_JSON, SPEAK, FakeClock, FakeSearch, Hit, Reply, failure
from tests.workers import LONG_S

Open = Callable[..., Service]


@pytest.fixture(autouse=True)
def no_back_off() -> None:
    """The waits are real, on a clock that no test waits for."""


@pytest.mark.parametrize("name", ALL)
def test_a_missing_key_or_url_is_named_with_where_to_set_it(name: str, tmp_path: Path) -> None:
    settings = load(home=tmp_path)
    if name in ("searxng", "tavily", "brave", "serper"):
        with pytest.raises(
            ConfigError, match=rf"{name} needs {name.upper()}_(API_KEY|URL): set it in the environment, in"
        ):
            plugins.searcher.get(name).function(settings)
    else:
        assert plugins.searcher.get(name).function(settings).name == name


def test_an_invalid_key_or_url_is_named(tmp_path: Path) -> None:
    for wrong in ("not a url", "ftp://a.example", "http://user:pass-word@a.example", "http://a.example/?key=hidden"):
        with pytest.raises(ConfigError, match="SEARXNG_URL") as caught:
            plugins.searcher.get("searxng").function(load(home=tmp_path, searxng_url=wrong))
        assert "pass-word" not in str(caught.value) and "hidden" not in str(caught.value)
    with pytest.raises(ConfigError, match="TAVILY_API_KEY contains white space"):
        plugins.searcher.get("tavily").function(load(home=tmp_path, tavily_api_key="two words"))


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_reported_with_its_setting_and_not_retried(name: str, status: int, open_service: Open) -> None:
    with FakeSearch([Reply({"message": "Unauthorized."}, status)]) as server:
        said = failure(open_service(name, server.url))
        assert len(server.asked) == 1
    assert f"{name} refused the key ({status}): set {name.upper()}_API_KEY" in said and "Unauthorized." in said


def test_a_422_of_brave_is_recognized_as_a_refused_key(open_service: Open) -> None:
    body = {
        "type": "ErrorResponse",
        "error": {"id": "1", "status": 422, "code": "SUBSCRIPTION_TOKEN_INVALID",
                  "detail": "The provided subscription token is invalid."},
    }  # fmt: skip
    with FakeSearch([Reply(body, 422)]) as server:
        assert "brave refused the key (422): set BRAVE_API_KEY" in failure(open_service("brave", server.url))


@pytest.mark.examples(9)
@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_no_error_contains_the_key(name: str, status: int, open_service: Open) -> None:
    echoes = [KEY, quote(KEY, safe=""), base64.b64encode(f"user:{KEY}".encode()).decode(), f"x{KEY}y", KEY.upper()]
    for echo in echoes:
        with FakeSearch([Reply({"error": {"message": f"Bad request: {echo} " * 20}}, status)]) as server:
            said = failure(open_service(name, server.url))
        assert ("***" in said) == (status != 200), "the key is masked, not the whole message left out"
        for secret in (KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode()[:12], KEY[:12]):
            assert secret.lower() not in said.lower()


def test_a_truncated_error_does_not_contain_half_a_key(open_service: Open) -> None:
    for before in range(150, 200, 7):
        with FakeSearch([Reply({"error": "." * before + KEY}, 400)]) as server:
            assert KEY[:4] not in failure(open_service("tavily", server.url))


@pytest.mark.parametrize("name", ["tavily", "brave", "serper"])
def test_no_search_result_contains_the_key(name: str, open_service: Open, tmp_path: Path) -> None:
    hit = Hit(f"https://a.example/?k={quote(KEY, safe='')}", f"Title {KEY}", f"Text {KEY}")
    with FakeSearch([SPEAK[name]([hit])]) as server:
        (passage,) = open_service(name, server.url, keep=60).search("cats")
    assert "***" in passage.title and "***" in passage.quote and "***" in passage.url and KEY not in str(passage)
    kept = (tmp_path / "search-cache.sqlite").read_bytes()
    assert b"a.example" in kept and KEY.encode() not in kept and quote(KEY, safe="").encode() not in kept


def test_searxng_without_json_is_reported_with_how_to_enable_it(open_service: Open) -> None:
    with FakeSearch([Reply("<h1>403 Forbidden</h1>", 403, "text/html")]) as server:
        said = failure(open_service("searxng", server.url))
    assert "add `json` to `search: formats:`" in said


def test_searxng_engines_that_all_fail_are_named(open_service: Open) -> None:
    with FakeSearch([fake.searxng([], [("google", "CAPTCHA"), ("bing", "timeout")])]) as server:
        assert "google CAPTCHA, bing timeout" in failure(open_service("searxng", server.url))


def test_after_spent_credits_a_service_is_not_asked_for_a_while(open_service: Open) -> None:
    spent = {
        "tavily": Reply({"detail": {"error": "This request exceeds your plan's set usage limit."}}, 432),
        "serper": Reply({"message": "Not enough credits", "statusCode": 400}, 400),
    }
    for name, reply in spent.items():
        with FakeSearch([reply]) as server:
            service = open_service(name, server.url)
            assert "used up" in failure(service)
            again = failure(service)
            assert "used up" in again and "retry in 600 s" in again
            assert len(server.asked) == 1


@pytest.mark.examples(14)
@pytest.mark.parametrize("name", OVER_JSON)
@pytest.mark.parametrize(
    "body",
    ["", "{", "null", "[]", '{"results": 5, "data": 5, "organic": 5, "web": 5}', "[" * 100_000, b"\xff\xfe\x00"],
)
def test_broken_json_is_an_error_without_retry(name: str, body: str | bytes, open_service: Open) -> None:
    with FakeSearch([Reply(body)]) as server:
        assert f"{name} sent an unreadable response" in failure(open_service(name, server.url))
        assert len(server.asked) == 1


@pytest.mark.parametrize("name", [*OVER_JSON, "arxiv"])
def test_another_content_type_is_reported_with_the_setting_to_check(name: str, open_service: Open) -> None:
    with FakeSearch([Reply("<script>evil()</script><h1>Welcome to nginx</h1>", kind="text/html")]) as server:
        said = failure(open_service(name, server.url))
    assert (
        "its content type is text/html" in said and f"check {name.upper()}_URL" in said and "Welcome to nginx" in said
    )
    assert "evil" not in said


@pytest.mark.parametrize("name", ALL)
def test_a_huge_reply_is_not_read_to_its_end(name: str, open_service: Open) -> None:
    sent = []

    def endless() -> Iterator[bytes]:
        for _ in range(100):
            sent.append(1)
            yield b" " * 1_000_000

    kind = {"arxiv": "application/atom+xml", "duckduckgo": "text/html"}.get(name, "application/json")
    with FakeSearch([Reply(endless(), kind=kind)]) as server:
        assert "larger than 4 MB" in failure(open_service(name, server.url))
    assert len(sent) < 50


@cache
def compressed_bomb() -> bytes:
    return gzip.compress(b" " * 100_000_000)


@pytest.mark.parametrize("name", [*OVER_JSON, "arxiv"])
def test_a_compression_bomb_is_not_decompressed(name: str, open_service: Open) -> None:
    bomb = compressed_bomb()
    kind = "application/atom+xml" if name == "arxiv" else "application/json"
    with FakeSearch([Reply(bomb, kind=kind, headers={"Content-Encoding": "gzip"})]) as server:
        assert "larger than 4 MB" in failure(open_service(name, server.url))
    with FakeSearch([Reply(bomb, kind=kind, headers={"Content-Encoding": "br"})]) as server:
        assert "encoding is 'br'; only gzip was requested" in failure(open_service(name, server.url))


def test_compressed_replies_are_read(open_service: Open) -> None:
    plain = next(iter(fake._pieces(fake.tavily(HITS).body)))
    with FakeSearch([Reply(gzip.compress(plain), headers={"Content-Encoding": "gzip"})]) as server:
        assert len(open_service("tavily", server.url).search("cats")) == 2
        assert server.asked[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("name", [*OVER_JSON, "arxiv"])
def test_a_reply_that_arrives_too_slowly_is_abandoned(name: str, open_service: Open) -> None:
    clock = FakeClock()

    def trickle() -> Iterator[bytes]:
        for _ in range(1_000):
            clock.time += 5
            yield b" "

    kind = "application/atom+xml" if name == "arxiv" else "application/json"
    with FakeSearch([Reply(trickle(), kind=kind)]) as server:
        assert f"{name} responds too slowly" in failure(open_service(name, server.url, clock))


def test_duckduckgo_times_out_on_a_page_that_does_not_end(open_service: Open) -> None:
    gate = threading.Event()

    def stuck() -> Iterator[bytes]:
        yield b"<html>"
        gate.wait(LONG_S)

    with FakeSearch(lambda asked: Reply(stuck(), kind="text/html")) as server:
        service = DuckDuckGo(server.url, timeout_s=0.2, clock=FakeClock())
        assert "duckduckgo timed out" in failure(service)
        gate.set()


@pytest.mark.parametrize("name", ALL)
def test_a_broken_connection_is_retried(name: str, open_service: Open) -> None:
    clock = FakeClock()
    good = SPEAK[name]([])
    with FakeSearch([Reply("{" * 60, cut=True, kind=good.kind), good]) as server:
        assert list(open_service(name, server.url, clock).search("cats")) == []
        assert len(server.asked) == 2
    assert 0.5 <= sum(clock.naps) <= 2.5


@pytest.mark.parametrize("name", ALL)
def test_an_unreachable_service_is_reported(name: str, open_service: Open) -> None:
    with FakeSearch([Reply()]) as server:
        gone = server.url
    service = open_service(name, gone)
    assert f"{name} cannot be reached: check that its server runs" in failure(service)
    assert failure(service) == failure(service)


@pytest.mark.parametrize("name", ["duckduckgo", "tavily"])
def test_a_machine_without_a_network_is_told_so_each_time(name: str, open_service: Open) -> None:
    service = open_service(name, "http://no-such-host.invalid")
    for _ in range(3):
        assert "no answer from " in (said := failure(service)) and "connected to the internet" in said


@pytest.mark.parametrize("name", [*OVER_JSON, "arxiv"])
def test_redirects_are_not_followed(name: str, open_service: Open) -> None:
    with FakeSearch([Reply("{}")]) as thief, FakeSearch([Reply("", 302, headers={"Location": thief.url})]) as server:
        assert f"check {name.upper()}_URL" in failure(open_service(name, server.url))
        assert thief.asked == []
