"""Prevent a model from leaking private data through urls.

A page can instruct a model to put what it knows into a url and visit it.  As long as a run has seen only public text,
that leaks nothing.  Once private data is in its context (memory, files or MCP servers of the user), only urls that the
model did not write may be visited: those typed by the user or found in a search result or page, verbatim.  A url that
the model composes is refused whatever it contains, because it can encode the data in any way.

The guard is a fold of the observations, so a resumed run has the same one.  It only grows: more urls become known, and
a run never becomes public again.  Not covered: where a visited site redirects to (the site knows only what it was
sent), which of many known links a model chooses (a few bits per visit), and third-party tools that take a host or a url
in pieces, or send texts to people.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from research.errors import ToolError
from research.text import clip
from research.types import Observation, ToolCall

TOOLS_WITHOUT_URLS = frozenset({"search", "scholar", "python", "recall", "final_answer"})
"""Tools that ignore urls in their arguments: they use only services that the user configured, or this machine."""

LIBRARY = "library://"
"""Scheme of the library's documents."""
MEMORY = "memory://"
"""Scheme of the user's notes, followed by the id of the entry."""
PUBLIC_LIBRARY = "library://factbook/"
"""Prefix of the public documents; all other documents of the library are the user's own."""

SEARCH_TOOLS = frozenset({"search", "scholar"})
"""Tools whose results mix several sources: the user's files may appear among public pages."""

_URL = re.compile(r"https?://[^\s<>\"]+", re.I)
_URL_LIKE = re.compile(r"(?:https?:|[a-z][a-z\d+.-]*:[/\\]{2})\S+", re.I)
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
_END = re.compile(r"[^\x21-\x7e]|[)\]|'`]")
"""Characters at which a url in a text may end when no white space follows it."""
_TRAILING = ".,;:!?'*_~)]}|`…"
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


class PrivateError(ToolError):
    """A tool failed, and the error message may contain private data."""


def is_private(observation: Observation) -> bool:
    """Return whether the observation contains data from the user's own files, memory or MCP servers."""
    return observation.private or any(is_users_own(source.url) for source in observation.sources)


def is_users_own(url: str) -> bool:
    """Return whether a url is that of a document in the user's own folders or of one of their notes."""
    return url.startswith(MEMORY) or (url.startswith(LIBRARY) and not url.startswith(PUBLIC_LIBRARY))


class UrlGuard:
    """Decides which tool calls of a run may contact which urls.  All agents of a run share one; safe for threads."""

    def __init__(self, observations: Iterable[Observation] = ()) -> None:
        """`observations`: those recorded so far, when a run is resumed."""
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._private = False
        for observation in observations:
            self.observe(observation)

    @property
    def private(self) -> bool:
        """Whether private data is in the context of the run."""
        return self._private

    def allow_from_user(self, text: str) -> None:
        """Allow the urls in the user's question or reply, also those typed without a scheme."""
        with self._lock:
            self._known |= urls_in(text)
            for bare in _BARE.findall(text):
                self._known |= urls_in(f"http://{bare} https://{bare}")

    def observe(self, observation: Observation) -> None:
        """Record the result of a call by any agent: whether it is private, and the urls that it makes known."""
        with self._lock:
            if is_private(observation):
                self._private = True
            self._known.update(_urls_from(observation))

    def check(self, call: ToolCall) -> None:
        """Raise `ToolError` when the run has seen private data and the call would visit a url that the model wrote."""
        with self._lock:
            if not self._private or call.name in TOOLS_WITHOUT_URLS:
                return
            for url in _urls_in_call(call):
                if not self._is_allowed(call.name, url):
                    raise ToolError(
                        f"{clip(url, 300)!r} was not opened: this run has seen private data, and from then on only urls may be "
                        "visited that the user typed or that a search result or page gave, exactly as given. "
                        "Search for the page, take a url from what you have seen, or answer without it."
                    )

    def _is_allowed(self, tool: str, url: str) -> bool:
        """Return whether the tool may visit the url.

        `visit` is known to send the normalized url.  Another tool may send anything, such as the fragment or the case of
        each letter, so its url must be known exactly.
        """
        if tool == "visit":
            return url.startswith(LIBRARY) or normalized(url) in self._known
        bare = url.removeprefix("//")
        return not self._known.isdisjoint((url, f"http://{bare}", f"https://{bare}"))


def _urls_from(observation: Observation) -> Iterator[str]:
    """Yield the urls in an observation that the model cannot have written.

    These are the sources of a successful call, and the page links that `visit` lists.  Everything else may repeat the
    model's own words: error messages, printed output and answers of sub-agents.
    """
    if not observation.ok:
        return
    recalled = observation.name == "recall"
    if not observation.private or recalled or observation.name in SEARCH_TOOLS:
        for source in observation.sources:
            if not is_users_own(source.url):
                # A recalled url was once a source; title and quote may come from a private run.
                yield from urls_in(source.url if recalled else f"{source.url}\n{source.title}\n{source.quote}")
    if observation.name == "visit" and not is_private(observation):
        yield from urls_in(observation.text)


def _urls_in_call(call: ToolCall) -> Iterator[str]:
    """Yield the argument `url` unchanged, and everything in the other arguments that a tool could treat as a url."""
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
        ends = [url, *(url[: match.start()] for match in islice(_END.finditer(url), 20))]
        for end in ends:
            found |= {end, normalized(end)}
            while end and end[-1] in _TRAILING:
                end = end[:-1]
                found |= {end, normalized(end)}
    return found


def normalized(url: str) -> str:
    """Return the url with scheme and host in lower case, without default port and fragment; other text unchanged."""
    parts = _PARTS.fullmatch(url)
    if parts is None:
        return url
    scheme, host, rest = parts[1].lower(), parts[2], parts[3]
    host = (host.lower() if host.isascii() else host).removesuffix(_DEFAULT_PORT[scheme])
    return f"{scheme}://{host}{rest if rest.startswith('/') else '/' + rest}"
