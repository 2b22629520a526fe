"""Continue a run from its events: what was answered once is not asked again.

The generator of a resumed run starts from the top; each `ask` and each tool call first looks here.  Both are named by
position (agent and count), which is the same every time because a framework is a function of its replies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from research.events import (
    Base,
    ChildFinished,
    ChildStarted,
    Concluding,
    Event,
    Replied,
    ReportUpdated,
    RunStarted,
    ToolFinished,
    ToolStarted,
    UserReplied,
    WaitingForUser,
    Warned,
)
from research.types import Observation, Source

_MARKS = (Warned, ReportUpdated, Concluding, ChildStarted, ChildFinished, RunStarted, WaitingForUser)


class Journal:
    """The part of a run that is already on record."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.next_seq = 0
        self._replies: dict[tuple[str, int], Replied] = {}
        self._observations: dict[str, Observation] = {}
        self._started: set[str] = set()
        self._user: dict[str, list[str]] = {}
        self._marks: Counter[tuple[str, str]] = Counter()
        for event in events:
            self.next_seq = event.seq + 1
            match event:
                case Replied():
                    self._replies[event.agent, event.ask] = event
                case ToolStarted():
                    self._started.add(event.call.id)
                case UserReplied():
                    self._user.setdefault(event.agent, []).append(event.text)
                case ToolFinished():
                    self._observations[event.observation.call_id] = event.observation
                case _:
                    if isinstance(event, _MARKS):
                        self._marks[event.agent, type(event).__name__] += 1

    def reply(self, agent: str, ask: int) -> Replied | None:
        """The recorded reply to this agent's n-th request."""
        return self._replies.get((agent, ask))

    @property
    def replied(self) -> list[Replied]:
        """All recorded replies, in their order."""
        return list(self._replies.values())

    def observation(self, call_id: str) -> Observation | None:
        return self._observations.get(call_id)

    @property
    def observations(self) -> list[Observation]:
        """All observations on record, in their order."""
        return list(self._observations.values())

    def started(self, call_id: str) -> bool:
        """Whether the call was announced; it may have been cut off before its result."""
        return call_id in self._started

    def user_reply(self, agent: str) -> str | None:
        """The user's next reply to this agent; each is given once, in order."""
        replies = self._user.get(agent)
        return replies.pop(0) if replies else None

    def recalls(self, mark: Base) -> bool:
        """Whether this mark is on record; each record answers once, in order."""
        key = (mark.agent, type(mark).__name__)
        if self._marks[key] == 0:
            return False
        self._marks[key] -= 1
        return True

    @property
    def sources(self) -> list[Source]:
        """All sources on record, to number new ones after them."""
        return [source for seen in self._observations.values() for source in seen.sources]
