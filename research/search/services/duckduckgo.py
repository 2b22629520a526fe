"""DuckDuckGo without a key, through the class `DDGS` of the package `ddgs`.

`DDGS` supplies the browser-like client (`primp`), the form and the XPaths of the page.  Its engine for DuckDuckGo is
replaced by one that fetches the page here: the original drops the status, so a block looks like an empty result,
reads bodies of any size, and decodes percent-encoding in urls.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

from research._util import egress
from research._util.http import retry_after
from research.config.settings import Settings
from research.plugins import searcher
from research.search import web
from research.search.cache import ResultCache
from research.types import Passage
from research.web import csl
from research.web.remote import MAX_BYTES, WAIT_S, Remote, Setting
from research.web.throttling import SYSTEM, AttemptError, Clock, unreachable

if TYPE_CHECKING:
    from ddgs.engines.duckduckgo import Duckduckgo

URL = "https://html.duckduckgo.com/html"
_LONGEST = 499
"""Longest query, in characters."""
_SPARE_S = 5.0
"""Extra seconds that `DDGS` waits beyond the page's time-out."""
_BLOCKED_S = 60.0
"""Pause after a block: DuckDuckGo extends the block for each request made during it."""


@dataclass
class _Hit:
    title: str = ""
    href: str = ""
    body: str = ""
    date: str = ""
    place: int = 0


class DuckDuckGo(web.Service):
    """DuckDuckGo's page for browsers without JavaScript."""

    def __init__(
        self, url: str = URL, cache: ResultCache | None = None, *, timeout_s: float = WAIT_S, clock: Clock = SYSTEM
    ) -> None:
        super().__init__(Remote("duckduckgo", Setting(url), interval_s=1.0, clock=clock), cache)
        self._timeout_s = timeout_s

    def fetch(self, request: web.SearchRequest) -> Iterable[Passage | None]:
        days = "..".join(request.days) if request.days else None

        def attempt(seconds: float) -> list[Passage | None]:
            hits = self._hits(web.with_site(request, _LONGEST), days, min(self._timeout_s, seconds))
            return [
                web.passage(_target(hit["href"]), hit["title"], hit["body"], issued=csl.date(hit["date"]))
                for hit in hits
            ]

        return self.remote.rate_limit.run(attempt)

    def _hits(self, query: str, days: str | None, seconds: float) -> list[dict[str, Any]]:
        """Return the results of `DDGS`, in the order of the page.  Raises `AttemptError`."""
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException

        client = DDGS(timeout=seconds + _SPARE_S)  # type: ignore[arg-type]  # primp accepts fractions of a second
        try:
            found: list[dict[str, Any]] = client.text(
                query, region="wt-wt", timelimit=days, max_results=None, backend=_registered(), page_of=self._page
            )
        except DDGSException as error:  # for an empty result, or around what the engine raised
            if error.args and isinstance(error.args[0], Exception):
                raise error.args[0] from error
            return []
        return sorted(found, key=lambda hit: hit["place"])  # `DDGS` puts Wikipedia first

    def _page(self, engine: Duckduckgo, form: dict[str, Any]) -> str:
        import primp

        client = engine.http_client.client
        try:
            with egress.sending(urlsplit(self.remote.url).netloc, kinds=("search words",)):
                egress.count(len(urlencode(form)))
                response = client.request("POST", f"{self.remote.url}/", data=form, stream=True, follow_redirects=False)
            body = bytearray()
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MAX_BYTES:
                    raise AttemptError(f"duckduckgo sent a page larger than {MAX_BYTES / 1e6:g} MB; use other sources")
        except (primp.ConnectError, primp.DNSError) as error:
            raise unreachable("duckduckgo", offline=isinstance(error, primp.DNSError)) from error
        except primp.TimeoutError as error:
            raise AttemptError("duckduckgo timed out", retry=True) from error
        except primp.PrimpError as error:
            raise AttemptError(f"the connection to duckduckgo was lost ({type(error).__name__})", retry=True) from error
        page = body.decode("utf-8", "replace")
        status = response.status_code
        if status in (202, 403, 418, 429) or "anomaly-modal" in page or 'id="challenge-form"' in page:
            raise AttemptError(
                f"duckduckgo takes this machine for a robot ({status}): search less often, or set SEARXNG_URL or the "
                "key of another service",
                after_s=retry_after(response.headers),
                pause_s=_BLOCKED_S,
            )
        if status != 200:
            raise AttemptError(
                f"duckduckgo answered {status}", retry=status >= 500, after_s=retry_after(response.headers)
            )
        return page


@cache
def _registered() -> str:
    """Add our engine to those of `ddgs`; return its name."""
    from ddgs.engines import ENGINES
    from ddgs.engines.duckduckgo import Duckduckgo
    from lxml.etree import ParserError

    class Engine(Duckduckgo):
        """DuckDuckGo's page, fetched by us, with dates."""

        name = "duckduckgo-of-the-workbench"
        elements_xpath = {**Duckduckgo.elements_xpath, "date": ".//div[@class='result__extras__url']/span/text()"}

        def __init__(
            self, proxy: str | None = None, timeout: float | None = None, *, verify: bool | str = True
        ) -> None:
            # The page must time out before `DDGS` stops waiting, which would look like an empty result.
            super().__init__(proxy, (timeout or _SPARE_S + WAIT_S) - _SPARE_S, verify=verify)  # type: ignore[arg-type]

        @property
        def result_type(self) -> type[Any]:
            return _Hit  # keeps the values as in the page

        def search(self, query: str, *args: Any, page_of: Any = None, **options: Any) -> list[Any]:
            options.pop("page", None)
            page = page_of(self, self.build_payload(query, **options))
            try:
                hits: list[Any] = self.post_extract_results(self.extract_results(page)) if page.strip() else []
            except (ParserError, ValueError) as error:
                raise AttemptError(
                    f"duckduckgo sent a page that cannot be parsed ({error}); use other sources"
                ) from error
            found = [hit for hit in hits if hit.href]
            if not found and "no-results" not in page:
                raise AttemptError(
                    "duckduckgo sent a page that contains neither results nor a note that there are none; use other "
                    "sources"
                )
            for place, hit in enumerate(found):
                hit.place = place
            return found

    ENGINES["text"][Engine.name] = Engine
    return Engine.name


def _target(href: str) -> str:
    """Return the target of DuckDuckGo's redirect `//duckduckgo.com/l/?uddg=…`; empty for an advertisement."""
    url = urljoin(URL, href)
    parts = urlsplit(url)
    if not f".{parts.hostname}".endswith(".duckduckgo.com"):
        return url
    return parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else ""


@searcher("DuckDuckGo")
def duckduckgo(settings: Settings) -> DuckDuckGo:
    """Web search without a key; often refuses automated requests."""
    return DuckDuckGo(cache=web.result_cache(settings))
