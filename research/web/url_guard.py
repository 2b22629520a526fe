"""Prevent a model from leaking private data through urls.

A page can instruct a model to put what it knows into a url and visit it.  As long as a run has seen only public text,
that leaks nothing.  Once private data is in its context (memory, files or MCP servers of the user), only urls that the
model did not write may be visited: those typed by the user or found in a search result or page, verbatim.  A url that
the model composes is refused whatever it contains, because it can encode the data in any way.

Which of n known links a model chooses tells their site log2(n + 1) bits, stopping included.  So each site has a budget
of `BITS`; beyond it the user is asked.  A url counts towards the site that led to it first: one page may list the links
of many hosts.  Urls that the user typed cost nothing, nor do links inside a private host, which tell outsiders nothing.

The guard is a fold of the calls and observations, so a resumed run has the same one.  More urls become known, and a run
never becomes public again.  Not covered: where a visited site redirects to (the site knows only what it was sent), the
time of a visit, and third-party tools that take a host or a url in pieces, or send texts to people.
"""

from __future__ import annotations

import ipaddress
import math
import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from research import plugins
from research._util.said import say
from research.errors import ToolError
from research.parsing.calls import FINAL
from research.text import clip
from research.types import Observation, ToolCall

LIBRARY = "library://"
"""Scheme of the library's documents."""
MEMORY = "memory://"
"""Scheme of the user's notes, followed by the id of the entry."""
PUBLIC_LIBRARY = "library://factbook/"
"""Prefix of the public documents; all other documents of the library are the user's own."""

_URL = re.compile(r"https?://[^\s<>\"]+", re.I)
_URL_LIKE = re.compile(r"(?:https?:|[a-z][a-z\d+.-]{0,40}:[/\\]{2})\S+", re.I)
"""Text that a tool may treat as a url: many accept `http:/host` and backslashes."""
_WHOLE_ADDRESS = re.compile(
    r"(?:https?:|[a-z][a-z\d+.-]*://|//|(?:[^\s/@]*@)?(?:(?:[\w-]+\.)+[a-z]{2,}|\d+(?:\.\d+){3})(?::\d+|[/?#])).*",
    re.I | re.S,
)
"""A text that is only an address; a tool may add the scheme."""
_IGNORED = re.compile(r"[\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Characters that browsers remove from a url."""
_CLOSING = re.compile(r"[\"'<>)\]}.,;:!?]{1,3}\Z")
_BARE = re.compile(r"(?<![\w@/.-])(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+[a-z]{2,}(?::\d+)?(?:/[^\s<>\"]*)?", re.I)
"""A url without its scheme, as people often type it."""
_PARTS = re.compile(r"(https?)://([^/?#]*)([^#]*)(?:#.*)?", re.I | re.S)
_COPY = re.compile(r"https?://[^/]{1,200}/web/\d{14}(?:id_)?/(https?://.{1,2000})", re.S)
"""The address of a copy in the Wayback Machine."""
_END = re.compile(r"[^\x21-\x7e]|[)\]|'`]")
"""Characters at which a url in a text may end without white space."""
_TRAILING = ".,;:!?'*_~)]}|`…"
_MOST_TRAILING = 20
_LONGEST = 8_000
"""Characters of a url; no server accepts a longer one."""
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


BITS = 40.0
"""Bits that the choice of links may tell a site after private data was seen, before asking the user."""
_FREE = ""
"""In place of a site: urls typed by the user, and links inside a private host."""


class PrivateError(ToolError):
    """A tool failed, and the error message may contain private data."""


def is_private(observation: Observation) -> bool:
    """Return whether the observation contains data from the user's own files, memory or MCP servers."""
    return observation.private or any(is_users_own(source.url) for source in observation.sources)


def is_users_own(url: str) -> bool:
    """Return whether a url is of a document in the user's own folders or of one of their notes."""
    return url.startswith(MEMORY) or (url.startswith(LIBRARY) and not url.startswith(PUBLIC_LIBRARY))


class UrlGuard:
    """Decides which tool calls of a run may contact which urls.  All agents of a run share one; safe for threads."""

    def __init__(self, history: Iterable[Observation | ToolCall] = ()) -> None:
        """`history`: the calls and observations recorded so far in order, when a run is resumed."""
        self._lock = threading.RLock()
        self._known: dict[str, str] = {}
        """Each known url, verbatim and normalized, with the site charged for it."""
        self._choices: dict[str, set[str]] = {}
        """By site, the known urls charged to it, normalized."""
        self._spent: dict[str, float] = {}
        self._granted: dict[str, float] = {}
        self._denied: set[str] = set()
        self._calls: dict[str, str] = {}
        """The url of each call that reads a page, by the call's id."""
        self._read: set[str] = set()
        """Pages that were read: the tool keeps them, so rereading contacts no site."""
        self._private = False
        for each in history:
            if isinstance(each, ToolCall):
                self._charge(each)
            else:
                self.observe(each)
        self._read.clear()

    @property
    def private(self) -> bool:
        """Whether private data is in the context of the run."""
        return self._private

    def allow_from_user(self, text: str) -> None:
        """Allow the urls in the user's question or reply, also those typed without a scheme."""
        with self._lock:
            self._learn(urls_in(text), _FREE)
            for bare in _BARE.findall(text):
                self._learn(urls_in(f"http://{bare} https://{bare}"), _FREE)

    def observe(self, observation: Observation) -> None:
        """Record the result of a call by any agent: whether it is private, and which urls it makes known."""
        with self._lock:
            if is_private(observation):
                self._private = True
            asked = self._calls.get(observation.call_id, "")
            reads = plugins.tool.traits(observation.name).reads
            if reads and observation.ok:
                self._read.add(asked)
            led_by = self._known.get(asked, _FREE)
            for source, text in _texts_from(observation):
                if reads and observation.private:
                    self._learn({url for url in urls_in(text) if _host(url) == _host(source)}, _FREE)
                else:
                    self._learn(urls_in(text), led_by or site_of(source))

    def check(self, call: ToolCall) -> None:
        """Raise `ToolError` when the run has seen private data and the call would visit a url that the model wrote.

        Also if its choice of a known url would tell a site too much.
        """
        with self._lock:
            if not self._private:
                self._note(call)
                return
            for url in _urls_in_call(call):
                if not self._is_allowed(call.name, url):
                    raise ToolError(
                        say(
                            "{url!r} was not opened: this run has seen private data, and from then on only urls may be "
                            "visited that the user typed or that a search result or page gave, exactly as given. "
                            "Search for the page, take a url from what you have seen, or answer without it.",
                            url=clip(url, 300),
                        )
                    )
            if site := self._over(call, dict(self._spent)):
                raise ToolError(
                    say(
                        "{value!r} was not opened: this run has seen private data, and has opened so many pages that {site} "
                        "led to that one more could tell that site about the data. "
                        "Use other sources, or answer without it.",
                        value=clip(str(call.arguments.get("url", call.name)), 300),
                        site=site,
                    )
                )
            self._charge(call)

    def lacking(self, calls: Sequence[ToolCall]) -> ToolCall | None:
        """Return the first of these calls that needs the user's consent, if they are made in this order."""
        with self._lock:
            spent = dict(self._spent)
            for call in calls:
                site = self._over(call, spent)
                if site and site not in self._denied:
                    return call
        return None

    def site(self, call: ToolCall) -> str:
        """Return the site charged for the call; empty if it costs nothing."""
        with self._lock:
            return next(iter(self._costs(call)), "")

    def answer(self, site: str, *, more: bool) -> None:
        """Record what the user said when asked: `more` grants the site the same again, else nothing."""
        with self._lock:
            if more:
                self._granted[site] = self._granted.get(site, 0.0) + BITS
            else:
                self._denied.add(site)

    def _learn(self, urls: Iterable[str], site: str) -> None:
        for url in urls:
            if url not in self._known:
                self._known[url] = site
                self._choices.setdefault(site, set()).add(normalized(url))

    def _costs(self, call: ToolCall) -> dict[str, float]:
        """Return the bits that the call may tell each site."""
        costs: dict[str, float] = {}
        reads = plugins.tool.traits(call.name).reads
        for url in _urls_in_call(call):
            if reads and normalized(url) in self._read:
                continue
            for written in (
                normalized(url),
                url,
                *(f"{scheme}://{url.removeprefix('//')}" for scheme in _DEFAULT_PORT),
            ):
                site = self._known.get(written)
                if site is None:
                    continue
                if site != _FREE:
                    # Another program's tool sends what ours normalizes, such as a fragment.
                    choices = len(self._choices[site]) * (1 if reads else 2)
                    costs[site] = costs.get(site, 0.0) + math.log2(choices + 1)
                break
        return costs

    def _over(self, call: ToolCall, spent: dict[str, float]) -> str:
        """Return the site whose budget the call exceeds; otherwise add its costs to `spent`."""
        costs = self._costs(call) if self._private else {}
        for site, bits in costs.items():
            if spent.get(site, 0.0) + bits > BITS + self._granted.get(site, 0.0):
                return site
        for site, bits in costs.items():
            spent[site] = spent.get(site, 0.0) + bits
        return ""

    def _charge(self, call: ToolCall) -> None:
        """Count a call that is made."""
        for site, bits in (self._costs(call) if self._private else {}).items():
            self._spent[site] = self._spent.get(site, 0.0) + bits
        self._note(call)

    def _note(self, call: ToolCall) -> None:
        url = call.arguments.get("url")
        if plugins.tool.traits(call.name).reads and isinstance(url, str):
            self._calls[call.id] = normalized(url)

    def _is_allowed(self, tool: str, url: str) -> bool:
        """Return whether the tool may visit the url.

        A tool that reads declares that it sends the normalized url. Others may send anything, such as the fragment or
        letter case, so their urls must be known exactly.
        """
        if plugins.tool.traits(tool).reads:
            return url.startswith(LIBRARY) or normalized(url) in self._known
        bare = url.removeprefix("//")
        return any(each in self._known for each in (url, f"http://{bare}", f"https://{bare}"))


def site_of(url: str) -> str:
    """Return the domain that a url's host belongs to, since one owner can make any number of hosts below.

    Two labels, or three as in `example.co.uk`; owners who share such a domain share its budget.
    """
    host = re.sub(r":\d*$", "", _host(url))
    try:
        return str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        labels = host.rstrip(".").split(".")
        return ".".join(labels[-3 if len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3 else -2 :])


def _host(url: str) -> str:
    """Return the host of a normalized or other url, with its port."""
    parts = _PARTS.fullmatch(normalized(url))
    return parts[2] if parts else url


def _texts_from(observation: Observation) -> Iterator[tuple[str, str]]:
    """Yield each text in an observation that the model cannot have written, with the url of its page.

    These are the sources of a successful call, and the links of a page that was read.  Everything else may repeat the
    model's own words: error messages, printed output and answers of sub-agents.
    """
    if not observation.ok:
        return
    tool = plugins.tool.traits(observation.name)
    pages = [source for source in observation.sources if not is_users_own(source.url)]
    if not observation.private or tool.recalls or tool.reads or tool.searches:
        for source in pages:
            # A recalled url was once a source; title and quote may come from a private run.
            yield source.url, source.url if tool.recalls else f"{source.url}\n{source.title}\n{source.quote}"
    if tool.reads:
        for source in pages[:1]:
            yield source.url, observation.text


def _urls_in_call(call: ToolCall) -> Iterator[str]:
    """Yield the argument `url` unchanged, and everything in other arguments that the tool could treat as a url."""
    tool = plugins.tool.traits(call.name)
    if call.name == FINAL or tool.calculates or tool.searches or tool.recalls:  # these take a url for ordinary words
        return
    for name, value in call.arguments.items():
        if name == "url" and isinstance(value, str):
            yield value
            continue
        for text in _strings(value):
            loose = _IGNORED.sub("", unicodedata.normalize("NFKC", text)).replace("\\", "/").strip()
            if _WHOLE_ADDRESS.fullmatch(loose):
                yield text
                continue
            for reading in {text, loose}:
                # Without the punctuation, quotes or brackets that end a url in a sentence.
                yield from (_CLOSING.sub("", url) for url in _URL_LIKE.findall(reading))


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, inner in value.items():
                yield from (str(key), *_strings(inner))
        case list():
            for inner in value:
                yield from _strings(inner)


def urls_in(text: str) -> set[str]:
    """Return the http(s) urls in a text, verbatim and normalized, with every plausible end of each.

    In prose, a full stop or bracket may follow a url, and Chinese text continues without a space.  The url with and
    without these characters is included, because both come from the text alone.
    """
    found = set()
    for url in _URL.findall(text):
        if len(url) > _LONGEST:
            continue
        ends = [url, *(url[: match.start()] for match in islice(_END.finditer(url), 20))]
        for end in ends:
            found |= {end, normalized(end)}
            shortest = max(len(end.rstrip(_TRAILING)), len(end) - _MOST_TRAILING)
            for size in range(shortest, len(end)):
                found |= {end[:size], normalized(end[:size])}
    return found


def original(url: str) -> str:
    """Return the original address of a Wayback Machine copy; other addresses unchanged."""
    found = _COPY.fullmatch(url)
    return found[1] if found else url


def normalized(url: str) -> str:
    """Return the url with scheme and host in lower case, without default port and fragment; other text unchanged."""
    parts = _PARTS.fullmatch(url)
    if parts is None:
        return url
    scheme, host, rest = parts[1].lower(), parts[2], parts[3]
    host = (host.lower() if host.isascii() else host).removesuffix(_DEFAULT_PORT[scheme])
    return f"{scheme}://{host}{rest if rest.startswith('/') else '/' + rest}"
