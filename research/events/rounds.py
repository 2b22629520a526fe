"""The parts of the view of a run: its rounds, their calls, its working time, and an index."""

from __future__ import annotations

from dataclasses import dataclass, field

from research.events import events as e
from research.types import Message, Observation, Reply, ToolCall, Usage


@dataclass
class CallView:
    """One tool call; `observation` is None while it runs."""

    call: ToolCall
    started: float
    observation: Observation | None = None


@dataclass
class RoundView:
    """One request to a model, its reply, and the calls in it."""

    agent: str
    ask: int
    """Number of the agent's request, from 1; 0 for events before the first request."""
    number: int
    """The agent's round, from 1."""
    purpose: str
    model: str
    started: float
    prompt_tokens: int
    """An estimate; `usage` has the provider's count."""
    sent: list[tuple[int, tuple[Message, ...]]]
    """Each request of the round: the number of messages kept from the previous request, and the messages added."""
    draft: str = ""
    """The text streamed so far; empty once `reply` is complete."""
    draft_reasoning: str = ""
    reply: Reply | None = None
    usage: Usage | None = None
    seconds: float = 0.0
    calls: list[CallView] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Withdrawn requests, rejected replies and warnings, as text."""
    asked: str = ""
    """The agent's question to the user, and in `replied` what the user replied."""
    replied: str = ""
    rounds_shown: int = 0
    rounds_so_far: int = 0
    window: int = 0
    """These three as in `Asked`."""
    role: str = ""
    """As in `Asked`; for earlier versions, the role of the purpose then."""
    step: bool = True
    """Whether it is a step of the agent."""
    place: int = 0
    """The run's round that this is part of; see `research.events.branches`."""
    since: float = 0.0
    """When the request was last sent; `started`: when first."""
    _by_id: dict[str, list[CallView]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def thinking(self) -> str:
        """Return the reasoning so far."""
        return self.reply.thinking if self.reply else self.draft_reasoning

    @property
    def full(self) -> float | None:
        """Return the share of the window that the prompt fills, from 0 to 1; None if the window is unknown."""
        counted = self.usage.prompt_tokens if self.usage and not self.usage.estimated else self.prompt_tokens
        return min(1.0, counted / self.window) if self.window else None

    @property
    def done(self) -> bool:
        """Return whether the reply and all observations are complete."""
        return (self.reply is not None or self.ask == 0) and all(call.observation for call in self.calls)

    @property
    def reads_prompt(self) -> bool:
        """Return whether the model was asked and has not sent a word yet."""
        return self.reply is None and self.ask > 0 and not (self.draft or self.draft_reasoning)

    def write(self, event: e.Streamed) -> None:
        """Add a piece to the draft."""
        name = "draft" if event.kind == "text" else "draft_reasoning"
        written = getattr(self, name)
        setattr(self, name, "")
        written += event.text  # in place, because nothing else refers to the text; copying each time is quadratic
        setattr(self, name, written)

    def withdraw(self, event: e.Withdrawn) -> None:
        """Discard the draft of a repeated request."""
        self.draft = self.draft_reasoning = ""
        self.notes.append(f"{event.error} (trying again in {event.wait_s:.0f} s)")

    def start(self, event: e.ToolStarted) -> None:
        """Add a call."""
        started = CallView(event.call, event.time)
        self.calls.append(started)
        self._by_id.setdefault(event.call.id, []).append(started)

    def finish(self, observation: Observation) -> None:
        """Set the observation of its call."""
        for call in self._by_id.get(observation.call_id, ()):
            call.observation = observation


@dataclass
class Worktime:
    """The working time of a run, from its events: pauses, waits and the time after a crash do not count."""

    seconds: float = 0.0
    idle: list[tuple[float, float]] = field(default_factory=list)
    """Start and end of each interval in which no process drove the run, in seconds since the epoch."""
    last: float | None = None

    def apply(self, event: e.Event) -> None:
        """Add the time since the last event."""
        if self.last is not None:
            if isinstance(event, e.Resumed | e.UserReplied | e.PlanApproved):
                self.idle.append((self.last, max(self.last, event.time)))
            else:  # max, because clocks can be set back
                self.seconds += max(0.0, event.time - self.last)
        self.last = event.time


@dataclass
class Index:
    """Finds what an event belongs to, however long the run is."""

    agents: set[str] = field(default_factory=set)
    latest: dict[str, RoundView] = field(default_factory=dict)
    """By agent, its latest round."""
    requests: dict[tuple[str, int], RoundView] = field(default_factory=dict)
    """By agent and number of the request."""
    passages: set[bytes] = field(default_factory=set)
    """The passages of the sources, as JSON."""
