"""`fold(events) -> RunView`: the one picture of a run, live and in replay.

Live is a replay of a run that has not ended yet, so pages, exports and the command line all draw this and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from research import events as e
from research.citations import cited
from research.recipe import Recipe
from research.types import Citation, Message, Observation, Outcome, Reply, Source, Status, ToolCall, Usage


@dataclass
class CallView:
    """One tool call; `observation` is None while it runs."""

    call: ToolCall
    started: float
    observation: Observation | None = None


@dataclass
class RoundView:
    """One request to a model and what came of it."""

    agent: str
    ask: int
    """Count of the agent's requests, from 1; 0 for what happened before the first."""
    number: int
    """The agent's round, from 1."""
    purpose: str
    model: str
    started: float
    prompt_tokens: int
    """Estimate; the provider's count is in `usage`."""
    sent: list[tuple[int, tuple[Message, ...]]]
    """Each request of the round: how many leading messages of the one before it were kept, and what was added."""
    draft: str = ""
    """What has been written so far; replaced by `reply` when it is complete."""
    draft_reasoning: str = ""
    reply: Reply | None = None
    usage: Usage | None = None
    seconds: float = 0.0
    calls: list[CallView] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Withdrawn attempts, rejected replies and warnings, in words."""
    rounds_shown: int = 0
    rounds_so_far: int = 0
    window: int = 0
    """All three as in `Asked`."""

    @property
    def thinking(self) -> str:
        return self.reply.thinking if self.reply else self.draft_reasoning

    @property
    def full(self) -> float | None:
        """How full the prompt is, from 0 to 1; None where nothing is known to bound it."""
        counted = self.usage.prompt_tokens if self.usage and not self.usage.estimated else self.prompt_tokens
        return min(1.0, counted / self.window) if self.window else None

    @property
    def done(self) -> bool:
        """Nothing of this round is still to come."""
        return (self.reply is not None or self.ask == 0) and all(call.observation for call in self.calls)


@dataclass
class Worktime:
    """The time a run was worked on, from its events: rests, waits and the time after a crash do not count."""

    seconds: float = 0.0
    rests: list[tuple[float, float]] = field(default_factory=list)
    """When nobody worked on it: from, until; seconds since the epoch."""
    last: float | None = None

    def apply(self, event: e.Event) -> None:
        """Take one more event in."""
        if self.last is not None:
            if isinstance(event, e.Resumed | e.UserReplied):
                self.rests.append((self.last, max(self.last, event.time)))
            else:  # clocks are set back
                self.seconds += max(0.0, event.time - self.last)
        self.last = event.time


STEPS = ("act", "research", "outline", "plan", "solve")
"""Purposes that take an agent a step further; the others sum up, judge or frame."""


@dataclass
class RunView:
    """Everything a page or an export shows of a run."""

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
    """The evolving report after each round that changed it: (round, text)."""
    answer: str = ""
    report: str = ""
    citations: tuple[Citation, ...] = ()
    uncited: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Both as in `RunFinished`."""
    error: str = ""
    """Why the run failed, or why it rests although nobody wanted that."""
    traceback: str = ""
    sources: dict[int, list[Source]] = field(default_factory=dict)
    """All passages seen, by the source's number."""
    model_calls: int = 0
    tool_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    cost_usd: float | None = 0.0
    """None as soon as one call's price is unknown."""
    seq: int = -1
    agents: list[str] = field(default_factory=list)
    earlier: e.Earlier | None = None
    """What a follow-up goes on from; its sources are among `sources`."""
    recalled: Observation | None = None
    """What the memory gave before the first round; its sources are among `sources`."""
    remembered: e.Remembered | None = None
    """What the memory keeps of the run."""
    worktime: Worktime = field(default_factory=Worktime)
    edits: list[e.Edited | e.ReportEdited] = field(default_factory=list)
    """What the user wrote in the place of observations and reports, before the run went on from there."""

    @property
    def running(self) -> bool:
        return self.status == "running"

    @property
    def cited_sources(self) -> list[Source]:
        """One source for each number the report cites, with the quote that serves it best."""
        return [self._source(n) for n in cited(self.report) if n in self.sources]

    @property
    def seen_sources(self) -> list[Source]:
        """One source for each number there is, cited or not."""
        return [self._source(n) for n in sorted(self.sources)]

    @property
    def images(self) -> list[bytes]:
        """The plots that tools drew, as PNG, each once, in the order they came."""
        seen = (call.observation for current in self.rounds for call in current.calls if call.observation)
        return list(dict.fromkeys(image for observation in seen for image in observation.images))

    def round_count(self, agent: str | None = None) -> int:
        """Rounds in which an agent took a step, of all agents together or of one: work that others do counts."""
        last: dict[str, int] = {}
        for current in self.rounds:
            if current.purpose in STEPS and agent in (None, current.agent):
                last[current.agent] = max(last.get(current.agent, 0), current.number)
        return sum(last.values())

    @property
    def forkable(self) -> int:
        """Complete rounds of the main agent: a fork can have the first 1 to so many in common.  0: it made none."""
        own = [r for r in self.rounds if r.agent == "main"]
        last = max((r.number for r in own), default=0)
        # Of the last one it is not known whether another follows, unless its calls are all answered.
        return max([last - 1, *(r.number for r in own if r.calls and r.done)], default=0) if last else 0

    @property
    def rests(self) -> list[tuple[float, float]]:
        """When nobody worked on the run: from, until; seconds since the epoch."""
        return self.worktime.rests

    def elapsed(self, now: float) -> float:
        """Seconds of work until `now`, seconds since the epoch; rests do not count."""
        if self.outcome not in (None, "needs_input"):
            return self.seconds
        return self.worktime.seconds + (max(0.0, now - self.updated) if self.running and self.started else 0.0)

    def apply(self, event: e.Event) -> None:
        """Take one more event in.  Events must come in the order of `seq`."""
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
                self._asked(event)
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
                self._observed(event)
            case e.Warned():
                self._last(event.agent).notes.append(event.text)
            case e.Concluding():
                self._last(event.agent).notes.append(f"The limit of {event.reason} ends the research.")
            case e.Recalled():
                self.recalled = event.observation
                self._saw(event.observation.sources)
            case e.Remembered():
                self.remembered = event
            case e.ReportUpdated():
                self.report = event.report
                self.reports.append((self._last(event.agent).number, event.report))
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
            case e.ChildStarted() | e.ChildFinished():
                pass

    def _inherit(self, earlier: e.Earlier | None) -> None:
        self.earlier = earlier
        self._saw(earlier.sources if earlier else ())

    def _saw(self, sources: Iterable[Source]) -> None:
        for source in sources:
            quotes = self.sources.setdefault(source.n, [])
            if source not in quotes:
                quotes.append(source)

    def _source(self, n: int) -> Source:
        """All that is known of one source: the best of its quotes, and what any of its passages told of it.

        `memory` only where it was not seen in this run too.
        """
        passages = self.sources[n]
        quote = next((c.quote for c in self.citations if c.n == n and c.quote), passages[0].quote)
        told = {name: value for passage in reversed(passages) for name, value in passage.csl.items()}
        entry = passages[0].memory if all(passage.memory for passage in passages) else ""
        return Source(n, passages[0].url, passages[0].title, quote, told, entry)

    def _asked(self, event: e.Asked) -> None:
        current = next((r for r in reversed(self.rounds) if r.agent == event.agent), None)
        if current is None or current.ask != event.ask:
            self.rounds.append(
                RoundView(
                    event.agent, event.ask, event.round, event.purpose, event.model, event.time,
                    event.prompt_tokens, [(event.keep, event.messages)], rounds_shown=event.rounds_shown,
                    rounds_so_far=event.rounds_so_far, window=event.window,
                )
            )  # fmt: skip
            return
        # Asked again within the round: what was streamed of the refused reply does not count.
        current.sent.append((event.keep, event.messages))
        current.draft = current.draft_reasoning = ""
        current.prompt_tokens, current.window = event.prompt_tokens, event.window
        current.rounds_shown, current.rounds_so_far = event.rounds_shown, event.rounds_so_far

    def _round(self, event: e.Streamed | e.Withdrawn | e.Rejected | e.Replied) -> RoundView:
        return next(r for r in reversed(self.rounds) if r.agent == event.agent and r.ask == event.ask)

    def _last(self, agent: str) -> RoundView:
        """The agent's latest round; what happens before its first request gets a round 0 of its own."""
        if not any(r.agent == agent for r in self.rounds):
            self.rounds.append(RoundView(agent, 0, 0, "start", "", self.updated, 0, []))
        return next(r for r in reversed(self.rounds) if r.agent == agent)

    def _observed(self, event: e.ToolFinished) -> None:
        seen = event.observation
        for call in self._last(event.agent).calls:
            if call.call.id == seen.call_id:
                call.observation = seen
        self._saw(seen.sources)

    def _spend(self, usage: Usage) -> None:
        self.model_calls += 1
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        self.estimated = self.estimated or usage.estimated
        known = usage.cost_usd is not None and self.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (usage.cost_usd or 0.0) if known else None


def fold(events: Iterable[e.Event]) -> RunView:
    """The view of a run after these events."""
    view = RunView()
    for event in events:
        view.apply(event)
    return view


def until(events: Iterable[e.Event], number: int) -> list[e.Event]:
    """The events of the main agent's first `number` rounds; all of them when there are no more."""
    kept = []
    for event in events:
        if isinstance(event, e.Asked) and event.agent == "main" and event.round > number:
            break
        kept.append(event)
    return kept


def messages_sent(view: RunView, agent: str, ask: int) -> list[Message]:
    """The conversation of one request, exactly as it was sent."""
    sent: list[Message] = []
    for current in view.rounds:
        if current.agent == agent and current.ask <= ask:
            for keep, added in current.sent:
                sent = [*sent[:keep], *added]
    return sent
