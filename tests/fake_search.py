"""Fake search services over real HTTP on loopback, in the formats of the real ones.

    with FakeSearch(lambda request: tavily([Hit("https://a.example/", "A", "text")])) as server:
        service = tavily_service(load(tavily_url=server.url, tavily_api_key="tvly-…"))

The script is a list of replies, played in order with the last one repeated, or a function from the request to a reply.
"""

from __future__ import annotations

import html
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit
from xml.sax.saxutils import escape

import pytest

from research.errors import ToolError
from research.search.web import Service
from research.web.throttling import Clock


class FakeClock(Clock):
    """A clock that advances only when a caller sleeps."""

    def __init__(self) -> None:
        self.time = 1_000.0
        self.naps: list[float] = []
        self._lock = threading.Lock()

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.naps.append(seconds)
            self.time += seconds


@dataclass(frozen=True)
class Asked:
    """A request as the server received it."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    """Header names in lower case."""
    body: Any
    """Decoded JSON, or the fields of a form."""


@dataclass(frozen=True)
class Reply:
    """A response; `body` is a string, bytes, JSON, or an iterable of bytes sent one by one."""

    body: Any = ""
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    """Disconnect in the middle of the body."""


Script = Sequence[Reply] | Callable[[Asked], Reply]


@dataclass(frozen=True)
class Hit:
    """A search result, independent of the service."""

    url: str
    title: str = "A title"
    text: str = "What stands there."
    date: str = ""
    """An ISO date."""


@dataclass(frozen=True)
class Paper:
    """A paper, independent of the service."""

    title: str
    authors: Sequence[str] = ("Ada Lovelace",)
    year: int = 2017
    abstract: str = "We show that."
    doi: str = ""
    arxiv: str = ""
    citations: int = 5
    venue: str = ""


class FakeSearch:
    """A server that runs inside a `with` block."""

    def __init__(self, script: Script) -> None:
        self.asked: list[Asked] = []
        """The requests, in order of arrival."""
        self._script = script
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FakeSearch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply_to(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
            turn = len(self.asked) - 1
        return self._script(asked) if callable(self._script) else self._script[min(turn, len(self._script) - 1)]


# The formats


def searxng(hits: Iterable[Hit], unresponsive: Sequence[tuple[str, str]] = ()) -> Reply:
    results = [
        {"url": hit.url, "title": hit.title, "content": hit.text, "publishedDate": hit.date or None, "engine": "bing",
         "parsed_url": ["https", "a", "/", "", "", ""], "template": "default.html", "engines": ["bing"],
         "positions": [1], "score": 1.0, "category": "general", "thumbnail": None}
        for hit in hits
    ]  # fmt: skip
    return Reply(
        {"query": "q", "number_of_results": 0, "results": results, "answers": [], "corrections": [], "infoboxes": [],
         "suggestions": ["more"], "unresponsive_engines": [list(pair) for pair in unresponsive]}
    )  # fmt: skip


def tavily(hits: Iterable[Hit]) -> Reply:
    results = [
        {"url": hit.url, "title": hit.title, "content": hit.text, "score": 0.9, "raw_content": None, "favicon": None}
        | ({"published_date": hit.date} if hit.date else {})
        for hit in hits
    ]
    return Reply(
        {"query": "q", "answer": None, "images": [], "results": results, "response_time": 1.2, "request_id": "r-1"}
    )


def brave(hits: Iterable[Hit]) -> Reply:
    results = [
        {"type": "search_result", "subtype": "generic", "url": hit.url, "title": html.escape(hit.title),
         "description": html.escape(hit.text), "page_age": f"{hit.date}T00:00:00" if hit.date else None,
         "profile": {"name": "The Paper", "url": hit.url, "long_name": "paper.example", "img": ""},
         "language": "en", "family_friendly": True, "meta_url": {"hostname": "paper.example"}}
        for hit in hits
    ]  # fmt: skip
    answer: dict[str, Any] = {"type": "search", "query": {"original": "q", "more_results_available": False}}
    return Reply(answer | ({"web": {"type": "search", "results": results}} if results else {}))


def serper(hits: Iterable[Hit]) -> Reply:
    months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()

    def written(date: str) -> dict[str, str]:
        return {"date": f"{months[int(date[5:7]) - 1]} {int(date[8:])}, {date[:4]}"} if date else {}

    organic = [
        {"title": hit.title, "link": hit.url, "snippet": hit.text, "position": n} | written(hit.date)
        for n, hit in enumerate(hits, 1)
    ]
    return Reply(
        {"searchParameters": {"q": "q", "type": "search", "engine": "google"}, "organic": organic, "credits": 1}
    )


def duckduckgo(hits: Iterable[Hit], redirects: bool = False) -> Reply:
    """The page for browsers without scripts, with an advertisement at its top."""

    def link(url: str) -> str:
        return html.escape(f"//duckduckgo.com/l/?uddg={quote(url, safe='')}&rut=0a1b" if redirects else url)

    advertisement = """<div class="result results_links results_links_deep result--ad "><div class="links_main links_deep
        result__body"><h2 class="result__title"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x">Buy</a>
        </h2><a class="result__snippet" href="https://duckduckgo.com/y.js?ad_domain=x">Cheap</a></div></div>"""
    results = [
        f"""<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
        <h2 class="result__title"><a rel="nofollow" class="result__a" href="{link(hit.url)}">{html.escape(hit.title)}</a></h2>
        <div class="result__extras"><div class="result__extras__url"><span class="result__icon"><a rel="nofollow"
        href="{link(hit.url)}"><img class="result__icon__img" src="//external-content.duckduckgo.com/i.ico" /></a></span>
        <a class="result__url" href="{link(hit.url)}">somewhere</a>{_span(hit.date)}</div></div>
        <a class="result__snippet" href="{link(hit.url)}">{_bold(hit.text)}</a><div class="clear"></div></div></div>"""
        for hit in hits
    ]
    nothing = """<div class="result results_links results_links_deep result--no-result"><div class="links_main links_deep
        result__body"><div class="no-results">No  results.</div></div></div>"""
    page = f"""<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" ""><html><head><title>q at DuckDuckGo</title>
        </head><body class="body--html"><form id="search_form" class="header__form" action="/html/" method="post"></form>
        <div class="serp__results"><div id="links" class="results">{advertisement if results else ""}
        {"".join(results) or nothing}</div></div></body></html>"""
    return Reply(page, kind="text/html; charset=UTF-8")


def duckduckgo_captcha(status: int = 202) -> Reply:
    page = """<html><body><form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html" method="POST">
        <div class="anomaly-modal__mask"><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>
        <div class="anomaly-modal__description">Please complete the following challenge.</div></div></form></body></html>"""
    return Reply(page, status, "text/html; charset=UTF-8")


def semantic_scholar(papers: Iterable[Paper]) -> Reply:
    data = [
        {"paperId": f"{n:040x}", "externalIds": _only(DOI=p.doi, ArXiv=p.arxiv, CorpusId=n), "title": p.title,
         "url": f"https://www.semanticscholar.org/paper/{n:040x}", "abstract": p.abstract or None, "year": p.year,
         "publicationDate": f"{p.year}-06-12", "citationCount": p.citations, "venue": p.venue,
         "journal": {"name": p.venue, "volume": "30", "pages": "1-11"} if p.venue else None,
         "publicationTypes": ["JournalArticle"] if p.venue else None,
         "authors": [{"authorId": "1", "name": name} for name in p.authors]}
        for n, p in enumerate(papers, 1)
    ]  # fmt: skip
    return Reply({"total": len(data), "offset": 0} | ({"data": data} if data else {}))


def openalex(papers: Iterable[Paper]) -> Reply:
    results = [
        {"id": f"https://openalex.org/W{n}", "doi": f"https://doi.org/{p.doi}" if p.doi else None, "display_name": p.title,
         "publication_year": p.year, "publication_date": f"{p.year}-06-12", "type": "article" if p.venue else "preprint",
         "cited_by_count": p.citations, "biblio": {"volume": None, "issue": "4", "first_page": "1", "last_page": "11"},
         "authorships": [{"author_position": "first", "raw_author_name": name,
                          "author": {"id": "https://openalex.org/A1", "display_name": name}} for name in p.authors],
         "primary_location": {"landing_page_url": f"https://doi.org/{p.doi}" if p.doi else f"https://journal.example/{n}",
                              "source": {"display_name": p.venue, "type": "journal"} if p.venue else None},
         "abstract_inverted_index": _inverted(p.abstract)}
        for n, p in enumerate(papers, 1)
    ]  # fmt: skip
    return Reply({"meta": {"count": len(results), "page": 1, "per_page": 10}, "results": results, "group_by": []})


def arxiv(papers: Iterable[Paper]) -> Reply:
    entries = "".join(
        f"""<entry><id>http://arxiv.org/abs/{p.arxiv}v2</id><updated>2020-01-01T00:00:00Z</updated>
        <published>{p.year}-06-12T17:57:34Z</published><title>{escape(p.title)}</title><summary>  {escape(p.abstract)}
        </summary>{"".join(f"<author><name>{escape(name)}</name></author>" for name in p.authors)}
        {f"<arxiv:doi>{p.doi}</arxiv:doi>" if p.doi else ""}
        {f"<arxiv:journal_ref>{escape(p.venue)}</arxiv:journal_ref>" if p.venue else ""}
        <link href="http://arxiv.org/abs/{p.arxiv}v2" rel="alternate" type="text/html"/>
        <arxiv:primary_category term="cs.CL" scheme="http://arxiv.org/schemas/atom"/></entry>"""
        for p in papers
    )
    return Reply(_feed(entries), kind="application/atom+xml; charset=UTF-8")


def arxiv_error(why: str) -> Reply:
    entry = f"""<entry><id>http://arxiv.org/api/errors#bad</id><title>Error</title><summary>{why}</summary>
        <author><name>arXiv api core</name></author></entry>"""
    return Reply(_feed(entry), kind="application/atom+xml; charset=UTF-8")


KEY = "sk-Very/Secret+Key=42"
SPEAK: dict[str, Callable[..., Reply]] = {
    "searxng": searxng, "tavily": tavily, "brave": brave, "serper": serper,
    "duckduckgo": duckduckgo, "semantic_scholar": semantic_scholar, "openalex": openalex,
    "arxiv": arxiv,
}  # fmt: skip
WEB = ["searxng", "tavily", "brave", "serper", "duckduckgo"]
KEYED = ["tavily", "brave", "serper", "semantic_scholar", "openalex"]
OVER_JSON = ["searxng", "tavily", "brave", "serper", "semantic_scholar", "openalex"]
ALL = list(SPEAK)
HITS = [
    Hit("https://a.example/one?id=1", "First & best", "Tigers are large cats.", "2024-03-05"),
    Hit("https://b.example/AT%26T?q=a%26b", "Second", "Lions are large too."),
]


def failure(service: Service, query: str = "cats") -> str:
    with pytest.raises(ToolError) as caught:
        service.search(query)
    return str(caught.value)


def _feed(entries: str) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
        <feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom"
        xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/"><title>ArXiv Query</title><id>http://arxiv.org/api/1</id>
        <updated>2026-01-01T00:00:00-04:00</updated><opensearch:totalResults>1</opensearch:totalResults>{entries}</feed>""".strip()


def _inverted(text: str) -> dict[str, list[int]] | None:
    index: dict[str, list[int]] = {}
    for place, word in enumerate(text.split()):
        index.setdefault(word, []).append(place)
    return index or None


def _only(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _span(date: str) -> str:
    return f"<span>&nbsp; &nbsp; {date}T00:00:00.0000000</span>" if date else ""


def _bold(text: str) -> str:
    first, _, rest = html.escape(text).partition(" ")
    return f"<b>{first}</b> {rest}"


# The server


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a handler may wait
    fake: FakeSearch

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: some tests make clients disconnect."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _answer(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length") or 0))
        form = self.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
        body = dict(parse_qsl(sent.decode(), keep_blank_values=True)) if form else json.loads(sent or b"null")
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        params = dict(parse_qsl(parts.query, keep_blank_values=True))
        reply = self.server.fake.reply_to(Asked(self.command, parts.path, params, headers, body))
        self.send_response_only(reply.status)
        self.send_header("Content-Type", reply.kind)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.close_connection = True
        pieces = _pieces(reply.body)
        if reply.cut:
            pieces = [b"".join(pieces)[:50]]
            self.send_header("Content-Length", "100000")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()


def _pieces(body: Any) -> Iterable[bytes]:
    match body:
        case bytes():
            return [body]
        case str():
            return [body.encode()]
        case dict() | list():
            return [json.dumps(body).encode()]
        case _:
            return body
