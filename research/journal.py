"""Continue a run from its events: what was answered once is not asked again.

The generator of a resumed run starts from the top; each `ask` and each tool call first looks here.  Both are named by
position (agent and count), which is the same every time because a framework is a function of its replies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from research.events import (
    Asked,
    Base,
    ChildFinished,
    ChildStarted,
    Concluding,
    Earlier,
    Event,
    Recalled,
    Rejected,
    Remembered,
    Replied,
    ReportUpdated,
    Resumed,
    RunStarted,
    ToolFinished,
    ToolStarted,
    UserReplied,
    WaitingForUser,
    Warned,
)
from research.inherited import interactions
from research.transcript import Interaction
from research.types import Observation, Source, Usage
from research.view import Worktime

_MARKS = (Warned, ReportUpdated, Concluding, ChildStarted, ChildFinished, RunStarted, WaitingForUser, Remembered)


class Journal:
    """The part of a run that is already on record."""

    def __init__(self, events: Iterable[Event] = (), earlier: Earlier | None = None) -> None:
        self.next_seq = 0
        self.earlier = earlier
        """What a follow-up goes on from."""
        self.adopted: tuple[Interaction, ...] = ()
        """Rounds of the main agent that were made under another recipe."""
        self.recalled: Observation | None = None
        """What the memory gave before the first round."""
        self.report = ""
        """The evolving report after them."""
        self.asks = 0
        """Requests of the main agent among them: its own are numbered on, and so are its calls."""
        self.spent: list[Usage] = []
        """Usage on record that no recalled reply accounts for: of refused replies, and of adopted rounds."""
        self._time = Worktime()
        self._replies: dict[tuple[str, int], Replied] = {}
        self._observations: dict[str, Observation] = {}
        self._started: set[str] = set()
        self._user: dict[str, list[str]] = {}
        self._marks: Counter[tuple[str, str]] = Counter()
        told: list[Event] = []
        for event in events:
            self.next_seq = event.seq + 1
            self._time.apply(event)
            told.append(event)
            match event:
                case Replied():
                    self._replies[event.agent, event.ask] = event
                case Rejected():
                    self.spent.append(event.usage)
                case ToolStarted():
                    self._started.add(event.call.id)
                case UserReplied():
                    self._user.setdefault(event.agent, []).append(event.text)
                case ToolFinished():
                    self._observations[event.observation.call_id] = event.observation
                case Recalled():
                    self.recalled = event.observation
                case Resumed(adopts=True):
                    self._adopt(told)
                case _:
                    if isinstance(event, RunStarted):
                        self.earlier = event.earlier
                    if isinstance(event, _MARKS):
                        self._marks[event.agent, type(event).__name__] += 1

    def _adopt(self, told: list[Event]) -> None:
        """What was done up to here is history; only what was seen, and what it cost, is still needed one by one."""
        self.adopted = interactions(told)
        self.report = next((e.report for e in reversed(told) if isinstance(e, ReportUpdated) and e.agent == "main"), "")
        self.asks = max((e.ask for e in told if isinstance(e, Asked) and e.agent == "main"), default=0)
        self.spent += [each.usage for each in self._replies.values()]
        self._replies.clear()
        self._user.clear()
        self._marks = Counter({("main", RunStarted.__name__): 1})

    @property
    def seconds(self) -> float:
        """Time that was worked, without rests."""
        return self._time.seconds

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
        """All observations on record, in their order; first what a follow-up was given."""
        # Under a name that no search has: of private findings no address is taken to be known.
        seen = [*([self.recalled] if self.recalled else []), *self._observations.values()]
        if self.earlier is None:
            return seen
        return [Observation("", "earlier", "", sources=self.earlier.sources, private=self.earlier.private), *seen]

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
        return [source for seen in self.observations for source in seen.sources]
