"""What a run takes over from another one: the rounds of a fork, the findings that a follow-up goes on from."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import msgspec

from research import prompts, registry
from research.citations import cited, shown
from research.errors import ConfigError
from research.events import (
    Concluding,
    Earlier,
    Event,
    Exchange,
    Paused,
    Recalled,
    Remembered,
    Replied,
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
from research.types import Observation, Reply, Source
from research.view import RunView, fold, until

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


def fork_of(row: RunRow, events: Sequence[Event], round: int, recipe: Recipe, question: str) -> list[Event]:
    """The events that a fork begins with.  Raises `ConfigError` that says what is possible."""
    view = fold(events)
    if not view.forkable:
        raise ConfigError(
            f"run {row.id} has no round of its main agent to go on from ({row.recipe.framework}); rerun it instead"
        )
    if not 1 <= round <= view.forkable:
        raise ConfigError(f"run {row.id} cannot be forked at round {round}: rounds 1 to {view.forkable} are accepted")
    over = (RunFinished, RunFailed, Concluding, Paused, Remembered)
    kept = [e for e in until(events, round) if not (isinstance(e, over) and e.agent == "main")]
    adopts = [isinstance(event, Resumed) and event.adopts for event in events]
    same = _apart_from_budget(recipe) == _apart_from_budget(row.recipe) and question == row.question
    # What was adopted once stays adopted, also where only a part of it is kept.
    foreign = not same or (any(adopts) and not any(adopts[: len(kept)]))
    if foreign:
        _check_adoption(row, recipe, view)
        kept = [event for event in kept if event.agent == "main"]
    kept = [
        msgspec.structs.replace(event, question=question, recipe=recipe) if isinstance(event, RunStarted) else event
        for event in kept
    ]
    return [*kept, Resumed(time=time.time(), adopts=foreign)]


def _check_adoption(row: RunRow, recipe: Recipe, view: RunView) -> None:
    for each in (row.recipe, recipe):
        traits = registry.framework.get(each.framework).traits
        if "inner" in traits or not traits.get("loop", True):
            raise ConfigError(
                f"framework {each.framework!r} does not work round by round in one agent, so that no rounds can be taken "
                "over under another recipe; rerun the question instead, or fork with the same recipe"
            )
    if (recipe.framework, recipe.context) == ("iter_research", "evolving") and not view.reports:
        raise ConfigError(
            "iter_research with an evolving report goes on from a report, and this run wrote none; fork with another "
            "context, or rerun the question"
        )


def _apart_from_budget(recipe: Recipe) -> Recipe:
    return msgspec.structs.replace(recipe, budget=Budget(), prompts="")


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
    seen = [event.observation for event in events if isinstance(event, ToolFinished | Recalled)]
    printed = [each.text for each in seen if each.name == "python" and each.ok]
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
