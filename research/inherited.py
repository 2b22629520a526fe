"""What a run takes over from another one: the rounds of a fork, the findings that a follow-up goes on from."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec import Struct

from research import prompts, registry
from research.citations import cited, shown
from research.errors import ConfigError
from research.events import (
    Concluding,
    Earlier,
    Edited,
    Event,
    Exchange,
    Paused,
    Recalled,
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
from research.guard import is_private
from research.protocols.tagged import split_reasoning, write_call
from research.recipe import Budget, Recipe
from research.store import RunRow
from research.text import clip
from research.transcript import Interaction
from research.types import Observation, Reply, Source, ToolCall
from research.view import STEPS, RunView, fold, until

EXCHANGES = 4
"""Earlier questions that a chain of follow-ups remembers: the first, which says what it is about, and the last ones."""
QUESTION, REPORT, OLDER = 2_000, 6_000, 1_200
"""Characters kept of a question, of the last report, and of those before it."""
PASSAGES, QUOTED = 300, 60_000
"""Passages and characters of them that go along, to check citations against."""
COMPUTED = 20
"""Printed results of the python tool that go along."""
SHOWN = 12_000
"""Characters of earlier findings that a prompt holds; about 3,000 tokens."""
EVOLVING: Final = "report"
"""Names the evolving report among edits; everything else that can be edited has the id of a call."""
EDITED = 50_000
"""Characters that a user may write in the place of an observation or a report."""
UNEDITED: Final[Mapping[str, str]] = MappingProxyType({})


# -- the rounds of a fork ---------------------------------------------------------------------------------------------


def interactions(events: Iterable[Event]) -> tuple[Interaction, ...]:
    """The complete rounds of the main agent, as its transcript had them."""
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
            case Warned(kind="loop"):
                hint = event.text
            case ToolFinished():
                seen[event.observation.call_id] = event.observation
            case UserReplied() if reply is not None:
                rounds.append(Interaction(reply, hint=event.text))
                reply = None
        if reply is not None and (found := _observed(reply, seen)):
            rounds.append(Interaction(reply, found, hint))
            reply = None
    return tuple(rounds)


def _observed(reply: Reply, seen: dict[str, Observation]) -> tuple[Observation, ...]:
    """One observation for each call, in the order asked; none while one is missing."""
    if not seen.keys() >= {*(call.id for call in reply.calls), *(error.id for error in reply.errors)}:
        return ()
    found = [seen[call.id] for call in reply.calls]
    for error in reply.errors:
        found.insert(error.index, seen[error.id])
    return tuple(found)


def fork_of(
    row: RunRow, events: Sequence[Event], round: int, recipe: Recipe, question: str, edits: Mapping[str, str] = UNEDITED
) -> list[Event]:
    """The events that a fork begins with.  `edits`: other texts, by id of the call or `EVOLVING`, for what was seen there.

    Edited rounds are taken over as what happened so far, whatever the recipe: what a strategy made of them before, such
    as a summary, rests on what no longer stands there.  Raises `ConfigError` that says what is possible.
    """
    view = fold(events)
    if not view.forkable:
        raise ConfigError(
            f"run {row.id} has no round of its main agent to go on from ({row.recipe.framework}); rerun it instead"
        )
    if not 1 <= round <= view.forkable:
        raise ConfigError(f"run {row.id} cannot be forked at round {round}: rounds 1 to {view.forkable} are accepted")
    over = (RunFinished, RunFailed, Concluding, Paused, Remembered)
    kept = [e for e in until(events, round) if not (isinstance(e, over) and e.agent == "main")]
    edits = _changing(kept, edits)
    adopts = [isinstance(event, Resumed) and event.adopts for event in events]
    same = _apart_from_budget(recipe) == _apart_from_budget(row.recipe) and question == row.question and not edits
    # What was adopted once stays adopted, also where only a part of it is kept.
    foreign = not same or (any(adopts) and not any(adopts[: len(kept)]))
    if foreign:
        _check_adoption(row, recipe, bool(edits.get(EVOLVING) or fold(kept).reports))
        kept = _edited([event for event in kept if event.agent == "main"], recipe, edits)
    kept = [
        msgspec.structs.replace(event, question=question, recipe=recipe) if isinstance(event, RunStarted) else event
        for event in kept
    ]
    return [*kept, Resumed(time=time.time(), adopts=foreign)]


def goes_by_rounds(framework: str) -> bool:
    """Whether it works round by round in one agent, and so can go on from rounds made otherwise.  Raises `ConfigError`."""
    traits = registry.framework.get(framework).traits
    return "inner" not in traits and bool(traits.get("loop", True))


def _check_adoption(row: RunRow, recipe: Recipe, reported: bool) -> None:
    for each in (row.recipe, recipe):
        if not goes_by_rounds(each.framework):
            raise ConfigError(
                f"framework {each.framework!r} does not work round by round in one agent, so that no rounds can be taken "
                "over under another recipe, or edited; rerun the question instead, or fork with the same recipe"
            )
    if (recipe.framework, recipe.context) == ("iter_research", "evolving") and not reported:
        raise ConfigError(
            "iter_research with an evolving report goes on from a report, and this run wrote none; fork with another "
            "context, or rerun the question"
        )


def _apart_from_budget(recipe: Recipe) -> Recipe:
    return msgspec.structs.replace(recipe, budget=Budget(), prompts="")


class Editable(Struct, frozen=True):
    """What of the rounds that a fork keeps the next prompt shows, so that another text would be read there."""

    round: int
    """0: the evolving report."""
    name: str
    """Id of the call, or `EVOLVING`."""
    text: str
    call: ToolCall | None = None
    """None for the report, and for a call that could not be read."""


def editable(events: Sequence[Event], round: int, recipe: Recipe) -> list[Editable]:
    """What can be edited in the first `round` rounds for a fork under that recipe, the latest first; may be empty."""
    if not goes_by_rounds(recipe.framework):
        return []
    kept = until(events, round)
    found = [Editable(0, EVOLVING, _report(kept))] if recipe.context == "evolving" else []
    seen = list(enumerate(interactions(kept), 1))
    for number, each in reversed(seen[-_shown(recipe, len(seen)) :]):
        calls = {call.id: call for call in each.reply.calls}
        found += [Editable(number, one.call_id, one.text, calls.get(one.call_id)) for one in each.observations]
    return found


def _shown(recipe: Recipe, rounds: int) -> int:
    """How many of the last rounds the next prompt holds."""
    entry = registry.context.get(recipe.context)
    options = {option.name: option.default for option in entry.options} | recipe.context_options
    return 1 if recipe.context == "evolving" else int(options["k"]) if recipe.context == "window" else max(1, rounds)


def _report(kept: Iterable[Event]) -> str:
    """The evolving report as it stood at last."""
    return next((e.report for e in reversed(list(kept)) if isinstance(e, ReportUpdated) and e.agent == "main"), "")


def _changing(kept: Sequence[Event], edits: Mapping[str, str]) -> dict[str, str]:
    """Those edits that change something.  Raises `ConfigError` for a text that is none."""
    for name, text in edits.items():
        if not text.strip():
            raise ConfigError(f"the edited text of {name} is empty; write what is to stand there")
        if len(text) > EDITED:
            raise ConfigError(f"the edited text of {name} has {len(text):,} characters; accepted: at most {EDITED:,}")
    stands = {e.observation.call_id: e.observation.text for e in kept if isinstance(e, ToolFinished)}
    stands[EVOLVING] = _report(kept)
    return {name: text for name, text in edits.items() if text != stands.get(name)}


def _edited(kept: list[Event], recipe: Recipe, edits: Mapping[str, str]) -> list[Event]:
    """The events with the texts of the user in their places.  Raises `ConfigError` for one that nobody would read."""
    rounds = len(interactions(kept))
    offered = [each.name for each in editable(kept, rounds, recipe)]
    seen = {each.call_id: n for n, one in enumerate(interactions(kept), 1) for each in one.observations}
    for name in edits:
        if name in offered:
            continue
        if name == EVOLVING:
            raise ConfigError(f"context {recipe.context!r} shows the model no report: only evolving has one to edit")
        if name not in seen:
            raise ConfigError(f"no call {name!r} in rounds 1 to {rounds}; can be edited: {', '.join(offered)}")
        raise ConfigError(
            f"{name} was seen in round {seen[name]} of {rounds}, which {recipe.context} no longer shows the model; fork at "
            f"round {seen[name]}, or edit one of: {', '.join(offered)}"
        )
    made: list[Event] = []
    last = max((n for n, event in enumerate(kept) if isinstance(event, ReportUpdated)), default=len(kept))
    for place, event in enumerate(kept):
        if isinstance(event, ToolFinished) and event.observation.call_id in edits:
            event = _observed_by_user(event, edits[event.observation.call_id])
        elif isinstance(event, ReportUpdated) and place == last and EVOLVING in edits:
            was = event.was if isinstance(event, ReportEdited) else event.report
            event = ReportEdited(time=event.time, report=edits[EVOLVING], was=was)
        made.append(event)
    if EVOLVING in edits and last == len(kept):
        made.append(ReportEdited(time=time.time(), report=edits[EVOLVING], was=""))
    return made


def _observed_by_user(event: ToolFinished, text: str) -> Edited:
    """The observation as the user wants it read.

    A source keeps its number and address, for what was said of it still names it, and its quote where all of that still
    stands there: the user's words are no source.
    """
    seen = event.observation
    lines = [" ".join(line.removeprefix(">").split()) for line in text.splitlines()]
    sources = tuple(
        each if _stands(each.quote, lines) else msgspec.structs.replace(each, quote="") for each in seen.sources
    )
    observation = msgspec.structs.replace(seen, text=text, ok=True, sources=sources, edited=True)
    return Edited(time=event.time, observation=observation, was=event.was if isinstance(event, Edited) else seen.text)


def _stands(quote: str, lines: Sequence[str]) -> bool:
    """Whether the lines of the quote stand there, together and whole."""
    held = [" ".join(line.split()) for line in quote.splitlines()]
    return any(lines[n : n + len(held)] == held for n in range(len(lines) - len(held) + 1))


def prefix_hash(events: Iterable[Event], round: int) -> str:
    """Names what the main agent's first `round` rounds were: equal exactly where their transcripts are, in any run.

    12 hex digits of the SHA-256 of replies, observations, replies of the user and hints in their order, and of the report
    after them, as JSON with sorted keys.  What only measures, such as seconds, is not in it, nor is the recipe.
    """
    told: list[object] = []
    report = ""
    for event in until(events, round):
        if event.agent != "main":
            continue
        match event:
            case Replied(purpose=purpose) if purpose in STEPS:
                told.append(event.reply)
            case ToolFinished():
                told.append(msgspec.structs.replace(event.observation, seconds=0.0, cached=False))
            case UserReplied() | Warned(kind="loop"):
                told.append(event.text)
            case ReportUpdated():
                report = event.report
    return hashlib.sha256(msgspec.json.encode([told, report], order="sorted")).hexdigest()[:12]


def retold(interaction: Interaction, protocol: str) -> Interaction:
    """A round as a model under this protocol would have written it: what only another provider understands is left out."""
    reply = interaction.reply
    tags = "<tool_call" in reply.text or "<action" in reply.text
    said = "" if tags else split_reasoning(reply.text)[1].strip()
    thought = reply.reasoning or reply.thinking
    words = said if reply.calls else reply.answer
    if protocol == "tagged":
        calls = "\n".join(write_call(call.name, **call.arguments) for call in reply.calls)
        thinking = "\n".join(filter(None, dict.fromkeys([thought, said])))
        words = f"<think>{thinking}</think>\n{calls}" if calls else f"<answer>{words}</answer>"
    # Services that want the thought of a tool turn sent back get what there is of it.
    again = Reply(words, reply.thinking, reply.calls, reply.answer, reasoning=thought, errors=reply.errors)
    return msgspec.structs.replace(interaction, reply=again)


# -- the findings of a follow-up --------------------------------------------------------------------------------------


def carried(view: RunView, events: Sequence[Event]) -> Earlier:
    """What a follow-up of this run has to know, bounded however long the chain gets."""
    before = view.earlier
    kept = (
        [msgspec.structs.replace(each, report=clip(each.report, OLDER)) for each in before.exchanges] if before else []
    )
    report = clip(view.report or view.answer, REPORT)
    asked = [*kept, Exchange(clip(view.question, QUESTION), report)]
    exchanges = (*asked[:1], *asked[1:][-EXCHANGES + 1 :])
    heard = [event for event in events if isinstance(event, ToolFinished | Recalled)]
    seen = [event.observation for event in heard]
    done = [event.observation for event in heard if not isinstance(event, Edited)]
    printed = [each.text for each in done if each.name == "python" and each.ok]
    computed = (*(before.computed if before else ()), *(clip(text, 1_000) for text in printed))[-COMPUTED:]
    private = (before is not None and before.private) or any(map(is_private, seen))
    return Earlier(exchanges, _kept(view, exchanges), computed, private)


def _kept(view: RunView, exchanges: Sequence[Exchange]) -> tuple[Source, ...]:
    """The passages that are worth most, by number: first those of sources that the last reports cite."""
    order = list(dict.fromkeys(n for each in reversed(exchanges) for n in cited(each.report)))
    numbers = sorted(view.sources, key=lambda n: order.index(n) if n in order else len(order))
    room = QUOTED
    kept: list[Source] = []
    for source in (source for n in numbers for source in view.sources[n]):
        room -= len(source.quote) + len(source.title) + len(source.url)
        if room < 0 or len(kept) == PASSAGES:
            break
        kept.append(source)
    return tuple(sorted(kept, key=lambda source: source.n))


def told(earlier: Earlier, language: str, room: int = SHOWN) -> str:
    """The earlier findings as quoted material for a prompt, in about `room` characters."""
    *older, last = earlier.exchanges
    parts = [_exchange(each, language, room // 10) for each in older]
    parts.append(_exchange(last, language, room // 3))
    left = room - sum(map(len, parts))
    order = list(dict.fromkeys(n for each in reversed(earlier.exchanges) for n in cited(each.report)))
    ranked = sorted(earlier.sources, key=lambda source: order.index(source.n) if source.n in order else len(order))
    quoted = []
    for source in ranked:
        text = shown(msgspec.structs.replace(source, quote=clip(source.quote, max(200, room // 8))))
        left -= len(text)
        if left < 0:
            break
        quoted.append((source.n, text))
    sources = "\n\n".join(text for _, text in sorted(quoted, key=lambda each: each[0]))
    words = prompts.text("earlier", language, exchanges="\n\n".join(parts), sources=sources or "-")
    return prompts.quoted("earlier", words)


def _exchange(each: Exchange, language: str, room: int) -> str:
    report = "\n".join(f"> {line}" for line in clip(each.report, room).splitlines())
    question = " ".join(clip(each.question, max(200, room // 3)).split())
    return prompts.text("earlier_exchange", language, question=question, report=report)
