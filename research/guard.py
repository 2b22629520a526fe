"""What a page may make a model send out, once there is something to send.

A page can tell a model to put what it knows into a url and visit it.  As long as a run has seen public text only, that
gives nothing away.  Once private data is in its context (memory, files of the user, servers of the user), only urls
that somebody else wrote may be visited: the user, or a search or page, verbatim.  A url that the model assembles is
refused, whatever it holds, because what it holds may be encoded in any way.

The guard is a fold of what was observed, so a resumed run has the same one.  It grows only: more urls become known,
and public never comes back.  What it cannot see: where a visited site redirects to (the site knows only what it was
sent), which of many known links a model chooses (a few bits for each visit), and tools of others that take a host or
an address in pieces, or send a text to somebody.
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

INWARD = frozenset({"search", "scholar", "python", "recall", "final_answer"})
"""Tools whose arguments name no place to go to: services that the user configured, and this machine."""

LIBRARY = "library://"
MEMORY = "memory://"
"""What the user noted, by the id of its entry."""
PUBLIC_LIBRARY = "library://factbook/"
"""All other documents of the library are the user's own."""

SEARCHES = frozenset({"search", "scholar"})
"""Their results come from many places: beside a file of the user's there may be public pages."""

_URL = re.compile(r"https?://[^\s<>\"]+", re.I)
_ANY = re.compile(r"(?:https?:|[a-z][a-z\d+.-]*:[/\\]{2})\S+", re.I)
"""What a tool may take for a url in a text: `http:/host` and backslashes do for many."""
_WHOLE = re.compile(
    r"(?:https?:|[a-z][a-z\d+.-]*://|//|(?:[^\s/@]*@)?(?:(?:[\w-]+\.)+[a-z]{2,}|\d+(?:\.\d+){3})(?::\d+|[/?#])).*",
    re.I | re.S,
)
"""A text that is nothing but an address, which a tool may put a scheme before."""
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""What browsers leave out of a url."""
_CLOSING = re.compile(r"[\"'<>)\]}.,;:!?]{1,3}\Z")
_BARE = re.compile(r"(?<![\w@/.-])(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+[a-z]{2,}(?::\d+)?(?:/[^\s<>\"]*)?", re.I)
"""A url without its scheme, as people type it."""
_PARTS = re.compile(r"(https?)://([^/?#]*)([^#]*)(?:#.*)?", re.I | re.S)
_END = re.compile(r"[^\x21-\x7e]|[)\]|'`]")
"""Where a url may end that stands in a text without white space after it."""
_TRAILING = ".,;:!?'*_~)]}|`…"
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


class PrivateError(ToolError):
    """A failure whose words may hold private data."""


def is_private(observation: Observation) -> bool:
    """Whether the model saw something there that only the user's own files, memory or servers know."""
    return observation.private or any(own(source.url) for source in observation.sources)


def own(url: str) -> bool:
    """Whether a url names a document of the user's own folders, or a note of theirs."""
    return url.startswith(MEMORY) or (url.startswith(LIBRARY) and not url.startswith(PUBLIC_LIBRARY))


class Guard:
    """Decides which calls may leave the machine.  Shared by the agents of a run; safe for threads."""

    def __init__(self, observations: Iterable[Observation] = ()) -> None:
        """`observations`: all that are on record, when a run goes on."""
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._private = False
        for observation in observations:
            self.saw(observation)

    @property
    def private(self) -> bool:
        """Whether private data is in the context of the run."""
        return self._private

    def heard(self, words: str) -> None:
        """What the user wrote: the question, or a reply.  Its urls may be visited."""
        with self._lock:
            self._known |= addresses(words)
            for bare in _BARE.findall(words):
                self._known |= addresses(f"http://{bare} https://{bare}")

    def saw(self, observation: Observation) -> None:
        """What came back from a call, by whichever agent."""
        with self._lock:
            if is_private(observation):
                self._private = True
            self._known.update(_learned(observation))

    def check(self, call: ToolCall) -> None:
        """Raise `ToolError` when the call would visit a url that nobody but the model wrote."""
        with self._lock:
            if not self._private or call.name in INWARD:
                return
            for url in _named(call):
                if not self._may(call.name, url):
                    raise ToolError(
                        f"{clip(url, 300)!r} was not opened: this run has seen private data, and from then on only urls may be "
                        "visited that the user typed or that a search result or page gave, exactly as given. "
                        "Search for the page, take a url from what you have seen, or answer without it."
                    )

    def _may(self, tool: str, url: str) -> bool:
        """`visit` sends a url as it is normal.  Of what other tools do with one nothing is known: a fragment may be read
        by the page, and each letter's case may be sent."""
        if tool == "visit":
            return url.startswith(LIBRARY) or normal(url) in self._known
        bare = url.removeprefix("//")
        return not self._known.isdisjoint((url, f"http://{bare}", f"https://{bare}"))


def _learned(observation: Observation) -> Iterator[str]:
    """The urls that others wrote there.

    Of a failed call nothing, and of a successful one only its sources and what `visit` says of a page's links: error
    texts, printed output and answers of sub-agents repeat the model's own words.
    """
    if not observation.ok:
        return
    recalled = observation.name == "recall"
    if not observation.private or recalled or observation.name in SEARCHES:
        for source in observation.sources:
            if not own(source.url):
                # What is remembered comes from runs of any kind: each address was once a source, its words may be private.
                yield from addresses(source.url if recalled else f"{source.url}\n{source.title}\n{source.quote}")
    if observation.name == "visit" and not is_private(observation):
        yield from addresses(observation.text)


def _named(call: ToolCall) -> Iterator[str]:
    """The addresses in a call: a `url` as it is, whatever it is, and what can be read as one in any other argument."""
    for name, value in call.arguments.items():
        if name == "url" and isinstance(value, str):
            yield value
            continue
        for text in _strings(value):
            loose = _UNSEEN.sub("", unicodedata.normalize("NFKC", text)).replace("\\", "/").strip()
            if _WHOLE.fullmatch(loose):
                yield text
                continue
            for reading in {text, loose}:
                # As it stands in a sentence, or in quotes or brackets.
                yield from (_CLOSING.sub("", url) for url in _ANY.findall(reading))


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


def addresses(text: str) -> set[str]:
    """The http(s) urls in a text, as they are and normal, with every reading of where one ends.

    In prose a full stop or bracket after a url is not part of it, and Chinese goes on without a space: the url with
    and without what follows is taken, for either comes from the text alone.
    """
    found = set()
    for url in _URL.findall(text):
        ends = [url, *(url[: match.start()] for match in islice(_END.finditer(url), 20))]
        for end in ends:
            found |= {end, normal(end)}
            while end and end[-1] in _TRAILING:
                end = end[:-1]
                found |= {end, normal(end)}
    return found


def normal(url: str) -> str:
    """The url with scheme and host in lower case, without default port and fragment; anything else as it is."""
    parts = _PARTS.fullmatch(url)
    if parts is None:
        return url
    scheme, host, rest = parts[1].lower(), parts[2], parts[3]
    host = (host.lower() if host.isascii() else host).removesuffix(_DEFAULT_PORT[scheme])
    return f"{scheme}://{host}{rest if rest.startswith('/') else '/' + rest}"
