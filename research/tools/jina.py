"""Jina Reader: a service that opens a page in a browser of its own and gives it back as Markdown.

Source: the service's reference at https://jina.ai/reader and its open branch, github.com/jina-ai/reader.
"""

from __future__ import annotations

from msgspec import Struct

from research.errors import ToolError
from research.fetch import FetchedPage, FetchPolicy, absolute, fetch, vet
from research.readers import MAX_LINKS, FileText, Link
from research.search import csl
from research.search.pace import Trouble
from research.search.remote import Refusal, Remote
from research.text import clip

_NAME = "Jina Reader"
_HEADERS = {
    "X-Timeout": "8",  # seconds: what a slow page shows by then is enough, and our own patience ends soon after
    "X-With-Links-Summary": "true",
    "X-Retain-Images": "none",
}


class _Data(Struct, frozen=True, rename={"published": "publishedTime"}):
    title: str | None = None
    content: str | None = None
    published: str | None = None
    links: dict[str, str] | list[tuple[str, str]] = {}
    """Words and url of each link, in either form."""
    warning: str | None = None
    """E.g. that the site itself answered with an error."""


class _Envelope(Struct, frozen=True):
    data: _Data | None = None


class JinaReader:
    """Reads public pages through the service.  What it may be asked for is judged here first, as `fetch` does."""

    def __init__(self, url: str, api_key: str = "") -> None:
        """`api_key` empty: the free tier, 20 pages a minute.  Raises `ConfigError` for a url or key that is none."""
        self._remote = Remote(
            _NAME, url, key=api_key, url_setting="JINA_URL", key_setting="JINA_API_KEY",
            interval_s=0.2 if api_key else 3.0,
        )  # fmt: skip
        self._headers = _HEADERS | ({"Authorization": f"Bearer {api_key}"} if api_key else {})

    def __call__(self, url: str, policy: FetchPolicy) -> FetchedPage:
        """Like `fetch`, with its errors.  A private host that the administrator allows is read directly."""
        target, private = vet(url, policy=policy)
        if private:
            return fetch(target, policy=policy)
        sent = {"url": target}
        data = self._remote.json(_Envelope, "POST", "/", body=sent, headers=self._headers, explain=_explain).data
        if data is None or not (data.content or "").strip():
            why = self._remote.mask(" ".join(((data and data.warning) or "").split()))
            raise ToolError(
                f"{_NAME} finds no text on {target}{f' ({clip(why, 200)})' if why else ''}; try another source"
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
            absolute(url, FileText(title, "", links)),
            csl.record(type="webpage", title=title, issued=csl.date(data.published)),
        )


def _explain(refusal: Refusal) -> Trouble | None:
    """What the service's own statuses mean."""
    match refusal.status:
        case 402:
            return Trouble(
                f"{_NAME} has no balance left for this key; the user can top it up or set WORKBENCH_READER=direct"
            )
        case 422:
            return Trouble(f"{_NAME} cannot open this page: check the url or try another source")
        case 451:
            return Trouble(f"{_NAME} may not open this site; try another source")
        case _:
            return None
