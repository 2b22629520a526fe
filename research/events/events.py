"""The events of a run: a run is an append-only list of them, and everything else is a fold of that list.

An event is a small frozen value with its run, its number in the run (`seq`, from 0, without gaps), the wall-clock time,
and the path of the agent that caused it (`main`, `main/researcher-2`).  Frameworks leave run, seq and time empty;
`lifecycle.execute` fills them in.  Events are ordered by `seq`, never by time, because clocks can be set back.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from research._util.egress import Sent
from research._util.nul import json_without_nul
from research.errors import ConfigError
from research.events.audit_findings import AuditedSource, AuditedStatement, Given, Miscount
from research.events.recipe import Recipe
from research.text import clip
from research.types import Citation, Message, Observation, Outcome, Part, Reply, Source, ToolCall, Usage

Status = Literal["queued", "running", "completed", "waiting_input", "paused", "stopped", "failed"]


class PlanItem(Struct, frozen=True, omit_defaults=True):
    """One thing that a run intends to find out."""

    question: str
    sources: tuple[str, ...] = ()
    """The sources to look in; empty: all that the run has."""


class Forecast(Struct, frozen=True, omit_defaults=True):
    """What a run is expected to take, each as a minimum and maximum."""

    calls: tuple[float, float]
    """Requests to models."""
    tokens: tuple[float, float]
    usd: tuple[float, float] | None = None
    """None if a price is unknown."""
    line: str = ""
    """The estimate in one line."""


class Base(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag=True):
    """The fields of every event."""

    run: str = ""
    seq: int = -1
    time: float = 0.0
    """Seconds since the epoch."""
    agent: str = "main"


class Exchange(Struct, frozen=True):
    """An earlier question and its report."""

    question: str
    report: str


class Earlier(Struct, frozen=True, omit_defaults=True):
    """What a follow-up inherits from earlier runs, which it does not read itself."""

    exchanges: tuple[Exchange, ...]
    """Oldest first."""
    sources: tuple[Source, ...] = ()
    """Passages that were seen, with their numbers; new sources get higher ones."""
    computed: tuple[str, ...] = ()
    """Outputs of the python tool."""
    private: bool = False
    """Whether private content was seen, so that the follow-up may not open arbitrary urls from its start."""


class RunStarted(Base, frozen=True):
    question: str
    recipe: Recipe
    earlier: Earlier | None = None
    """Set for a follow-up."""
    given: Given | None = None
    """Set for an audit: the report that is checked."""


class Asked(Base, frozen=True):
    """A request is sent to a model.

    The messages sent are the first `keep` messages of this agent's previous request, then `messages`.  Storing this
    difference makes the log grow linearly with the rounds, not quadratically.
    """

    ask: int
    """Number of this request among the agent's requests, from 1."""
    round: int
    purpose: str
    model: str
    keep: int = 0
    messages: tuple[Message, ...] = ()
    tools: tuple[str, ...] = ()
    prompt_tokens: int = 0
    """An estimate; `Replied` has the provider's count."""
    rounds_shown: int = 0
    """Rounds of this agent whose observations are in the prompt."""
    rounds_so_far: int = 0
    """Rounds completed; those not shown were dropped or summarised."""
    window: int = 0
    """Largest prompt that the strategy or the model allows, in tokens; 0 if unknown."""
    role: str = ""
    """The part of the work that the purpose belongs to, one of `recipe.ROLES`; empty in runs of earlier versions."""
    step: bool | None = None
    """Whether the request takes an agent a step further; others sum up, judge or frame.  None in runs of earlier versions."""


class Streamed(Base, frozen=True):
    """A piece of the reply that the model is writing."""

    ask: int
    text: str
    kind: Literal["text", "reasoning"] = "text"


class Withdrawn(Base, frozen=True):
    """A request failed and is retried; its streamed text is discarded."""

    ask: int
    error: str
    wait_s: float


class Rejected(Base, frozen=True):
    """A complete reply could not be parsed; the model gets the problem and is asked again."""

    ask: int
    text: str
    problem: str
    usage: Usage


class Replied(Base, frozen=True):
    ask: int
    purpose: str
    reply: Reply
    usage: Usage
    seconds: float


class Forwarded(Base, frozen=True):
    """A request of another program's agent, sent on to the endpoint once saved.

    Its messages are the first `keep` of this agent's previous request, then `items`; a `head` of None is the previous one.
    """

    ask: int
    api: Literal["chat", "responses", "messages"]
    sha256: str
    """Of the body, as sent."""
    head: dict[str, Any] | None = None
    """The body without its messages."""
    keep: int = 0
    items: tuple[Any, ...] = ()
    """Messages as in the body."""


class Returned(Base, frozen=True):
    """The endpoint's answer, byte for byte; saved before the agent gets its last byte."""

    ask: int
    status: int
    body: bytes
    headers: dict[str, str] = {}
    """Those that a replay repeats."""


class ToolStarted(Base, frozen=True):
    call: ToolCall


class ToolFinished(Base, frozen=True):
    observation: Observation


class Edited(ToolFinished, frozen=True):
    """The user replaced a tool's result before a fork; the view shows this one instead."""

    was: str
    """The tool's original result."""


class Warned(Base, frozen=True):
    """The workbench intervened, e.g. it broke a loop, dropped an observation or trimmed the context."""

    kind: Literal["loop", "budget", "context", "tool", "model", "memory", "check", "cut"]
    text: str


class Recalled(Base, frozen=True):
    """The memory was searched before the first round; the result is part of every prompt, next to the question."""

    query: str
    observation: Observation
    """If not ok, its text says why the search failed."""


class Remembered(Base, frozen=True):
    """Findings of the run were saved in the memory."""

    added: tuple[str, ...] = ()
    """Ids of new entries."""
    known: tuple[str, ...] = ()
    """Ids of existing entries that say the same."""


class ReportUpdated(Base, frozen=True):
    """The evolving report after a round; with citations, the finished report that a judge has yet to read."""

    report: str
    citations: tuple[Citation, ...] = ()
    """The verdicts known so far: those of the rules, and the judge's on statements read before."""


class ReportEdited(ReportUpdated, frozen=True, kw_only=True):
    """The user replaced the evolving report before a fork; the view shows this one instead."""

    was: str
    """The agent's report; empty when there was none."""


class Concluding(Base, frozen=True):
    """A limit ended the loop; one request without tools asks for the best answer so far."""

    reason: Outcome


class Audited(Base, frozen=True):
    """More of a report was checked: sources looked for, and statements judged."""

    statements: tuple[AuditedStatement, ...] = ()
    sources: tuple[AuditedSource, ...] = ()
    miscounts: tuple[Miscount, ...] = ()
    total: int = 0
    """Number of statements of the report; 0 in all but the first event."""
    notes: tuple[str, ...] = ()
    """What was left out, and why."""


class ChildStarted(Base, frozen=True):
    """A sub-agent starts; `agent` is its own path."""

    question: str
    recipe: str


class ChildFinished(Base, frozen=True):
    outcome: Outcome
    answer: str


class WaitingForUser(Base, frozen=True):
    """The agent asks the user a question; the run waits for `UserReplied`."""

    prompt: str
    site: str = ""
    """The site that the user may allow with yes; empty for the agent's own question."""
    plan: bool = False
    """Whether the run waits for `PlanApproved`, not for a reply."""
    sent: tuple[Sent, ...] = ()
    """As in `RunFinished`."""


class UserReplied(Base, frozen=True):
    text: str


class PlanProposed(Base, frozen=True):
    """What the run intends to do; nothing else is spent before the user has approved it."""

    items: tuple[PlanItem, ...]
    forecast: Forecast | None = None
    """None if it is unknown."""


class PlanApproved(Base, frozen=True):
    """The user approved the plan, perhaps after a change; it is a part of every prompt, next to the question."""

    items: tuple[PlanItem, ...]


class Paused(Base, frozen=True):
    """The run pauses until `Resumed`; no request or call is in flight."""

    reason: str = ""
    """Why the run cannot continue, e.g. a service is down; empty when the user paused it."""
    sent: tuple[Sent, ...] = ()
    """As in `RunFinished`."""


class Resumed(Base, frozen=True):
    """The run continues: after a pause, after its process died, or as a fork that starts here."""

    by_itself: bool = False
    """Whether the run was reclaimed after its process died, rather than resumed by a user."""
    adopts: bool = False
    """Whether the rounds before this event were made with another recipe or edited: then they are transcript only, and
    their requests are not replayed."""


class RunFailed(Base, frozen=True):
    """An unexpected error ended the run.  Always followed by `RunFinished`."""

    error: str
    traceback: str


class RunFinished(Base, frozen=True):
    """The last event of every run that has ended."""

    status: Status
    outcome: Outcome
    answer: str
    report: str
    citations: tuple[Citation, ...] = ()
    uncited: tuple[str, ...] = ()
    """Sentences that state a fact without a citation."""
    removed: tuple[str, ...] = ()
    """Urls that the model wrote without having seen them; removed from its text."""
    short: str = ""
    """The answer in one line, if there is one: a name, a figure with unit and year, yes or no."""
    parts: tuple[Part, ...] = ()
    """What the question asks for; empty in runs of earlier versions."""
    plan: tuple[Part, ...] = ()
    """The items of the approved plan, and whether the report answers each."""
    seconds: float = 0.0
    sent: tuple[Sent, ...] | None = None
    """What left this machine since the run was started or resumed; None in runs of earlier versions."""


Event = (
    RunStarted
    | Asked
    | Streamed
    | Withdrawn
    | Rejected
    | Replied
    | Forwarded
    | Returned
    | ToolStarted
    | ToolFinished
    | Edited
    | Warned
    | Recalled
    | Remembered
    | ReportUpdated
    | ReportEdited
    | Concluding
    | Audited
    | ChildStarted
    | ChildFinished
    | WaitingForUser
    | UserReplied
    | PlanProposed
    | PlanApproved
    | Paused
    | Resumed
    | RunFailed
    | RunFinished
)
"""Every kind of event there is."""

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    """Return the event as one line of JSON, without the character U+0000."""
    return json_without_nul(_encoder.encode(event))


def decode(line: bytes | str) -> Event:
    """Parse an event and check it against the schema.  Raises `ConfigError`."""
    try:
        return _decoder.decode(json_without_nul(line.encode() if isinstance(line, str) else line))
    except RecursionError:
        raise ConfigError("not an event of a run: objects are nested too deeply") from None
    except (msgspec.DecodeError, UnicodeError) as error:
        # It quotes the input, which may be long.
        raise ConfigError(clip(f"not an event of a run: {error}", 300)) from error
