"""Let a separate model read visited pages: it names the passages that serve the goal, and code checks each.

The model is a sub-agent that is asked once for each page.  A page is foreign text that may contain instructions; whatever
the reader makes of them, only passages that are in the page word for word become sources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from research import prompts
from research._util import decoding
from research._util.decoding import unfenced
from research.agent.context import Steps
from research.agent.model_call import Terms
from research.agent.toolbox import Result
from research.errors import ConfigError, LimitReached, ProviderError, RunPaused
from research.search.embedders import Embedder
from research.search.relevance import reduce
from research.text import clip, estimate_tokens, one_line
from research.types import Message, Reply, ToolCall, ToolSpec

PURPOSE = "extract"
SHOWN = 3_800
"""Most characters of the passages together, as `visit` shows without a reader."""
MOST_TOKENS = 6_000
"""Most tokens of a page shown to the reader; for a longer page, the lines that fit the goal best."""
SUMMARY = 500
"""Most characters of the summary."""
GAP = "\n…\n"
"""Stands between passages."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"summary": {"type": "string"}, "quotes": {"type": "array", "items": {"type": "string"}}},
    "required": ["summary", "quotes"],
    "additionalProperties": False,
}
"""JSON schema of the reply (`Request.schema`)."""


class _Extract(Struct):
    summary: str = ""
    quotes: tuple[str, ...] = ()


class Reader(Protocol):
    """The sub-agent as seen by this module."""

    @property
    def language(self) -> str: ...

    @property
    def requests(self) -> int:
        """Number of the last request."""

    def take_request(self, number: int) -> None:
        """Count a recorded request and its cost without making it."""

    def room(self, purpose: str) -> int:
        """Largest prompt of the purpose's model, in tokens; 0: unknown."""

    def brief(self, prompt: str, **values: str) -> list[Message]: ...

    def ask(
        self, purpose: str, *, messages: Sequence[Message], tools: Sequence[ToolSpec], terms: Terms
    ) -> Steps[Reply]: ...


class PageReader:
    """The reader of one agent's pages."""

    def __init__(self, open_reader: Callable[[], Reader], embedder: Callable[[], Embedder] | None) -> None:
        """`open_reader` starts the sub-agent.  `embedder` helps choose the lines of a long page to show."""
        self._open = open_reader
        self._reader: Reader | None = None
        self._embedder = embedder

    @property
    def reader(self) -> Reader:
        self._reader = self._reader or self._open()
        return self._reader

    def read(self, call: ToolCall, result: Result) -> Steps[Result]:
        """Return the result with the passages that the reader chose, and the number of its request.

        A reader that fails changes nothing but a note.
        """
        goal = str(call.arguments.get("goal", ""))
        messages = self._messages(goal, result.document)
        try:
            reply = yield from self.reader.ask(PURPOSE, messages=messages, tools=(), terms=Terms(schema=SCHEMA))
        except (LimitReached, ProviderError) as error:
            return self._unread(result, error.limit if isinstance(error, LimitReached) else str(error))
        except RunPaused as pause:
            if pause.reason:  # the reader is unreachable; after a user's pause, the resumed run asks it again
                return self._unread(result, pause.reason)
            raise
        try:
            extract = decoding.decode(unfenced(reply.answer), _Extract)
        except msgspec.DecodeError as error:
            return self._unread(result, str(error))
        return self._extracted(result, extract)

    def _extracted(self, result: Result, extract: _Extract) -> Result:
        """Return the result with the passages that are in the page, and a note on the others."""
        page, language = one_line(result.document), self.reader.language
        wanted = list(dict.fromkeys(filter(None, map(one_line, extract.quotes))))
        quotes = [quote for quote in wanted if quote in page]
        notes = [result.text]
        if len(quotes) < len(wanted):
            notes.append(prompts.text("reader_dropped", language, n=str(len(wanted) - len(quotes))))
        if not quotes:
            return self._noted(result, [*notes, prompts.text("reader_nothing", language)])
        if summary := one_line(re.sub(r"https?://\S+", "…", extract.summary)):
            notes.append(prompts.text("reader_summary", language, summary=clip(summary, SUMMARY)))
        passage = replace(result.passages[0], quote=clip(GAP.join(quotes), SHOWN))
        return self._noted(replace(result, passages=(passage, *result.passages[1:])), notes)

    def _unread(self, result: Result, why: str) -> Result:
        note = prompts.text("reader_failed", self.reader.language, why=clip(one_line(why), 200))
        return self._noted(result, [result.text, note])

    def _noted(self, result: Result, notes: Sequence[str]) -> Result:
        return replace(result, text="\n".join(filter(None, notes)), read=self.reader.requests)

    def _messages(self, goal: str, page: str) -> list[Message]:
        window = self.reader.room(PURPOSE)
        room = min(MOST_TOKENS, window // 2 or MOST_TOKENS)
        if (size := estimate_tokens(page)) > room:
            page = self._reduced(page, goal, len(page) * room // size)
        return self.reader.brief(PURPOSE, goal=goal, page=page, fence=prompts.fence(page))

    def _reduced(self, page: str, goal: str, limit: int) -> str:
        try:
            return reduce(page, goal, limit, self._embedder() if self._embedder else None)
        except ConfigError:  # no encoder; `visit` has already said so
            return reduce(page, goal, limit)
