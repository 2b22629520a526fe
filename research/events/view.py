"""The view of a run: `fold(events) -> RunView`, from which pages, exports and the command line draw it.

A live view is the replay of a run that has not ended, so there is one code path for both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import get_args

from research import plugins
from research.citations import cited
from research.events import events as e
from research.events.recipe import Recipe
from research.types import (
    Citation,
    Message,
    Observation,
    Outcome,
    Part,
    Reply,
    Source,
    Status,
    ToolCall,
    Usage,
    Verdict,
)


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
    rounds_shown: int = 0
    rounds_so_far: int = 0
    window: int = 0
    """These three as in `Asked`."""

    @property
    def thinking(self) -> str:
        """Return the reasoning, as far as it is known."""
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
            if isinstance(event, e.Resumed | e.UserReplied):
                self.idle.append((self.last, max(self.last, event.time)))
            else:  # max, because clocks can be set back
                self.seconds += max(0.0, event.time - self.last)
        self.last = event.time


@plugins.derived
def step_purposes() -> frozenset[str]:
    """Return the purposes of requests that take an agent a step further; the others sum up, judge or frame."""
    return frozenset({"act", *(purpose for entry in plugins.framework.all() for purpose in entry.steps)})


@dataclass
class RunView:
    """Everything that a page or an export shows of a run.

    >>> view = research.run("How many people live in Japan?")
    >>> view.status, view.answer, [citation.status for citation in view.citations]
    """

    run: str = ""
    question: str = ""
    recipe: Recipe = field(default_factory=Recipe)
    status: Status = "running"
    outcome: Outcome | None = None
    started: float = 0.0
    updated: float = 0.0
    seconds: float = 0.0
    rounds: list[RoundView] = field(default_factory=list)
    reports: list[tuple[int, str]] = field(default_factory=list)
    """The evolving report after each round that changed it, as (round, text)."""
    answer: str = ""
    report: str = ""
    citations: tuple[Citation, ...] = ()
    uncited: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    short: str = ""
    parts: tuple[Part, ...] = ()
    """These four as in `RunFinished`."""
    error: str = ""
    """Why the run failed, or why it paused without a request of the user."""
    traceback: str = ""
    sources: dict[int, list[Source]] = field(default_factory=dict)
    """All passages seen, by the source's number."""
    model_calls: int = 0
    tool_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    cost_usd: float | None = 0.0
    """None if the price of any request is unknown."""
    seq: int = -1
    agents: list[str] = field(default_factory=list)
    earlier: e.Earlier | None = None
    """What a follow-up inherits; its sources are in `sources`, too."""
    recalled: Observation | None = None
    """The memory's result before the first round; its sources are in `sources`, too."""
    remembered: e.Remembered | None = None
    """What was saved in the memory."""
    worktime: Worktime = field(default_factory=Worktime)
    edits: list[e.Edited | e.ReportEdited] = field(default_factory=list)
    """Observations and reports that the user replaced before this fork started."""

    @property
    def running(self) -> bool:
        """Return whether the run has neither ended, paused nor asked the user."""
        return self.status == "running"

    @property
    def cited_sources(self) -> list[Source]:
        """Return one source, with its best quote, for each number that the report cites, in order of first use."""
        return [self._source(n) for n in cited(self.report) if n in self.sources]

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """Return the number of citations by verdict; those of the first version are always there, for scripts."""
        found = Counter(citation.status for citation in self.citations)
        always = ("supported", "partial", "unsupported", "dead")
        return {each: found[each] for each in get_args(Verdict) if found[each] or each in always}

    @property
    def seen_sources(self) -> list[Source]:
        """Return one source for each number, cited or not."""
        return [self._source(n) for n in sorted(self.sources)]

    @property
    def images(self) -> list[bytes]:
        """Return the plots that tools drew, as PNG, without duplicates, in order."""
        seen = (call.observation for current in self.rounds for call in current.calls if call.observation)
        return list(dict.fromkeys(image for observation in seen for image in observation.images))

    def round_count(self, agent: str | None = None) -> int:
        """Return the number of rounds with a step, of one agent or of all together."""
        last: dict[str, int] = {}
        steps = step_purposes()
        for current in self.rounds:
            if current.purpose in steps and agent in (None, current.agent):
                last[current.agent] = max(last.get(current.agent, 0), current.number)
        return sum(last.values())

    @property
    def forkable(self) -> int:
        """Return the last round that a fork can keep, which is the number of complete rounds of the main agent."""
        own = [r for r in self.rounds if r.agent == "main"]
        last = max((r.number for r in own), default=0)
        # The last round is complete only if it has calls and all have an observation.
        return max([last - 1, *(r.number for r in own if r.calls and r.done)], default=0) if last else 0

    @property
    def idle(self) -> list[tuple[float, float]]:
        """Return start and end of each interval in which no process drove the run, in seconds since the epoch."""
        return self.worktime.idle

    def elapsed(self, now: float) -> float:
        """Return the seconds of work until `now` (seconds since the epoch), without pauses."""
        if self.outcome not in (None, "needs_input"):
            return self.seconds
        return self.worktime.seconds + (max(0.0, now - self.updated) if self.running and self.started else 0.0)

    def apply(self, event: e.Event) -> None:
        """Update the view by the next event; events must come in the order of `seq`."""
        self.seq, self.updated = event.seq, event.time
        self.run = event.run
        self.worktime.apply(event)
        if event.agent not in self.agents:
            self.agents.append(event.agent)
        if isinstance(event, e.Edited | e.ReportEdited):
            self.edits.append(event)
        match event:
            case e.RunStarted():
                self.question, self.recipe, self.started = event.question, event.recipe, event.time
                self._inherit(event.earlier)
            case e.Asked():
                self._add_request(event)
            case e.Streamed(kind="text"):
                self._round(event).draft += event.text
            case e.Streamed():
                self._round(event).draft_reasoning += event.text
            case e.Withdrawn():
                current = self._round(event)
                current.draft = current.draft_reasoning = ""
                current.notes.append(f"{event.error} (trying again in {event.wait_s:.0f} s)")
            case e.Rejected():
                self._round(event).notes.append(f"Reply refused: {event.problem}")
                self._spend(event.usage)
            case e.Replied():
                current = self._round(event)
                current.reply, current.usage, current.seconds = event.reply, event.usage, event.seconds
                current.draft = current.draft_reasoning = ""
                self._spend(event.usage)
            case e.ToolStarted():
                self._last(event.agent).calls.append(CallView(event.call, event.time))
                self.tool_calls += 1
            case e.ToolFinished():
                self._finish_call(event)
            case e.Warned():
                self._last(event.agent).notes.append(event.text)
            case e.Concluding():
                self._last(event.agent).notes.append(f"The limit of {event.reason} ends the research.")
            case e.Recalled():
                self.recalled = event.observation
                self._add_sources(event.observation.sources)
            case e.Remembered():
                self.remembered = event
            case e.ReportUpdated():
                self.report = event.report
                self.reports.append((self._last(event.agent).number, event.report))
            case e.WaitingForUser() | e.UserReplied() | e.Paused() | e.Resumed() | e.RunFailed() | e.RunFinished():
                self._change_status(event)
            case e.ChildStarted() | e.ChildFinished():
                pass

    def _change_status(
        self, event: e.WaitingForUser | e.UserReplied | e.Paused | e.Resumed | e.RunFailed | e.RunFinished
    ) -> None:
        match event:
            case e.WaitingForUser():
                self.status, self.outcome, self.answer = "waiting_input", "needs_input", event.prompt
            case e.UserReplied():
                self.status, self.outcome, self.answer = "running", None, ""
                self._last(event.agent).notes.append(f"Your reply: {event.text}")
            case e.Paused():
                self.status, self.seconds, self.error = "paused", self.worktime.seconds, event.reason
            case e.Resumed():
                self.status, self.outcome, self.answer, self.error = "running", None, "", ""
            case e.RunFailed():
                self.error, self.traceback = event.error, event.traceback
            case e.RunFinished():
                self.status, self.outcome, self.seconds = event.status, event.outcome, event.seconds
                self.answer, self.report, self.citations = event.answer, event.report, event.citations
                self.uncited, self.removed = event.uncited, event.removed
                self.short, self.parts = event.short, event.parts

    def _inherit(self, earlier: e.Earlier | None) -> None:
        self.earlier = earlier
        self._add_sources(earlier.sources if earlier else ())

    def _add_sources(self, sources: Iterable[Source]) -> None:
        for source in sources:
            quotes = self.sources.setdefault(source.n, [])
            if source not in quotes:
                quotes.append(source)

    def _source(self, n: int) -> Source:
        """Return one source with its best quote and the bibliographic data of all its passages.

        `memory` is set only if no passage was seen in this run itself.
        """
        passages = self.sources[n]
        quote = next((c.quote for c in self.citations if c.n == n and c.quote), passages[0].quote)
        csl = {name: value for passage in reversed(passages) for name, value in passage.csl.items()}
        entry = passages[0].memory if all(passage.memory for passage in passages) else ""
        return Source(n, passages[0].url, passages[0].title, quote, csl, entry)

    def _add_request(self, event: e.Asked) -> None:
        current = next((r for r in reversed(self.rounds) if r.agent == event.agent), None)
        if current is None or current.ask != event.ask:
            self.rounds.append(
                RoundView(
                    agent=event.agent,
                    ask=event.ask,
                    number=event.round,
                    purpose=event.purpose,
                    model=event.model,
                    started=event.time,
                    prompt_tokens=event.prompt_tokens,
                    sent=[(event.keep, event.messages)],
                    rounds_shown=event.rounds_shown,
                    rounds_so_far=event.rounds_so_far,
                    window=event.window,
                )
            )
            return
        # The request is repeated after a rejected reply, of which the streamed text is discarded.
        current.sent.append((event.keep, event.messages))
        current.draft = current.draft_reasoning = ""
        current.prompt_tokens, current.window = event.prompt_tokens, event.window
        current.rounds_shown, current.rounds_so_far = event.rounds_shown, event.rounds_so_far

    def _round(self, event: e.Streamed | e.Withdrawn | e.Rejected | e.Replied) -> RoundView:
        return next(r for r in reversed(self.rounds) if r.agent == event.agent and r.ask == event.ask)

    def _last(self, agent: str) -> RoundView:
        """Return the agent's latest round; events before its first request get a round 0."""
        if not any(r.agent == agent for r in self.rounds):
            self.rounds.append(RoundView(agent, 0, 0, "start", "", self.updated, 0, []))
        return next(r for r in reversed(self.rounds) if r.agent == agent)

    def _finish_call(self, event: e.ToolFinished) -> None:
        observation = event.observation
        for call in self._last(event.agent).calls:
            if call.call.id == observation.call_id:
                call.observation = observation
        self._add_sources(observation.sources)

    def _spend(self, usage: Usage) -> None:
        self.model_calls += 1
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        self.estimated = self.estimated or usage.estimated
        known = usage.cost_usd is not None and self.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (usage.cost_usd or 0.0) if known else None


def fold(events: Iterable[e.Event]) -> RunView:
    """Return the view of a run after these events.

    >>> fold(workbench.store.events(run_id)).report
    """
    view = RunView()
    for event in events:
        view.apply(event)
    return view


def first_rounds(events: Iterable[e.Event], number: int) -> list[e.Event]:
    """Return the events up to the end of the main agent's round `number`."""
    found = []
    for event in events:
        if isinstance(event, e.Asked) and event.agent == "main" and event.round > number:
            break
        found.append(event)
    return found


def messages_sent(view: RunView, agent: str, ask: int) -> list[Message]:
    """Return the messages of one request, exactly as they were sent."""
    sent: list[Message] = []
    for current in view.rounds:
        if current.agent == agent and current.ask <= ask:
            for keep, added in current.sent:
                sent = [*sent[:keep], *added]
    return sent
