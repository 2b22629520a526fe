"""`Journal`: continues a run from its events, so that no recorded request or tool call is made again.

The generator of a resumed run starts from the top; each `ask` and each tool call looks here first.  Both are identified
by agent and count, which are the same every time because a framework's behaviour depends only on the replies it gets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from research.agent.inherited import interactions, translated
from research.events.audit_findings import Given
from research.events.events import (
    Asked,
    Audited,
    Base,
    ChildFinished,
    ChildStarted,
    Concluding,
    Earlier,
    Event,
    PlanApproved,
    PlanItem,
    PlanProposed,
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
from research.events.rounds import Worktime
from research.events.transcript import Interaction, Transcript
from research.types import Message, Observation, Source, ToolCall, Usage

JUDGE = "judge-"
"""Begins the names of the sub-agents that judge citations; a number follows."""
_MARKS = (Warned, Audited, ReportUpdated, Concluding, ChildStarted, ChildFinished, RunStarted, Remembered)


class Exchange(Struct, frozen=True):
    """A question of an agent to the user, and the reply."""

    agent: str
    question: str
    reply: str
    asks: Mapping[str, int]
    """Each agent's last answered request at that time; its later requests are told of the exchange."""


class Journal:
    """The part of a run that is already recorded."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.next_seq = 0
        self.earlier: Earlier | None = None
        """What a follow-up starts with."""
        self.given: Given | None = None
        """The report being audited."""
        self.adopted: tuple[Interaction, ...] = ()
        """Rounds of the main agent that were made under another recipe."""
        self.recalled: Observation | None = None
        """What the memory returned before the first round."""
        self.proposed: tuple[PlanItem, ...] = ()
        """The plan that the user was shown."""
        self.plan: tuple[PlanItem, ...] = ()
        """The plan that the user approved."""
        self.plan_adopted = False
        """Whether the adopted rounds include its approval, so that it is not requested again."""
        self.report = ""
        """The evolving report after the adopted rounds."""
        self.reclaimed = False
        """Whether the run continues because its process died, not because a user resumed it."""
        self.asks = 0
        """Requests of the main agent in the adopted rounds; the run continues their numbering."""
        self.cut = False
        """Whether the server of a model has cut a prompt."""
        self.spent: list[Usage] = []
        """Usage of rejected replies and of adopted rounds, which no recorded reply accounts for."""
        self._time = Worktime()
        self._replies: dict[tuple[str, int], Replied] = {}
        self._observations: dict[str, Observation] = {}
        self._started: set[str] = set()
        self._history: list[Observation | ToolCall] = []
        self.exchanges: list[Exchange] = []
        """What the agents asked about the question, with the user's replies."""
        self._asked_user: dict[str, list[WaitingForUser]] = {}
        self._user: dict[str, list[str]] = {}
        self._answered: dict[str, int] = {}
        self._marks: Counter[tuple[str, str]] = Counter()
        self._to_judge: dict[tuple[str, int], tuple[Message, ...]] = {}
        so_far: list[Event] = []
        for event in events:
            self.next_seq = event.seq + 1
            self._time.apply(event)
            so_far.append(event)
            self._take(event, so_far)

    def _take(self, event: Event, so_far: list[Event]) -> None:
        """Take the next recorded event; `so_far` are all up to it."""
        match event:
            case Asked(purpose="verify"):
                # A repeated request records only what differs from the previous one.
                self._to_judge.setdefault((event.agent, event.ask), () if event.keep else event.messages)
            case Replied():
                self._replies[event.agent, event.ask] = event
                self._answered[event.agent] = event.ask
            case Rejected():
                self.spent.append(event.usage)
            case ToolStarted():
                self._started.add(event.call.id)
                self._history.append(event.call)
            case UserReplied():
                self._take_reply(event)
            case ToolFinished():
                self._observations[event.observation.call_id] = event.observation
                self._history.append(event.observation)
            case PlanProposed():
                self.proposed = event.items
            case PlanApproved():
                self.plan = event.items
            case Recalled():
                self.recalled = event.observation
            case Resumed(adopts=True):
                self._adopt(so_far)
            case Resumed():
                self.reclaimed = event.by_itself
            case _:
                if isinstance(event, RunStarted):
                    self.earlier, self.given = event.earlier, event.given
                self.cut = self.cut or isinstance(event, Warned) and event.kind == "cut"
                if isinstance(event, WaitingForUser) and not event.plan:
                    self._asked_user.setdefault(event.agent, []).append(event)
                if isinstance(event, _MARKS):
                    self._marks[event.agent, type(event).__name__] += 1

    def _take_reply(self, event: UserReplied) -> None:
        replies = self._user.setdefault(event.agent, [])
        asked = self._asked_user.get(event.agent, [])[len(replies) :]
        replies.append(event.text)
        if asked and not asked[0].site:
            self.exchanges.append(Exchange(event.agent, asked[0].prompt, event.text, dict(self._answered)))

    def _adopt(self, events: list[Event]) -> None:
        """Turn the events so far into adopted rounds; the framework does not repeat them, so their replies are dropped."""
        self.adopted = interactions(events)
        self.plan_adopted = bool(self.plan)
        reports = (e.report for e in reversed(events) if isinstance(e, ReportUpdated) and e.agent == "main")
        self.report = next(reports, "")
        self.asks = max((e.ask for e in events if isinstance(e, Asked) and e.agent == "main"), default=0)
        self.spent += [each.usage for each in self._replies.values()]
        self._replies.clear()
        self._user.clear()
        self._asked_user.clear()
        self._answered.clear()
        self.exchanges = [msgspec.structs.replace(each, asks={}) for each in self.exchanges]
        self._marks = Counter({("main", RunStarted.__name__): 1})

    def adopted_transcript(self, question: str, protocol: str) -> Transcript:
        """Return the transcript of the adopted rounds, as a model under this protocol would have written them."""
        rounds = tuple(translated(each, protocol) for each in self.adopted)
        return Transcript(question, rounds, self.report, len(rounds) - 1 if self.report else 0)

    @property
    def seconds(self) -> float:
        """Seconds of work, without pauses."""
        return self._time.seconds

    def reply(self, agent: str, ask: int) -> Replied | None:
        """Return the recorded reply to this agent's n-th request."""
        return self._replies.get((agent, ask))

    def asked_judge(self, agent: str, ask: int) -> tuple[Message, ...] | None:
        """Return the messages of this agent's n-th request if it asked the judge and has a reply."""
        return self._to_judge.get((agent, ask)) if (agent, ask) in self._replies else None

    def judges(self, agent: str) -> int:
        """Return the number of the last judge that read for this agent."""
        parts = (name.removeprefix(f"{agent}/{JUDGE}") for name, _ in self._to_judge)
        return max((int(part) for part in parts if part.isdecimal()), default=0)

    @property
    def replied(self) -> list[Replied]:
        """All recorded replies in order."""
        return list(self._replies.values())

    def observation(self, call_id: str) -> Observation | None:
        return self._observations.get(call_id)

    @property
    def observations(self) -> list[Observation]:
        """All recorded observations in order, after the sources of a follow-up's start."""
        # "earlier" is not a search tool, so the URL guard does not treat addresses in private findings as known.
        return [*self._before(), *self._observations.values()]

    @property
    def history(self) -> list[Observation | ToolCall]:
        """All recorded calls, each with its observation."""
        return [*self._before(), *self._history]

    def _before(self) -> list[Observation]:
        """Return what the run knew before its first call."""
        seen = [self.recalled] if self.recalled else []
        if self.earlier is None:
            return seen
        return [Observation("", "earlier", "", sources=self.earlier.sources, private=self.earlier.private), *seen]

    def next_prompt(self, agent: str) -> str:
        """Return the next recorded question of this agent to the user; empty if there is none."""
        return next((asked.prompt for asked in self._asked_user.get(agent, ())), "")

    def started(self, call_id: str) -> bool:
        """Whether the start of the call is recorded, even if its result is not."""
        return call_id in self._started

    def user_reply(self, agent: str, prompt: str) -> str | None:
        """Return the user's reply if this is the agent's next question; each reply is returned once."""
        replies = self._user.get(agent)
        if not replies or self.next_prompt(agent) != prompt:
            return None
        self._asked_user[agent].pop(0)
        return replies.pop(0)

    def told(self, agent: str, ask: int) -> list[Exchange]:
        """Return the exchanges with the user before this agent's request of that number."""
        return [each for each in self.exchanges if each.asks.get(agent, 0) < ask]

    def take_mark(self, mark: Base) -> bool:
        """Return whether such an event is recorded; each recorded event counts once."""
        key = (mark.agent, type(mark).__name__)
        if self._marks[key] == 0:
            return False
        self._marks[key] -= 1
        return True

    @property
    def sources(self) -> list[Source]:
        """All recorded sources; new ones are numbered after them."""
        return [source for seen in self.observations for source in seen.sources]
