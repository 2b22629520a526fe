"""Rate limits and cached results of search services, over real HTTP on loopback."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from research import plugins
from research.config.settings import load
from research.errors import ToolError
from research.search import web
from research.search.cache import ResultCache
from research.search.web import Service
from research.types import Passage
from research.web.throttling import AttemptError, RateLimit
from tests import fake_search as fake
from tests.fake_search import HITS, KEY, OVER_JSON, SPEAK, WEB, FakeClock, FakeSearch, Reply, failure
from tests.workers import LONG_S

Open = Callable[..., Service]


@pytest.fixture(autouse=True)
def no_back_off() -> None:
    """The waits are real, on a clock that no test waits for."""


# Rate limits


@pytest.mark.parametrize("name", [*OVER_JSON, "arxiv"])
@pytest.mark.parametrize("status", [429, 503, 202])
def test_a_rate_limited_request_is_retried_after_the_given_time(name: str, status: int, open_service: Open) -> None:
    clock = FakeClock()
    # Brave has its own headers, with one value for each window.
    headers = {"Retry-After": "4", "X-RateLimit-Remaining": "0, 900", "X-RateLimit-Reset": "4, 1419704"}
    with FakeSearch([Reply({"error": "slow down"}, status, headers=headers), SPEAK[name]([])]) as server:
        assert list(open_service(name, server.url, clock).search("cats")) == []
        assert len(server.asked) == 2
    assert sum(clock.naps) == pytest.approx(4)


@pytest.mark.parametrize(
    ("value", "pause"),
    [
        ("120", 120), ("99999999999", 600), ("1e400", 600), ("-5", None), ("nan", None), ("soon", None), ("", None),
        pytest.param(format_datetime(datetime.now(UTC) + timedelta(days=3650), usegmt=True), 600, id="in ten years"),
        ("Wed, 21 Oct 9999 07:28:00 GMT", 600), ("Wed, 21 Oct 2015 07:28:00 GMT", None),
    ],
)  # fmt: skip
def test_a_long_or_invalid_retry_after_is_not_waited_for(value: str, pause: float | None, open_service: Open) -> None:
    clock = FakeClock()
    with FakeSearch([Reply({"error": "slow down"}, 429, headers={"Retry-After": value})]) as server:
        service = open_service("tavily", server.url, clock)
        said = failure(service)
        again = failure(service)
        tries = len(server.asked)
    assert sum(clock.naps) <= 10
    if pause is None:  # like no header at all
        assert tries == 3 and "retry in 15 s" in said
    else:
        assert tries == 1 and f"retry in {pause} s" in said
    assert again.startswith("tavily reports too many requests (429)") and "use other sources" in again


def test_a_retry_after_date_is_relative_to_the_servers_own_clock(open_service: Open) -> None:
    clock = FakeClock()
    headers = {"Retry-After": "Wed, 21 Oct 2015 07:28:05 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}

    with FakeSearch([Reply({}, 503, headers=headers), fake.serper([])]) as server:
        open_service("serper", server.url, clock).search("cats")
    assert sum(clock.naps) == pytest.approx(5)


def test_a_service_that_keeps_failing_is_avoided_longer_each_time(open_service: Open) -> None:
    clock = FakeClock()
    with FakeSearch([Reply({}, 500)]) as server:
        service = open_service("tavily", server.url, clock)
        pauses = []
        for _ in range(3):
            pauses.append(failure(service).partition("retry in ")[2].partition(" s,")[0])
            clock.time += 1_000
        assert len(server.asked) == 9
    assert pauses == ["15", "30", "60"]


@pytest.mark.parametrize(
    "reply",
    [
        fake.duckduckgo_captcha(),
        Reply("", 202, "text/html", {"Retry-After": "5"}),
        fake.duckduckgo_captcha(200),
        Reply("", 202, "text/html"),
        Reply("", 403),
        Reply("", 429),
    ],
)
def test_duckduckgo_is_not_asked_again_after_it_suspects_a_robot(reply: Reply, open_service: Open) -> None:
    clock = FakeClock()
    with FakeSearch([reply, fake.duckduckgo(HITS)]) as server:
        service = open_service("duckduckgo", server.url, clock)
        assert "takes this machine for a robot" in failure(service)
        again = failure(service)
        assert "takes this machine for a robot" in again and "retry in 60 s" in again
        assert len(server.asked) == 1
        clock.time += 61
        assert len(service.search("cats")) == 2


@pytest.mark.parametrize(
    "page", ["", "<html></html>", "<div class='body'", "\x00\x01", "<html><body>New layout</body></html>"]
)
def test_an_unreadable_duckduckgo_page_is_an_error_and_not_an_empty_result(page: str, open_service: Open) -> None:
    with FakeSearch([Reply(page, kind="text/html")]) as server:
        assert "duckduckgo sent a page" in failure(open_service("duckduckgo", server.url))


def test_concurrent_requests_keep_the_minimum_interval(open_service: Open) -> None:
    clock = FakeClock()
    times: list[float] = []

    def reply(asked: Any) -> Reply:
        times.append(clock.now())
        return fake.tavily([])

    with FakeSearch(reply) as server:
        service = open_service("tavily", server.url, clock)
        limit = service.remote.rate_limit
        threads = [threading.Thread(target=service.search, args=(f"cats {n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.asked) == 4
    # Every thread but the first waits for at least one interval.
    assert sum(clock.naps) >= 3 * 1.0 - 0.001
    assert limit.clock is clock


def test_a_request_that_waits_for_its_turn_fails_if_the_service_asks_for_a_pause() -> None:
    asleep, wake = threading.Event(), threading.Event()

    class Sleeping(FakeClock):
        def sleep(self, seconds: float) -> None:
            asleep.set()
            wake.wait(LONG_S)
            super().sleep(seconds)

    limit = RateLimit("tavily", 5.0, Sleeping())
    heard: list[str] = []

    def second() -> None:
        try:
            limit.run(lambda seconds: heard.append("the service was asked"))
        except ToolError as error:
            heard.append(str(error))

    other = threading.Thread(target=second)

    def first(seconds: float) -> None:
        other.start()
        assert asleep.wait(LONG_S)
        raise AttemptError("tavily reports too many requests", retry=True, after_s=300)

    with pytest.raises(ToolError, match="retry in 300 s"):
        limit.run(first)
    wake.set()
    other.join()
    assert heard == ["tavily reports too many requests; retry in 295 s, or use other sources"]


def test_the_request_log_redacts_a_key_in_a_url(open_service: Open, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with FakeSearch([fake.openalex([])]) as server:
        open_service("openalex", server.url).search("cats")
        assert server.asked[0].params["api_key"] == KEY
    assert "/works?search=cats" in caplog.text and "api_key=***" in caplog.text
    assert KEY not in caplog.text and quote(KEY, safe="") not in caplog.text


def test_services_with_the_same_url_share_a_rate_limit_in_the_process(tmp_path: Path) -> None:
    settings = load(home=tmp_path, tavily_api_key=KEY)
    make = plugins.searcher.get("tavily").function
    assert make(settings).remote.rate_limit is make(settings).remote.rate_limit
    other = load(home=tmp_path, tavily_api_key=KEY, tavily_url="http://127.0.0.1:1")
    assert make(settings).remote.rate_limit is not make(other).remote.rate_limit


def test_a_request_whose_turn_is_far_away_fails_at_once(open_service: Open) -> None:
    clock = FakeClock()
    limit = RateLimit("slow", 60.0, clock)
    assert limit.run(lambda seconds: 1) == 1
    with pytest.raises(ToolError, match="slow is rate limited; retry in 60 s"):
        limit.run(lambda seconds: 2)


# Cached results


@pytest.mark.parametrize("name", WEB)
def test_results_are_cached_with_their_age(name: str, open_service: Open, tmp_path: Path) -> None:
    now = [1_700_000_000.0]
    with FakeSearch([SPEAK[name](HITS)]) as server:
        service = open_service(name, server.url, keep=86_400)
        service.cache = ResultCache(tmp_path / "search-cache.sqlite", 86_400, lambda: now[0])
        fresh = service.find(web.search_request("large cats"))
        now[0] += 3 * 3_600
        old = service.find(web.search_request("large  cats"))
        assert (fresh.age_s, old.age_s, old.passages) == (None, 10_800.0, fresh.passages)
        assert len(server.asked) == 1
        for other in (
            web.search_request("small cats"),
            web.search_request("large cats", year_to=2024),
            web.search_request("large cats", site="a.example"),
        ):
            assert service.find(other).age_s is None
        now[0] += 86_400
        assert service.find(web.search_request("large cats")).age_s is None
        now[0] -= 10 * 86_400  # the clock was set back
        assert service.find(web.search_request("large cats")).age_s is None


def test_errors_are_not_cached(open_service: Open) -> None:
    with FakeSearch([Reply({}, 400), fake.tavily(HITS)]) as server:
        service = open_service("tavily", server.url, keep=60)
        failure(service, "cats")
        assert len(service.search("cats")) == 2


def test_nothing_is_cached_if_the_user_turns_it_off(open_service: Open, tmp_path: Path) -> None:
    with FakeSearch([fake.tavily(HITS)]) as server:
        service = open_service("tavily", server.url, keep=0)
        service.search("cats"), service.search("cats")
        assert len(server.asked) == 2
    assert not (tmp_path / "search-cache.sqlite").exists()


def test_a_damaged_cache_file_is_replaced(open_service: Open, tmp_path: Path) -> None:
    (tmp_path / "search-cache.sqlite").write_bytes(b"no database " * 1_000)
    with FakeSearch([fake.tavily(HITS)]) as server:
        service = open_service("tavily", server.url, keep=60)
        assert service.find(web.search_request("cats")).age_s is None
        assert service.find(web.search_request("cats")).age_s is not None


def test_results_that_cannot_be_cached_are_still_returned(open_service: Open, tmp_path: Path) -> None:
    (tmp_path / "search-cache.sqlite").mkdir()
    with FakeSearch([fake.tavily(HITS)]) as server:
        found = open_service("tavily", server.url, keep=60).find(web.search_request("cats"))
    assert len(found.passages) == 2 and "cannot be cached" in found.note


def test_many_threads_and_connections_share_the_cache(tmp_path: Path) -> None:
    passages = (Passage("https://a.example/", "A", "text"),)

    def work(n: int) -> None:
        for i in range(10):
            ResultCache(tmp_path / "kept.sqlite", 60).put(f"{n}/{i}", passages)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hits = [ResultCache(tmp_path / "kept.sqlite", 60).get(f"{n}/{i}") for n in range(4) for i in range(10)]
    assert all(hit and hit[0] == passages for hit in hits)
