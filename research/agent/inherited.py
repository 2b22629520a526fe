"""The events that a fork inherits from another run, and which observations and reports in them the user may edit."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec import Struct

from research import plugins
from research.errors import ConfigError
from research.events.branches import Branches, first_rounds, is_step
from research.events.events import (
    Asked,
    ChildFinished,
    Concluding,
    Edited,
    Event,
    Paused,
    Remembered,
    Replied,
    ReportEdited,
    ReportUpdated,
    Resumed,
    RunFailed,
    RunFinished,
    RunStarted,
    ToolFinished,
    UserReplied,
    Warned,
)
from research.events.recipe import Budget, Recipe
from research.events.transcript import Interaction
from research.events.view import fold
from research.protocols.tagged import split_reasoning, write_call
from research.store import RunRow
from research.types import Observation, Reply, ToolCall

EVOLVING: Final = "report"
"""Names the evolving report among edits; an observation is named by the id of its call."""
EDITED = 50_000
"""Most characters of an edited observation or report."""
UNEDITED: Final[Mapping[str, str]] = MappingProxyType({})


def interactions(events: Iterable[Event]) -> tuple[Interaction, ...]:
    """Return the complete rounds of the main agent, as its transcript contains them."""
    rounds: list[Interaction] = []
    reply: Reply | None = None
    hint = ""
    seen: dict[str, Observation] = {}
    for event in events:
        if event.agent != "main":
            continue
        match event:
            case Replied(purpose="act"):
                reply, hint = event.reply, ""
            case Warned(kind="loop") if reply is None and rounds:  # the workbench's hints about the round's results
                rounds[-1] = msgspec.structs.replace(
                    rounds[-1], hint="\n".join(filter(None, [rounds[-1].hint, event.text]))
                )
            case Warned(kind="loop"):
                hint = event.text
            case ToolFinished():
                seen[event.observation.call_id] = event.observation
            case UserReplied() if reply is not None and not reply.calls:  # else the calls follow
                rounds.append(Interaction(reply, hint=event.text))
                reply = None
        if reply is not None and (found := _observations(reply, seen)):
            rounds.append(Interaction(reply, found, hint))
            reply = None
    return tuple(rounds)


def _observations(reply: Reply, seen: dict[str, Observation]) -> tuple[Observation, ...]:
    """Return one observation for each call, in order; empty while one is missing."""
    if not seen.keys() >= {*(call.id for call in reply.calls), *(error.id for error in reply.errors)}:
        return ()
    found = [seen[call.id] for call in reply.calls]
    for error in reply.errors:
        found.insert(error.index, seen[error.id])
    return tuple(found)


def fork_of(
    row: RunRow, events: Sequence[Event], round: int, recipe: Recipe, question: str, edits: Mapping[str, str] = UNEDITED
) -> list[Event]:
    """Return the events that a fork begins with.

    `edits` replace texts: of an observation, by the id of its call, or of the report, by `EVOLVING`.  Edited rounds are
    adopted even under the same recipe, since a summary of them would describe the old text.  Raises `ConfigError`.
    """
    view = fold(events)
    if not view.forkable:
        raise ConfigError(
            f"run {row.id} cannot be forked: framework {row.recipe.framework!r} left no complete round; rerun the question "
            "instead"
        )
    if not 1 <= round <= view.forkable:
        raise ConfigError(f"run {row.id} cannot be forked at round {round}: expected a round from 1 to {view.forkable}")
    ending = (RunFinished, RunFailed, Concluding, Paused, Remembered)
    kept = first_rounds(events, round)
    ended = {event.agent for event in kept if isinstance(event, ChildFinished)}
    inherited = [
        event
        for event in kept
        if not (isinstance(event, ending) and event.agent == "main")
        # A limit ended the branch within these rounds; the fork may have budget to go on.
        and not (view.count.parallel and isinstance(event, Concluding) and event.agent not in ended)
    ]
    edits = _changes(inherited, edits)
    adopts = [isinstance(event, Resumed) and event.adopts for event in events]
    same = _without_budget(recipe) == _without_budget(row.recipe) and question == row.question and not edits
    # Rounds that the run itself had adopted stay adopted, even if the fork inherits only some of them.
    foreign = not same or (any(adopts) and not any(adopts[: len(inherited)]))
    if foreign:
        _check_adoption(row, recipe, bool(edits.get(EVOLVING) or fold(inherited).reports))
        inherited = _edited([event for event in inherited if event.agent == "main"], recipe, edits)
    inherited = [
        msgspec.structs.replace(event, question=question, recipe=recipe) if isinstance(event, RunStarted) else event
        for event in inherited
    ]
    return [*inherited, Resumed(time=time.time(), adopts=foreign)]


def _check_adoption(row: RunRow, recipe: Recipe, reported: bool) -> None:
    for each in (row.recipe, recipe):
        if not plugins.framework.get(each.framework).forkable:
            raise ConfigError(
                f"framework {each.framework!r} does not work round by round in one agent, so its rounds cannot be edited or "
                "adopted under another recipe; rerun the question instead, or fork with the same recipe"
            )
    writes, shows = (
        plugins.framework.get(recipe.framework).writes_report,
        plugins.context.get(recipe.context).shows_report,
    )
    if writes and shows and not reported:
        raise ConfigError(
            f"{recipe.framework} with context {recipe.context} continues from a report, but run {row.id} has none; fork "
            "with another context, or rerun the question"
        )


def _without_budget(recipe: Recipe) -> Recipe:
    return msgspec.structs.replace(recipe, budget=Budget(), prompts="")


class Editable(Struct, frozen=True):
    """An observation or report that the fork's next prompt contains, so that editing it has an effect."""

    round: int
    """0: the evolving report."""
    name: str
    """The id of the call, or `EVOLVING`."""
    text: str
    call: ToolCall | None = None
    """None for the report, and for a call that could not be parsed."""


def editable(events: Sequence[Event], round: int, recipe: Recipe) -> list[Editable]:
    """Return what can be edited in the first `round` rounds for a fork under that recipe, the latest first."""
    if not plugins.framework.get(recipe.framework).forkable:
        return []
    inherited = first_rounds(events, round)
    found = [Editable(0, EVOLVING, _report(inherited))] if plugins.context.get(recipe.context).shows_report else []
    seen = list(enumerate(interactions(inherited), 1))
    for number, each in reversed(seen[-_rounds_shown(recipe, len(seen)) :]):
        calls = {call.id: call for call in each.reply.calls}
        found += [Editable(number, one.call_id, one.text, calls.get(one.call_id)) for one in each.observations]
    return found


def _rounds_shown(recipe: Recipe, rounds: int) -> int:
    """Return how many of the last rounds the next prompt contains."""
    entry = plugins.context.get(recipe.context)
    shown = entry.keeps(entry.filled(recipe.context_options), rounds) if entry.keeps else rounds
    return max(1, int(shown))


def _report(events: Iterable[Event]) -> str:
    """Return the last evolving report."""
    return next((e.report for e in reversed(list(events)) if isinstance(e, ReportUpdated) and e.agent == "main"), "")


def _changes(events: Sequence[Event], edits: Mapping[str, str]) -> dict[str, str]:
    """Return the edits that differ from the current texts.  Raises `ConfigError` for an empty or too long one."""
    for name, text in edits.items():
        if not text.strip():
            raise ConfigError(f"the edited text of {name} is empty; write the text that the model should see")
        if len(text) > EDITED:
            raise ConfigError(
                f"the edited text of {name} has {len(text):,} characters; at most {EDITED:,} are accepted"
            )
    current = {e.observation.call_id: e.observation.text for e in events if isinstance(e, ToolFinished)}
    current[EVOLVING] = _report(events)
    return {name: text for name, text in edits.items() if text != current.get(name)}


def _edited(events: list[Event], recipe: Recipe, edits: Mapping[str, str]) -> list[Event]:
    """Return the events with the user's edits applied.  Raises `ConfigError` for an edit that the model would not see."""
    rounds = len(interactions(events))
    offered = [each.name for each in editable(events, rounds, recipe)]
    seen = {each.call_id: n for n, one in enumerate(interactions(events), 1) for each in one.observations}
    for name in edits:
        if name in offered:
            continue
        if name == EVOLVING:
            raise ConfigError(f"context {recipe.context!r} shows the model no report, so there is no report to edit")
        if name not in seen:
            raise ConfigError(
                f"no call {name!r} in rounds 1 to {rounds}; calls that can be edited: {', '.join(offered)}"
            )
        raise ConfigError(
            f"call {name} was made in round {seen[name]} of {rounds}, which context {recipe.context!r} no longer shows the "
            f"model; fork at round {seen[name]}, or edit one of: {', '.join(offered)}"
        )
    edited: list[Event] = []
    last = max((n for n, event in enumerate(events) if isinstance(event, ReportUpdated)), default=len(events))
    for index, event in enumerate(events):
        if isinstance(event, ToolFinished) and event.observation.call_id in edits:
            event = _edited_observation(event, edits[event.observation.call_id])
        elif isinstance(event, ReportUpdated) and index == last and EVOLVING in edits:
            was = event.was if isinstance(event, ReportEdited) else event.report
            event = ReportEdited(time=event.time, report=edits[EVOLVING], was=was)
        edited.append(event)
    if EVOLVING in edits and last == len(events):
        edited.append(ReportEdited(time=time.time(), report=edits[EVOLVING], was=""))
    return edited


def _edited_observation(event: ToolFinished, text: str) -> Edited:
    """Return the observation with the user's text.

    A source keeps its number and address, which citations refer to.  It keeps its quote only if the text still contains
    all of it, because the user's words are not a source.
    """
    seen = event.observation
    lines = [" ".join(line.removeprefix(">").split()) for line in text.splitlines()]
    sources = tuple(
        each if _contains_quote(lines, each.quote) else msgspec.structs.replace(each, quote="") for each in seen.sources
    )
    observation = msgspec.structs.replace(seen, text=text, ok=True, sources=sources, edited=True)
    return Edited(time=event.time, observation=observation, was=event.was if isinstance(event, Edited) else seen.text)


def _contains_quote(lines: Sequence[str], quote: str) -> bool:
    """Return whether all lines of the quote appear in the text, one after the other."""
    wanted = [" ".join(line.split()) for line in quote.splitlines()]
    return any(lines[n : n + len(wanted)] == wanted for n in range(len(lines) - len(wanted) + 1))


def prefix_hash(events: Iterable[Event], round: int) -> str:
    """Return a hash of a run's first `round` rounds, equal for equal transcripts in any run.

    12 hex digits of the SHA-256 of replies, observations, user replies and hints in order, and of the report after them,
    as JSON with sorted keys: of the main agent, or of each agent where branches take the steps.  Measurements such as
    seconds are left out, and so is the recipe.
    """
    kept = first_rounds(events, round)
    branches = Branches()
    for event in kept:
        branches.apply(event)
    if not branches.parallel:
        steps = frozenset(event.purpose for event in kept if isinstance(event, Asked) and is_step(event))
        return _hash(_said([event for event in kept if event.agent == "main"], steps))
    agents = sorted({event.agent for event in kept})
    return _hash([[agent, _said([event for event in kept if event.agent == agent])] for agent in agents])


def _hash(said: list[object]) -> str:
    return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()[:12]


def _said(events: Iterable[Event], purposes: frozenset[str] | None = None) -> list[object]:
    """Return what one agent wrote and saw, and its last report; only replies with these `purposes` count."""
    parts: list[object] = []
    report = ""
    for event in events:
        match event:
            case Replied(purpose=purpose) if purposes is None or purpose in purposes:
                parts.append(event.reply)
            case ToolFinished():
                parts.append(msgspec.structs.replace(event.observation, seconds=0.0, cached=False, new=None))
            case UserReplied() | Warned(kind="loop"):
                parts.append(event.text)
            case ReportUpdated():
                report = event.report
    return [parts, report]


def translated(interaction: Interaction, protocol: str) -> Interaction:
    """Return a round as a model under this protocol would have written it, without provider-specific blocks."""
    reply = interaction.reply
    tags = "<tool_call" in reply.text or "<action" in reply.text
    words = "" if tags else split_reasoning(reply.text)[1].strip()
    reasoning = reply.reasoning or reply.thinking
    text = words if reply.calls else reply.answer
    if protocol == "tagged":
        calls = "\n".join(write_call(call.name, **call.arguments) for call in reply.calls)
        thinking = "\n".join(filter(None, dict.fromkeys([reasoning, words])))
        text = f"<think>{thinking}</think>\n{calls}" if calls else f"<answer>{text}</answer>"
    # Some services require the reasoning of a turn with tool calls to be sent back.
    rewritten = Reply(text, reply.thinking, reply.calls, reply.answer, reasoning=reasoning, errors=reply.errors)
    return msgspec.structs.replace(interaction, reply=rewritten)
