"""Read pages through Jina Reader, a service that opens a page in its own browser and returns it as Markdown.

Source: the service's reference at https://jina.ai/reader and its source code at github.com/jina-ai/reader.
"""

from __future__ import annotations

from msgspec import Struct

from research._util.said import say
from research.errors import ToolError
from research.text import clip
from research.web import csl
from research.web.fetch import FetchedPage, FetchPolicy, absolute_links, fetch, vet
from research.web.readers import MAX_LINKS, FileText, Link
from research.web.remote import ErrorResponse, Remote, Setting
from research.web.throttling import AttemptError

_NAME = "Jina Reader"
_HEADERS = {
    "X-Timeout": "8",  # seconds; the service then returns a slow page's text so far, before our time-out
    "X-With-Links-Summary": "true",
    "X-Retain-Images": "none",
}


class _Data(Struct, frozen=True, rename={"published": "publishedTime"}):
    title: str | None = None
    content: str | None = None
    published: str | None = None
    links: dict[str, str] | list[tuple[str, str]] = {}
    """Text and url of each link; the service sends either form."""
    warning: str | None = None
    """A warning, for example that the site answered with an error."""


class _Envelope(Struct, frozen=True):
    data: _Data | None = None


class JinaReader:
    """Reads public pages through the service, after the checks that `fetch` makes."""

    def __init__(self, url: str, api_key: str = "", allow_hosts: tuple[str, ...] | None = None) -> None:
        """`api_key` empty: the free tier, 20 pages a minute.  `allow_hosts` as in `Remote`.

        Raises `ConfigError` for an invalid url or key.
        """
        self._remote = Remote(
            _NAME,
            Setting(url, "JINA_URL"),
            Setting(api_key, "JINA_API_KEY"),
            interval_s=0.2 if api_key else 3.0,
            allow_hosts=allow_hosts,
        )
        self._headers = _HEADERS | ({"Authorization": f"Bearer {api_key}"} if api_key else {})

    def __call__(self, url: str, policy: FetchPolicy) -> FetchedPage:
        """Fetch a page, with the errors of `fetch`.  Reads private hosts that the administrator allows directly."""
        target, private = vet(url, policy=policy)
        if private:
            return fetch(target, policy=policy)
        body = {"url": target}
        data = self._remote.json(_Envelope, "/", body=body, headers=self._headers, explain=_explain).data
        if data is None or not (data.content or "").strip():
            why = self._remote.mask(" ".join(((data and data.warning) or "").split()))
            raise ToolError(
                say(
                    "{name} found no text on {target}{value}; try another source",
                    name=_NAME,
                    target=target,
                    value=f" ({clip(why, 200)})" if why else "",
                )
            )
        return self._page(target, data)

    def _page(self, url: str, data: _Data) -> FetchedPage:
        def line(text: str, limit: int) -> str:
            return clip(" ".join(self._remote.mask(text).split()), limit)

        title = line(data.title or "", 300)
        pairs = list(data.links.items() if isinstance(data.links, dict) else data.links)[:MAX_LINKS]
        links = tuple(Link(line(words, 120), self._remote.mask(target)) for words, target in pairs)
        return FetchedPage(
            url,
            title or url,
            self._remote.mask(data.content or "").strip(),
            "text/markdown",
            absolute_links(url, FileText(title, "", links)),
            csl=csl.record(type="webpage", title=title, issued=csl.date(data.published)),
        )


def _explain(response: ErrorResponse) -> AttemptError | None:
    """Return the error for a status with a special meaning at this service; None for others."""
    match response.status:
        case 402:
            return AttemptError(
                f"{_NAME} has no balance left for this key; the user can top it up or set WORKBENCH_READER=direct"
            )
        case 422:
            return AttemptError(f"{_NAME} cannot open this page: check the url or try another source")
        case 451:
            return AttemptError(f"{_NAME} may not open this site; try another source")
        case _:
            return None
