"""The view of a run: `fold(events) -> RunView`, from which pages, exports and the command line draw it.

A live view is the replay of a run that has not ended, so there is one code path for both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import get_args

import msgspec

from research._util.egress import Sent
from research.citations import cited, statements, without_marks
from research.citations.forgetting import Loss, losses
from research.citations.marks import without_quoting
from research.events import events as e
from research.events.audit_findings import AuditedSource, AuditedStatement, Given, Miscount
from research.events.branches import PROPOSE, VERIFY, Branch, Branches, is_step
from research.events.events import Forecast, PlanItem, Status
from research.events.quotations import one_source, placed, within
from research.events.recipe import ROLE_OF, Recipe
from research.events.rounds import Index, RoundView, Worktime
from research.types import HOLDS, WORST, Citation, Message, Observation, Outcome, Part, Source, Usage, Verdict


@dataclass(frozen=True)
class Searched:
    """How often a run searched a collection or service, and how many results it got from it."""

    searches: int = 0
    results: int = 0


@dataclass
class PlanView:
    """The plan of a run, in its view."""

    status: Status = "running"
    outcome: Outcome | None = None
    answer: str = ""
    plan: tuple[PlanItem, ...] = ()
    """What the run intends to do, or after approval does."""
    approved: bool = False
    """Whether the user has approved the plan."""
    forecast: Forecast | None = None
    """What the plan was expected to take."""
    plan_done: tuple[Part, ...] = ()
    """Which items of the plan the report answers."""

    @property
    def plan_waits(self) -> bool:
        """Return whether the run waits until the user approves its plan."""
        return self.status == "waiting_input" and bool(self.plan) and not self.approved

    def _take_plan(self, event: e.PlanProposed | e.PlanApproved) -> None:
        self.plan = event.items
        if isinstance(event, e.PlanProposed):
            self.forecast = event.forecast
        else:
            self.approved, self.status, self.outcome, self.answer = True, "running", None, ""


@dataclass
class AuditView:
    """An audit, in the view of its run."""

    given: Given | None = None
    """The report that is checked; None for any other run."""
    statements: dict[int, AuditedStatement] = field(default_factory=dict)
    """The judged statements, by place in the report."""
    audited: dict[int, AuditedSource] = field(default_factory=dict)
    """The sources that the report names, by number."""
    miscounts: tuple[Miscount, ...] = ()
    audit_notes: tuple[str, ...] = ()
    total: int = 0
    """Number of statements of the report."""

    def _take_audit(self, event: e.Audited) -> None:
        self.statements |= {each.n: each for each in event.statements}
        self.audited |= {each.n: each for each in event.sources}
        self.miscounts += event.miscounts
        self.audit_notes += event.notes
        self.total = event.total or self.total


@dataclass
class RunView(PlanView, AuditView):
    """Everything that a page or an export shows of a run.

    >>> view = research.run("How many people live in Japan?")
    >>> view.status, view.answer, [citation.status for citation in view.citations]
    """

    run: str = ""
    question: str = ""
    recipe: Recipe = field(default_factory=Recipe)
    started: float = 0.0
    updated: float = 0.0
    seconds: float = 0.0
    rounds: list[RoundView] = field(default_factory=list)
    reports: list[tuple[int, str]] = field(default_factory=list)
    """The main agent's evolving report after each round that changed it, as (round, text)."""
    report: str = ""
    """While the run works, the main agent's evolving report or else the latest of any branch."""
    citations: tuple[Citation, ...] = ()
    uncited: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    short: str = ""
    parts: tuple[Part, ...] = ()
    """`citations` to `parts` as in `RunFinished`; while a judge reads the report, `citations` has the verdicts known so far."""
    sent: tuple[Sent, ...] | None = None
    """What left this machine, by host; None while the run works, and in runs of earlier versions."""
    error: str = ""
    """Why the run failed, or why it paused without a request of the user."""
    traceback: str = ""
    sources: dict[int, list[Source]] = field(default_factory=dict)
    """All passages seen, by the source's number."""
    model_calls: int = 0
    tool_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0  # tokens of the prompts that services read from caches
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
    replied: bool = False
    """Whether the user replied to a question of the run."""
    worktime: Worktime = field(default_factory=Worktime)
    edits: list[e.Edited | e.ReportEdited] = field(default_factory=list)
    """Observations and reports that the user replaced before this fork started."""
    count: Branches = field(default_factory=Branches)
    """The count of rounds, and the sub-agents."""
    _index: Index = field(default_factory=Index, repr=False, compare=False)

    @property
    def running(self) -> bool:
        """Return whether the run has neither ended, paused nor asked the user."""
        return self.status == "running"

    @property
    def cited_sources(self) -> list[Source]:
        """Return a source with its best quote for each number cited, in order of first use."""
        return self._represented(n for n in cited(self.report) if n in self.sources)

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """Return the number of cited statements by verdict; those of the first version are always there, for scripts."""
        found = Counter(stated(self).values())
        always = ("supported", "partial", "unsupported", "dead")
        return {each: found[each] for each in get_args(Verdict) if found[each] or each in always}

    @property
    def seen_sources(self) -> list[Source]:
        """Return one source for each number, cited or not."""
        return self._represented(sorted(self.sources))

    @property
    def images(self) -> list[bytes]:
        """Return the plots that tools drew, as PNG, without duplicates, in order."""
        seen = (call.observation for current in self.rounds for call in current.calls if call.observation)
        return list(dict.fromkeys(image for observation in seen for image in observation.images))

    def round_count(self, agent: str | None = None) -> int:
        """Return the number of rounds with a step, of one agent or of all."""
        last: dict[str, int] = {}
        for current in self.rounds:
            if current.step and agent in (None, current.agent):
                last[current.agent] = max(last.get(current.agent, 0), current.number)
        return sum(last.values())

    @property
    def branches(self) -> dict[str, Branch]:
        """Return the sub-agents by path, with their answers and reports."""
        return self.count.found

    @property
    def last_round(self) -> int:
        """Return the number of the run's latest round: of the main agent, or of branches that work side by side."""
        return max((r.place for r in self.rounds), default=0)

    @property
    def forkable(self) -> int:
        """Return the last round that a fork can keep, which is the number of complete rounds of the run."""
        return _forkable(self)

    def elapsed(self, now: float) -> float:
        """Return the seconds of work until `now` (seconds since the epoch), without pauses."""
        if self.outcome not in (None, "needs_input"):
            return self.seconds
        return self.worktime.seconds + (max(0.0, now - self.updated) if self.running and self.started else 0.0)

    def apply(self, event: e.Event) -> None:
        """Update the view by the next event; events must come in the order of `seq`."""
        self.run, self.seq, self.updated = event.run, event.seq, event.time
        self.worktime.apply(event)
        place = self.count.apply(event)
        if event.agent not in self._index.agents:
            self._index.agents.add(event.agent)
            if not (isinstance(event, e.Asked) and event.purpose == VERIFY):  # judging citations is not research
                self.agents.append(event.agent)
        if isinstance(event, e.Edited | e.ReportEdited):
            self.edits.append(event)
        match event:
            case e.RunStarted():
                self.question, self.recipe, self.started = event.question, event.recipe, event.time
                self._inherit(event)
            case e.Asked():
                self._add_request(event, place)
            case e.Streamed():
                self._round(event).write(event)
            case e.Withdrawn():
                self._round(event).withdraw(event)
            case e.Rejected():
                self._round(event).notes.append(f"Reply refused: {event.problem}")
                self._spend(event.usage)
            case e.Replied():
                current = self._round(event)
                current.reply, current.usage, current.seconds = event.reply, event.usage, event.seconds
                current.draft = current.draft_reasoning = ""
                self._spend(event.usage)
            case e.ToolStarted():
                self._last(event.agent).start(event)
                self.tool_calls += 1
            case e.ToolFinished():
                self._last(event.agent).finish(event.observation)
                self._add_sources(event.observation.sources)
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
                _update_report(self, event)
            case e.PlanProposed() | e.PlanApproved():
                self._take_plan(event)
            case e.Audited():
                self._take_audit(event)
            case e.WaitingForUser() | e.UserReplied() | e.Paused() | e.Resumed() | e.RunFailed() | e.RunFinished():
                _change_status(self, event)

    def _inherit(self, event: e.RunStarted) -> None:
        self.earlier, self.given = event.earlier, event.given
        self._add_sources(event.earlier.sources if event.earlier else ())

    def _add_sources(self, sources: Iterable[Source]) -> None:
        for source in sources:
            if (written := msgspec.json.encode(source)) not in self._index.passages:
                self._index.passages.add(written)
                self.sources.setdefault(source.n, []).append(source)

    def _represented(self, numbers: Iterable[int]) -> list[Source]:
        quotes: dict[int, list[str]] = {}
        for each in self.citations:
            quotes.setdefault(each.n, []).extend(filter(None, [each.quote]))
        return [self.source(n, *quotes.get(n, ())) for n in numbers]

    def source(self, n: int, *quotes: str) -> Source:
        """Return one source with the first of these quotes; its title names the place that they share."""
        return one_source(self.sources[n], quotes)

    def _add_request(self, event: e.Asked, place: int) -> None:
        current = self._index.latest.get(event.agent)
        if current is None or current.ask != event.ask:
            added = RoundView(
                agent=event.agent,
                ask=event.ask,
                number=0 if event.purpose == PROPOSE else event.round,  # the plan comes before the first round
                purpose=event.purpose,
                model=event.model,
                started=event.time,
                prompt_tokens=event.prompt_tokens,
                sent=[(event.keep, event.messages)],
                rounds_shown=event.rounds_shown,
                rounds_so_far=event.rounds_so_far,
                window=event.window,
                role=event.role or ROLE_OF.get(event.purpose, ""),
                step=is_step(event),
                place=place,
                since=event.time,
            )
            self._add_round(added)
            return
        # The request is repeated after a rejected reply, whose streamed text is discarded.
        current.sent.append((event.keep, event.messages))
        current.since = event.time
        current.draft = current.draft_reasoning = ""
        current.prompt_tokens, current.window = event.prompt_tokens, event.window
        current.rounds_shown, current.rounds_so_far = event.rounds_shown, event.rounds_so_far

    def _round(self, event: e.Streamed | e.Withdrawn | e.Rejected | e.Replied) -> RoundView:
        return self._index.requests[event.agent, event.ask]

    def _add_round(self, added: RoundView) -> None:
        self.rounds.append(added)
        self._index.latest[added.agent] = self._index.requests[added.agent, added.ask] = added

    def _last(self, agent: str) -> RoundView:
        """Return the agent's latest round; events before its first request get a round 0."""
        if agent not in self._index.latest:
            self._add_round(RoundView(agent, 0, 0, "start", "", self.updated, 0, [], step=False))
        return self._index.latest[agent]

    def _spend(self, usage: Usage) -> None:
        self.model_calls += 1
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        self.cached_tokens += usage.cache_read_tokens
        self.estimated = self.estimated or usage.estimated
        known = usage.cost_usd is not None and self.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (usage.cost_usd or 0.0) if known else None


def _update_report(view: RunView, event: e.ReportUpdated) -> None:
    """Add a version to the reports of the agent that wrote it; a finished report is no version."""
    if event.citations:
        view.report, view.citations = event.report, event.citations
        return
    version = (view._last(event.agent).number, event.report)
    branch = view.branches.get(event.agent)
    (branch.reports if branch else view.reports).append(version)
    if not (branch and view.reports):
        view.report = event.report


def _forkable(view: RunView) -> int:
    last = view.last_round
    at_work = {"main", *(view.branches if view.count.parallel else ())}
    working = [r for r in view.rounds if r.place == last and r.agent in at_work]
    if not last:
        return 0
    if not view.count.parallel:  # the last round is complete only if it has calls and all have an observation
        return last if any(r.calls and r.done for r in working) else last - 1
    # A fork repeats a branch that ended without a reply, and waits for one at work.
    undone = min((r.place for r in view.rounds if view.running and not r.done), default=last + 1)
    return min(last if all(r.calls and r.done for r in working) else last - 1, undone - 1)


def _change_status(
    view: RunView, event: e.WaitingForUser | e.UserReplied | e.Paused | e.Resumed | e.RunFailed | e.RunFinished
) -> None:
    """Update status, outcome and related fields."""
    match event:
        case e.WaitingForUser():
            view.sent = _added(view.sent, event.sent or None)
            view.status, view.outcome, view.answer = "waiting_input", "needs_input", event.prompt
            if not event.plan:
                view._last(event.agent).asked = event.prompt
        case e.UserReplied():
            view.status, view.outcome, view.answer, view.replied = "running", None, "", True
            current = view._last(event.agent)
            current.replied = event.text
            current.notes.append(f"Your reply: {event.text}")
        case e.Paused():
            view.sent = _added(view.sent, event.sent or None)
            view.status, view.seconds, view.error = "paused", view.worktime.seconds, event.reason
        case e.Resumed():
            view.status, view.outcome, view.answer, view.error = "running", None, "", ""
        case e.RunFailed():
            view.error, view.traceback = event.error, event.traceback
        case e.RunFinished():
            view.sent = _added(view.sent, event.sent)
            view.status, view.outcome, view.seconds = event.status, event.outcome, event.seconds
            view.answer, view.report, view.citations = event.answer, event.report, event.citations
            view.uncited, view.removed = event.uncited, event.removed
            view.short, view.parts, view.plan_done = event.short, event.parts, event.plan


def _added(before: tuple[Sent, ...] | None, more: tuple[Sent, ...] | None) -> tuple[Sent, ...] | None:
    """Add what was sent since then to what was sent, by host."""
    if more is None:
        return before
    found = {each.host: each for each in before or ()}
    for each in more:
        old = found.get(each.host, Sent(each.host))
        kinds = tuple(dict.fromkeys((*old.kinds, *each.kinds)))
        found[each.host] = Sent(each.host, old.requests + each.requests, old.bytes + each.bytes, kinds)
    return tuple(found.values())


def without_quotes(view: RunView) -> str:
    """Return an answer's report without sections that only quote its sources, as their list does."""
    return without_quoting(view.report) if view.outcome in ("answered", "partly_answered") else view.report


def holds(view: RunView) -> bool:
    """Return whether the report has statements that cite a source, all of them supported."""
    given = stated(view).values()
    return bool(given) and all(each in HOLDS for each in given)


def stated(view: RunView) -> dict[str, Verdict]:
    """Return the verdict on each statement with a mark: the worst of those on its sources."""
    quoted = _only_quoted(view.report, without_quotes(view)) if view.citations else frozenset()
    found: dict[str, Verdict] = {}
    for each in view.citations:
        if each.claim not in quoted:
            found[each.claim] = min(found.get(each.claim, each.status), each.status, key=WORST.index)
    return found


@lru_cache(maxsize=8)  # asked for each source of a report
def _only_quoted(report: str, answer: str) -> frozenset[str]:
    """Return the statements of a report that its answer does not make."""
    said = {without_marks(each.text) for each in statements(answer) if each.numbers}
    return frozenset(without_marks(each.text) for each in statements(report)) - said


def fold(events: Iterable[e.Event]) -> RunView:
    """Return the view of a run after these events.

    >>> fold(workbench.store.events(run_id)).report
    """
    view = RunView()
    for event in events:
        view.apply(event)
    return view


def kinds(view: RunView) -> dict[str, int]:
    """Return how many of the cited sources are of each class, the most frequent first."""
    return dict(Counter(source.kind for source in view.cited_sources if source.kind).most_common())


def agent_status(view: RunView) -> str:
    """Return `SUCCESS` for a run that ended by itself without a user's reply, `COMPLETED` for one with a reply.

    For any other run, its status in capitals, such as `WAITING_INPUT`.  The names are those of ToolAgentBase.
    """
    if view.status != "completed":
        return view.status.upper()
    return "COMPLETED" if view.replied else "SUCCESS"


def quotes(view: RunView, n: int) -> list[tuple[str, str]]:
    """Return the cited lines of a source, each once, as (lines, place); the place is empty if the title names it.

    Those behind a single row of the report, whose table has them already, come only if there are no others.
    """
    own = {each.claim: each.quote for each in view.citations if each.n == n and each.quote}
    head = view.source(n, *own.values()).title
    rows = _rows_of(view.report)
    behind = Counter(line.strip() for claim, quote in own.items() if claim in rows for line in {*quote.splitlines()})
    tabled = {line for line, number in behind.items() if number == 1}
    told = list(own.values()) or [view.source(n).quote]
    return _lines(view, n, told, head, tabled) or _lines(view, n, told, head, set())


@lru_cache(maxsize=8)  # asked for each source of a report
def _rows_of(report: str) -> frozenset[str]:
    """Return the rows of a report's tables, without marks."""
    return frozenset(without_marks(each.text) for each in statements(report) if each.row)


def _lines(view: RunView, n: int, own: Sequence[str], head: str, written: set[str]) -> list[tuple[str, str]]:
    """Return the lines of quotes that are not yet `written`, with their place."""
    found: list[tuple[str, str]] = []
    for part, passage in (pair for quote in own for pair in placed(view.sources[n], quote)):
        lines = dict.fromkeys(line.strip() for line in part.splitlines() if line.strip())
        if new := [line for line in lines if line not in written]:
            written.update(new)
            found.append(("\n".join(new), within(head, passage.title) if passage else ""))
    return found


def searched(view: RunView) -> dict[str, Searched]:
    """Return what a run searched, by collection or service name, in order of first search."""
    found: dict[str, Searched] = {}
    for current in view.rounds:
        for call in current.calls:
            for name, results in (call.observation.searched if call.observation else {}).items():
                before = found.get(name, Searched())
                found[name] = Searched(before.searches + 1, before.results + results)
    return found


def forgotten(view: RunView) -> dict[str, list[Loss]]:
    """Return what each version of an evolving report lost, by its agent.

    >>> {agent: [loss.share for loss in losses] for agent, losses in forgotten(view).items()}
    """
    written = {"main": view.reports, **{agent: branch.reports for agent, branch in view.branches.items()}}
    sources = [source for passages in view.sources.values() for source in passages]
    return {agent: losses(reports, sources) for agent, reports in written.items() if len(reports) > 1}


def messages_sent(view: RunView, agent: str, ask: int) -> list[Message]:
    """Return the messages of one request, exactly as they were sent."""
    sent: list[Message] = []
    for current in view.rounds:
        if current.agent == agent and current.ask <= ask:
            for keep, added in current.sent:
                sent = [*sent[:keep], *added]
    return sent
