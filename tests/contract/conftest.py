"""Fixtures for the tests of search services."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from research import plugins
from research.config.settings import load
from research.search.cache import ResultCache
from research.search.services.duckduckgo import DuckDuckGo
from research.search.web import Service
from research.web.throttling import RateLimit
from tests.fake_search import KEY, KEYED, FakeClock


@pytest.fixture
def open_service(tmp_path: Path) -> Callable[..., Service]:
    """Returns a function that opens a search service as the workbench does, at a given address and with a fake clock."""

    def make(name: str, url: str, clock: FakeClock | None = None, *, key: str = KEY, keep: float = 0) -> Service:
        clock = clock or FakeClock()
        if name == "duckduckgo":
            kept = ResultCache(tmp_path / "search-cache.sqlite", keep)
            return DuckDuckGo(url, kept, clock=clock)
        keys = {f"{name}_api_key": key} if name in KEYED else {}
        settings = load(home=tmp_path, search_cache_s=keep, **{f"{name}_url": url}, **keys)
        service: Service = plugins.searcher.get(name).function(settings)
        service.remote.rate_limit = RateLimit(name, 1.0, clock)
        return service

    return make
