"""A run is an append-only list of these events; everything else is a fold of it.

Each event is a small frozen value with the run it belongs to, its place in it (`seq`, from 0, without gaps), the
wall-clock time, and the path of the agent that caused it (`main`, `main/researcher-2`).  Frameworks leave run, seq and
time empty; the driver stamps them.  Order is by `seq`, never by time: clocks move.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from research.errors import ConfigError
from research.recipe import Recipe
from research.types import (
    Citation,
    Message,
    Observation,
    Outcome,
    Reply,
    Source,
    Status,
    ToolCall,
    Usage,
)


class Base(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag=True):
    """What all events share."""

    run: str = ""
    seq: int = -1
    time: float = 0.0
    """Seconds since the epoch."""
    agent: str = "main"


class Exchange(Struct, frozen=True):
    """A question that was asked before, and what came of it."""

    question: str
    report: str


class Earlier(Struct, frozen=True, omit_defaults=True):
    """What a follow-up knows of the runs before it: enough to go on without them."""

    exchanges: tuple[Exchange, ...]
    """Oldest first."""
    sources: tuple[Source, ...] = ()
    """Passages that were seen, with their numbers; new ones are numbered on."""
    computed: tuple[str, ...] = ()
    """What the python tool printed."""
    private: bool = False
    """Something private was seen there: from the start urls are not free."""


class RunStarted(Base, frozen=True):
    question: str
    recipe: Recipe
    earlier: Earlier | None = None
    """For a follow-up."""


class Asked(Base, frozen=True):
    """A request goes to a model.

    The messages are exactly what is sent, written as a difference: the first `keep` messages of this agent's previous
    request, then `messages`.  So the log grows with what is new, not with the square of the rounds.
    """

    ask: int
    """Count of this agent's requests, from 1."""
    round: int
    purpose: str
    model: str
    keep: int = 0
    messages: tuple[Message, ...] = ()
    tools: tuple[str, ...] = ()
    prompt_tokens: int = 0
    """Estimate; the provider's count comes with `Replied`."""
    rounds_shown: int = 0
    """Rounds of this agent whose observations stand in the prompt."""
    rounds_so_far: int = 0
    """Rounds it has completed; those not shown were dropped, or stand in a summary or report."""
    window: int = 0
    """Largest prompt that the strategy or the model allows, in tokens; 0: unknown."""


class Streamed(Base, frozen=True):
    """Some characters of the reply being written."""

    ask: int
    text: str
    kind: Literal["text", "reasoning"] = "text"


class Withdrawn(Base, frozen=True):
    """A request failed and is made again: what was streamed of it does not count."""

    ask: int
    error: str
    wait_s: float


class Rejected(Base, frozen=True):
    """A complete reply could not be read; the model is shown the problem and asked again."""

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


class ToolStarted(Base, frozen=True):
    call: ToolCall


class ToolFinished(Base, frozen=True):
    observation: Observation


class Edited(ToolFinished, frozen=True):
    """What the user wrote for a fork in the place of a tool's result; it stands where that stood."""

    was: str
    """What the tool had given."""


class Warned(Base, frozen=True):
    """The workbench stepped in, and says so: a loop, a dropped observation, a trimmed context."""

    kind: Literal["loop", "budget", "context", "tool", "model", "memory"]
    text: str


class Recalled(Base, frozen=True):
    """The memory was asked before the first round; what it gave stands beside the question in every prompt."""

    query: str
    observation: Observation
    """Not ok: why the memory could not be asked."""


class Remembered(Base, frozen=True):
    """What the run has taught is kept in the memory."""

    added: tuple[str, ...] = ()
    """Ids of new entries."""
    known: tuple[str, ...] = ()
    """Ids of entries that said the same already."""


class ReportUpdated(Base, frozen=True):
    """The evolving report after a round."""

    report: str


class ReportEdited(ReportUpdated, frozen=True):
    """What the user wrote for a fork in the place of an evolving report; it stands where that stood."""

    was: str
    """What the agent had written; empty when it had written none."""


class Concluding(Base, frozen=True):
    """A limit ended the loop; one tools-off call asks for the best answer from what is known."""

    reason: Outcome


class ChildStarted(Base, frozen=True):
    """A sub-agent begins; `agent` is its own path."""

    question: str
    recipe: str


class ChildFinished(Base, frozen=True):
    outcome: Outcome
    answer: str


class WaitingForUser(Base, frozen=True):
    """The agent asks the user something; the run rests until `UserReplied`."""

    prompt: str


class UserReplied(Base, frozen=True):
    text: str


class Paused(Base, frozen=True):
    """The run rests until `Resumed`; nothing is in flight."""

    reason: str = ""
    """Why nobody can go on just now, e.g. a service that is down; empty: the user wants it so."""


class Resumed(Base, frozen=True):
    """The run is taken up again: after a pause, after its process ended, or as a fork that begins here."""

    by_itself: bool = False
    """Nobody asked for it: whoever worked on it was gone."""
    adopts: bool = False
    """The rounds before were made under another recipe, or edited: they are this run's transcript, and none of their
    requests is its own."""


class RunFailed(Base, frozen=True):
    """Something that should not happen did.  Always followed by `RunFinished`."""

    error: str
    traceback: str


class RunFinished(Base, frozen=True):
    """The one terminal event."""

    status: Status
    outcome: Outcome
    answer: str
    report: str
    citations: tuple[Citation, ...] = ()
    uncited: tuple[str, ...] = ()
    """Sentences that state a fact and cite nothing."""
    removed: tuple[str, ...] = ()
    """Urls that the model wrote into its text without having seen them; they were taken out."""
    seconds: float = 0.0


Event = (
    RunStarted
    | Asked
    | Streamed
    | Withdrawn
    | Rejected
    | Replied
    | ToolStarted
    | ToolFinished
    | Edited
    | Warned
    | Recalled
    | Remembered
    | ReportUpdated
    | ReportEdited
    | Concluding
    | ChildStarted
    | ChildFinished
    | WaitingForUser
    | UserReplied
    | Paused
    | Resumed
    | RunFailed
    | RunFinished
)
"""The closed union: nothing else ever stands in a run."""

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    """One line of JSON."""
    return _encoder.encode(event)


def decode(line: bytes | str) -> Event:
    """Read one event back, checked against the schema.  Raises `ConfigError`."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"not an event of a run: {error}") from error
