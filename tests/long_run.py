"""Write a long run event by event, for tests of pages that must stay fast."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from research.events.events import (
    Asked,
    Base,
    Event,
    Replied,
    ReportUpdated,
    RunFinished,
    RunStarted,
    Streamed,
    ToolFinished,
    ToolStarted,
)
from research.events.recipe import Budget, Recipe
from research.store import RunRow, Store
from research.types import Citation, Message, Observation, Reply, Source, ToolCall, Usage

QUESTION = "What do the two hundred chapters of the chronicle say?"
RECIPE = Recipe(framework="iter_research", context="evolving", framework_options={"rounds": 200}, budget=Budget(usd=1))
LINES = "The chapter tells of the harbour, the market and the people who came by the sea. " * 25
"""The result of a tool call, about 2,000 characters."""


def report(number: int) -> str:
    """Return the report after a round: a figure that changes, and a paragraph for each of the last forty chapters."""
    told = [
        f"Chapter {n} tells of the harbour and of {n * 7:,} ships [{n}]."
        for n in range(max(1, number - 39), number + 1)
    ]
    return "\n\n".join(["## The chronicle", f"{number} chapters were read so far [{number}].", *told])


def of_round(number: int) -> Iterator[Event]:
    """Yield the events of one round: request, streamed reply, updated report, tool call and result."""
    calls = (ToolCall(f"main-{number}-1", "search", {"query": f"chronicle chapter {number}"}),)
    text = f"<think>Read chapter {number} of the chronicle.</think>" + "The chapter was found. " * 20
    yield Asked(
        ask=number, round=number, purpose="act", model="extractive", keep=1, messages=(Message("user", LINES),),
        prompt_tokens=900, tools=("search",),
    ) if number > 1 else Asked(
        ask=1, round=1, purpose="act", model="extractive", messages=(Message("system", LINES), Message("user", LINES)),
        prompt_tokens=900, tools=("search",),
    )  # fmt: skip
    for start in range(0, len(text), 50):
        yield Streamed(ask=number, text=text[start : start + 50])
    reply = Reply(text, f"Read chapter {number} of the chronicle.", calls, report=report(number))
    yield Replied(ask=number, purpose="act", reply=reply, usage=Usage(900, 150, cost_usd=0.001), seconds=0.4)
    yield ReportUpdated(report=report(number))
    yield ToolStarted(call=calls[0])
    source = Source(number, f"https://chronicle.example/{number}", f"Chronicle · Chapter {number}", LINES)
    yield ToolFinished(observation=Observation(calls[0].id, "search", LINES, sources=(source,), seconds=0.2))


def ending(rounds: int, text: str | None = None, citations: tuple[Citation, ...] | None = None) -> RunFinished:
    """Return the run's last event, with the report after `rounds` rounds unless `text` is given."""
    if citations is None:
        told = range(max(1, rounds - 39), rounds + 1)
        claims = {n: f"Chapter {n} tells of the harbour and of {n * 7:,} ships." for n in told}
        citations = tuple(Citation(n, claim, "supported", LINES[:80]) for n, claim in claims.items())
    return RunFinished(
        status="completed", outcome="answered", answer="It tells of ships.", report=report(rounds) if text is None else text,
        citations=citations, seconds=rounds * 0.6,
    )  # fmt: skip


class LongRun:
    """Writes a long run to a store, as its engine would."""

    def __init__(self, store: Store, run_id: str, question: str = QUESTION, recipe: Recipe = RECIPE) -> None:
        self.store, self.run_id, self._seq, self._round = store, run_id, -1, 0
        store.create(RunRow(run_id, question, recipe))
        self.add([RunStarted(question=question, recipe=recipe)])

    def add(self, events: list[Event] | Iterator[Event]) -> float:
        """Save these events and return when, in seconds since the epoch."""
        now = time.time()
        stamped: list[Event] = []
        for event in events:
            self._seq += 1
            stamped.append(stamp(event, self.run_id, self._seq, now))
        self.store.append(stamped)
        self.store.heartbeat([self.run_id])
        # A page takes the run for lost when no heartbeat comes for seconds; this one counts for an hour.
        beat = "UPDATE runs SET beat = beat + 3600 WHERE id = ?"
        self.store._db.execute(beat, (self.run_id,))  # type: ignore[attr-defined]
        return now

    def rounds(self, count: int) -> float:
        """Add rounds and return when they were saved."""
        more = [event for n in range(self._round + 1, self._round + count + 1) for event in of_round(n)]
        self._round += count
        return self.add(more)

    def finish(self, report: str | None = None, citations: tuple[Citation, ...] | None = None) -> None:
        self.add([ending(self._round, report, citations)])


def stamp(event: Event, run: str, seq: int, now: float) -> Event:
    """Return the event with its run, sequence number and time."""
    stamped: Event = msgspec.structs.replace(event, run=run, seq=seq, time=now)
    assert isinstance(stamped, Base)
    return stamped
