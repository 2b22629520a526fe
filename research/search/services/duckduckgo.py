"""DuckDuckGo without a key, through `ddgs`.

From `ddgs` come the browser-like client (`primp`), the form and the paths in the page.  Its own request drops the
status and reads a body of any size; its results lose percent-encoding in urls.  So both are done here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urljoin, urlsplit

from research.http import retry_after
from research.registry import searcher
from research.search import csl, web
from research.search.kept import Kept
from research.search.pace import SYSTEM, Clock, Trouble
from research.search.remote import MAX_BYTES, WAIT_S, Remote
from research.settings import Settings
from research.types import Passage

if TYPE_CHECKING:
    from ddgs.engines.duckduckgo import Duckduckgo

URL = "https://html.duckduckgo.com/html"
_LONGEST = 499
"""Characters of a query."""
_BLOCKED_S = 60.0
"""It blocks an address for longer the more it is asked while it does."""


@dataclass
class _Hit:
    title: str = ""
    href: str = ""
    body: str = ""
    date: str = ""


class DuckDuckGo(web.Service):
    """The page for browsers without scripts."""

    def __init__(
        self, url: str = URL, kept: Kept | None = None, *, timeout_s: float = WAIT_S, clock: Clock = SYSTEM
    ) -> None:
        super().__init__(Remote("duckduckgo", url, interval_s=1.0, clock=clock), kept)
        self._timeout_s = timeout_s

    def fetch(self, ask: web.Ask) -> Iterable[Passage | None]:
        days = "..".join(ask.days) if ask.days else None

        def attempt(seconds: float) -> list[Passage | None]:
            engine = self._engine(min(self._timeout_s, seconds))
            form = engine.build_payload(web.with_site(ask, _LONGEST), "wt-wt", "moderate", days)
            return self._results(engine, self._page(engine, form))

        return self.remote.pace.run(attempt)

    def _engine(self, seconds: float) -> Duckduckgo:
        from ddgs.engines.duckduckgo import Duckduckgo

        class Engine(Duckduckgo):
            elements_xpath = {**Duckduckgo.elements_xpath, "date": ".//div[@class='result__extras__url']/span/text()"}

            @property
            def result_type(self) -> type[Any]:
                return _Hit  # takes what stands there

        return Engine(timeout=seconds)  # type: ignore[arg-type]  # primp takes fractions

    def _page(self, engine: Duckduckgo, form: dict[str, Any]) -> str:
        import primp

        client = engine.http_client.client
        try:
            response = client.request("POST", f"{self.remote.url}/", data=form, stream=True, follow_redirects=False)
            body = bytearray()
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MAX_BYTES:
                    raise Trouble(f"duckduckgo sent a page of more than {MAX_BYTES / 1e6:g} MB; use other sources")
        except primp.TimeoutError as error:
            raise Trouble("duckduckgo did not answer in time", retry=True) from error
        except primp.ConnectError as error:
            raise Trouble("duckduckgo cannot be reached: check that this machine is online") from error
        except primp.PrimpError as error:
            raise Trouble(f"the connection to duckduckgo was lost ({type(error).__name__})", retry=True) from error
        page = body.decode("utf-8", "replace")
        status = response.status_code
        if status in (202, 403, 418, 429) or "anomaly-modal" in page or 'id="challenge-form"' in page:
            raise Trouble(
                f"duckduckgo takes this machine for a robot ({status}): ask less often, or set up SEARXNG_URL or the key "
                "of another service",
                after_s=retry_after(response.headers),
                pause_s=_BLOCKED_S,
            )
        if status != 200:
            raise Trouble(f"duckduckgo answered {status}", retry=status >= 500, after_s=retry_after(response.headers))
        return page

    def _results(self, engine: Duckduckgo, page: str) -> list[Passage | None]:
        from lxml.etree import ParserError

        try:
            hits: list[Any] = engine.post_extract_results(engine.extract_results(page)) if page.strip() else []
        except (ParserError, ValueError) as error:
            raise Trouble(f"duckduckgo sent a page that cannot be read ({error}); use other sources") from error
        found = [hit for hit in hits if hit.href]
        if not found and "no-results" not in page:
            raise Trouble("duckduckgo sent a page without results or a word on it; use other sources")
        return [web.passage(_target(hit.href), hit.title, hit.body, issued=csl.date(hit.date)) for hit in found]


def _target(href: str) -> str:
    """Where a link leads behind DuckDuckGo's own redirect `//duckduckgo.com/l/?uddg=…`; empty for an advertisement."""
    url = urljoin(URL, href)
    parts = urlsplit(url)
    if not f".{parts.hostname}".endswith(".duckduckgo.com"):
        return url
    return parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else ""


@searcher("DuckDuckGo")
def duckduckgo(settings: Settings) -> DuckDuckGo:
    """The web without a key; it limits robots, so expect refusals."""
    return DuckDuckGo(kept=web.kept(settings))
