"""`recorded:RUN` behind the gateway: the answers of a recorded run, for the same requests, without any endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from research.errors import ConfigError, ProviderError
from research.events.events import Event, Forwarded, Returned
from research.models.tokens import common_prefix
from research.servers.gateway_requests import LISTS, Asking, Item
from research.servers.gateway_runs import Conversation, asking_of
from research.text import clip
from research.types import Usage

SHOWN = 3
"""Differences that an error lists."""


class Recorded(Struct):
    """A recorded request and its answer."""

    agent: str
    ask: int
    asking: Asking
    returned: Returned
    played: int = 0


class RecordedUpstream:
    """Plays the answers of one recorded run."""

    def __init__(self, run_id: str, events: Sequence[Event]) -> None:
        """Raises `ConfigError` for a run that the gateway did not record."""
        self.name, self.host = "recorded", ""
        self.run_id = run_id
        self._calls = list(_recorded(events))
        if not self._calls:
            raise ConfigError(
                f"recorded:{run_id}: this run has no replies recorded by the gateway; name a run that has"
            )

    def price(self, model: str, usage: Usage) -> float | None:
        return 0.0

    def answer(self, asking: Asking) -> Returned:
        """Return the recorded answer to this request.  Raises `ProviderError` that says what differs.

        A repeated request gets its recorded answers in turn.
        """
        same = [each for each in self._calls if each.asking.api == asking.api and _equal(each.asking, asking)]
        if same:
            chosen = min(same, key=lambda each: each.played)
            chosen.played += 1
            return chosen.returned
        raise ProviderError(self._difference(asking))

    def _difference(self, asking: Asking) -> str:
        expected = max(self._calls, key=lambda each: (common_prefix(each.asking.items, asking.items), not each.played))
        start = f"recorded:{self.run_id} has no answer to this request"
        if expected.asking.api != asking.api:
            return f"{start}: it asks for {asking.api}, the recorded one for {expected.asking.api}"
        found = list(differences(_body(expected.asking), _body(asking)))
        more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        listed = "; ".join(found[:SHOWN])
        return f"{start}. It differs from request {expected.ask} of {expected.agent}: {listed}{more}"


def _recorded(events: Sequence[Event]) -> Iterator[Recorded]:
    conversations: dict[str, Conversation] = {}
    sent: dict[tuple[str, int], Asking] = {}
    for event in events:
        if isinstance(event, Forwarded):
            conversation = conversations.setdefault(event.agent, Conversation(event.agent))
            asking = asking_of(event, conversation)
            conversation.head, conversation.items = asking.head, asking.items
            sent[event.agent, event.ask] = asking
        elif isinstance(event, Returned) and event.status < 400:
            yield Recorded(event.agent, event.ask, sent[event.agent, event.ask], event)


def _body(asking: Asking) -> Item:
    name = LISTS[asking.api]
    return asking.head if name in asking.head else {**asking.head, name: asking.items}


def _equal(recorded: Asking, asking: Asking) -> bool:
    """Return whether two requests are equal, ignoring white space; the model may be named `recorded:RUN`."""
    if recorded.sha256 == asking.sha256:
        return True
    return next(differences(_body(recorded), _body(asking)), None) is None


def differences(recorded: Any, sent: Any, path: str = "") -> Iterator[str]:
    """Yield where two bodies differ, each with what was recorded and what was sent."""
    if recorded == sent or (path == "model" and _same_model(str(recorded), str(sent))):
        return
    if isinstance(recorded, dict) and isinstance(sent, dict):
        for name in dict.fromkeys([*recorded, *sent]):
            place = f"{path}.{name}" if path else str(name)
            if name not in sent:
                yield f"{place} is missing; recorded was {_shown(recorded[name])}"
            elif name not in recorded:
                yield f"{place} is new: {_shown(sent[name])}"
            else:
                yield from differences(recorded[name], sent[name], place)
    elif isinstance(recorded, list) and isinstance(sent, list):
        for n, (before, after) in enumerate(zip(recorded, sent, strict=False)):
            yield from differences(before, after, f"{path}[{n}]")
        if len(recorded) != len(sent):
            yield f"{path} has {len(sent)} entries; recorded were {len(recorded)}"
    else:
        yield f"{path}: recorded {_shown(recorded)}, sent {_shown(sent)}"


def _same_model(recorded: str, sent: str) -> bool:
    """Return whether the model is the recorded one; its name may begin with an endpoint, or be `recorded:RUN`."""
    return sent.startswith("recorded:") or sent.endswith(f":{recorded}")


def _shown(value: Any) -> str:
    return clip(msgspec.json.encode(value).decode(), 160)
