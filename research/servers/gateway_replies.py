"""Read the answers of an endpoint while they pass: their events, where a stream ends, and the reply in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from research._util import decoding
from research.models import anthropic_reply, chat_reply, responses
from research.models.lines import LONGEST, too_long
from research.servers.gateway_requests import Api
from research.types import Completion, Delta

_END: Final = re.compile(rb"\r?\n\r?\n")
_LAST: Final = ("response.completed", "response.incomplete", "response.failed", "message_stop", "error")
"""Types of the events that end a stream; chat completions end with `[DONE]`."""


class EventStream:
    """Finds the events in the pieces of a stream, and where each begins."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._at = 0
        """Where the kept bytes begin in the stream."""

    def take(self, piece: bytes) -> Iterator[tuple[str, int]]:
        """Yield the data of each event that is now complete, with the place where it begins."""
        searched = max(0, len(self._kept) - 3)  # an event's end may have begun before
        self._kept += piece
        if len(self._kept) > LONGEST:
            raise too_long("the endpoint")
        start = 0
        for end in list(_END.finditer(self._kept, searched)):
            lines = self._kept[start : end.start()].decode("utf-8", "replace").splitlines()
            data = "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))
            if data:
                yield data, self._at + start
            start = end.end()
        del self._kept[:start]
        self._at += start


class Reader:
    """Collects the reply in an answer."""

    def __init__(self, api: Api, host: str) -> None:
        self._api = api
        self.problem = ""
        """Why the answer could not be read; it is passed on anyway."""
        self.response_id = ""
        """The id by which a later request may continue this response."""
        self._chat = chat_reply.Reply(host)
        self._messages = anthropic_reply.Reply()
        self._responses = responses.Reply(host)
        self.over = False
        """Whether the last event of a stream has arrived."""

    def event(self, data: str) -> tuple[list[Delta], bool]:
        """Take an event's data; return what it adds to the reply, and whether the end of the stream begins here."""
        if data == "[DONE]":
            self.over = True
            return [], True
        try:
            return self._event(data)
        except (ValueError, RecursionError) as error:
            self.problem = self.problem or f"an event cannot be read: {error}"
            return [], False

    def _event(self, data: str) -> tuple[list[Delta], bool]:
        if self._api == "chat":
            chunk = decoding.decode(data, chat_reply.Chunk)
            # An agent may stop reading at the finish reason.
            return list(self._chat.take(chunk)), bool(self._chat.finish_reason) or bool(chunk.error)
        if self._api == "messages":
            event = decoding.decode(data, anthropic_reply.Event)
            self.over = event.type in _LAST
            return list(self._messages.take(event)), self.over or event.type == "message_delta"
        item = decoding.decode(data, responses.Event)
        if item.type in _LAST or item.type == "response.created":
            self._note_id(msgspec.json.decode(data).get("response"))
        self.over = item.type in _LAST
        return list(self._responses.take(item)), self.over

    def whole(self, body: bytes) -> None:
        """Take an answer that is not streamed."""
        try:
            if self._api == "chat":
                list(self._chat.take(decoding.decode(body, chat_reply.Chunk)))
            elif self._api == "messages":
                list(self._messages.take(decoding.decode(body, anthropic_reply.Event)))
            else:
                self._note_id(msgspec.json.decode(body))
                list(self._responses.take_whole(decoding.decode(body, responses.Whole)))
        except (ValueError, RecursionError) as error:
            self.problem = self.problem or f"the answer cannot be read: {error}"

    def _note_id(self, response: object) -> None:
        if isinstance(response, dict):
            self.response_id = str(response.get("id") or self.response_id)

    def completion(self, position: int) -> Completion:
        """Return the readable part of the reply; `position` is the number of messages before it."""
        if self._api == "chat":
            return self._chat.completion(position)
        if self._api == "messages":
            return self._messages.completion(position)
        if self._responses.ended is None:
            return Completion(finish_reason="")
        return self._responses.completion(position)
