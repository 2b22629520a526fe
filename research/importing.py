"""A run as a file, out and in again: its events, one a line, as `export --format jsonl` writes them.

A file comes from anywhere.  It is read as a stranger's: bounded, checked against the closed union of events and against
what no run of ours could hold, and without anything that could reach beyond the run when it is taken up again.
"""

from __future__ import annotations

import io
import re
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from research.engine import checked_question, new_id
from research.errors import ConfigError
from research.events import (
    Asked,
    Event,
    Recalled,
    Rejected,
    Replied,
    RunFinished,
    RunStarted,
    Streamed,
    ToolFinished,
    Withdrawn,
    decode,
    encode,
)
from research.recipe import Recipe
from research.sandbox.png import copied
from research.store import Store

MAX_BYTES = 64_000_000
"""Of one run, and of all runs of one file."""
MAX_RUNS = 200
"""In one file."""
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
_AGENT = re.compile(r"main(?:/[\w.-]{1,80}){0,8}")
_DEPTH = 64
"""Objects within objects; what is deeper cannot be drawn."""
_COUNT = 100_000
"""Rounds and requests of one agent."""
_LARGEST = 1e12
"""Of any number that we count or measure ourselves."""
_CALENDAR_S = 250_000_000_000
"""Late in the year 9892: what is later has no date."""
_PIXELS = 10_000
"""Of a picture, each way."""


class Saved(Struct, frozen=True):
    """A run as it stood in a file, checked."""

    events: tuple[Event, ...]
    withheld: tuple[str, ...] = ()
    """What was taken out of its recipe: folders and servers that mean something on another computer only, and
    the memory, which a stranger's run neither reads nor fills."""
    original: tuple[Event, ...] = ()
    """The events before anything was taken out of them."""

    @property
    def id(self) -> str:
        return self.events[0].run

    @property
    def started(self) -> RunStarted:
        first = self.events[0]
        assert isinstance(first, RunStarted)
        return first


class Kept(Struct, frozen=True):
    """What became of a run of a file: new, there already, or kept under another id because its own was taken."""

    id: str
    state: Literal["new", "there", "renamed"]
    withheld: tuple[str, ...] = ()


def written(events: Iterable[Event]) -> bytes:
    """A run as a file."""
    return b"".join(encode(event) + b"\n" for event in events)


def packed(runs: Mapping[str, Iterable[Event]]) -> bytes:
    """Several runs as one ZIP file, each under its id."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for run_id, events in runs.items():
            archive.writestr(f"{run_id}.jsonl", written(events))
    return target.getvalue()


def read_runs(data: bytes) -> list[Saved]:
    """The runs of a file: one as JSON lines, or a ZIP of several.  Raises `ConfigError`, and then nothing is taken."""
    if not data.startswith(b"PK"):
        return [read_run(data)]
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [info for info in archive.infolist() if not info.filename.endswith("/")]
            if not 0 < len(names) <= MAX_RUNS:
                raise ConfigError(f"the file holds {len(names):,} files; 1 to {MAX_RUNS} runs are accepted")
            runs, left = [], MAX_BYTES
            for info in names:
                with archive.open(info) as member:
                    body = member.read(left + 1)  # never more, whatever the file says of its size
                left -= len(body)
                if left < 0:
                    raise ConfigError(f"the runs of the file are larger than {MAX_BYTES // 1_000_000} MB together")
                runs.append(read_run(body))
            return runs
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ConfigError(f"the ZIP file cannot be read: {error}") from error


def read_run(data: bytes) -> Saved:
    """The run of a file of JSON lines.  Raises `ConfigError` that names the line and what is wrong with it."""
    if len(data) > MAX_BYTES:
        raise ConfigError(f"the file is larger than {MAX_BYTES // 1_000_000} MB, the most that a run may have")
    original: list[Event] = []
    asked: set[tuple[str, int]] = set()
    lines = ((number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip())
    for number, line in lines:
        try:
            event = decode(line)
            _check(event, original, asked)
        except RecursionError:
            raise ConfigError(f"line {number}: too many objects within objects") from None
        except ConfigError as error:
            raise ConfigError(f"line {number}: {error}") from None
        original.append(event)
    if not original:
        raise ConfigError("the file is empty; a run as `export --format jsonl` writes it is accepted")
    first, *rest = original
    assert isinstance(first, RunStarted)
    recipe, withheld = _harmless(first.recipe)
    events = (msgspec.structs.replace(first, recipe=recipe), *map(_drawable, rest))
    return Saved(events, withheld, tuple(original))


def keep(store: Store, saved: Saved) -> Kept:
    """Put a run of a file among the saved ones: all of it, or nothing.

    A run that had not ended is one whose process is gone: it can be read, and taken up again like any other.
    """
    run_id, state = saved.id, "new"
    if (there := _events(store, run_id)) is not None:
        if there in (saved.events, saved.original):
            return Kept(run_id, "there")
        run_id, state = new_id(), "renamed"
    question, recipe = saved.started.question, saved.started.recipe
    created = min(saved.started.time, time.time())
    try:
        store.create(run_id, question, recipe, created=created)
    except ConfigError:  # deleted a moment ago: its id is still taken
        run_id, state = new_id(), "renamed"
        store.create(run_id, question, recipe, created=created)
    whole = False
    try:
        store.append([msgspec.structs.replace(event, run=run_id) for event in saved.events])
        whole = True
    finally:
        if not whole:
            store.delete([run_id])
    return Kept(run_id, "new" if state == "new" else "renamed", saved.withheld)


def _events(store: Store, run_id: str) -> tuple[Event, ...] | None:
    """The events of the run of exactly that id; None when there is none."""
    try:
        found = store.run(run_id)
    except ConfigError:
        return None
    return tuple(store.events(run_id)) if found.id == run_id else None


_HERE = ("gguf", "scripted", "recorded")
"""Providers whose models are named by something on this computer."""


def _harmless(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe without what would give a stranger's run a hand in this computer, should it be taken up again.

    A file may hold calls that no model made; going on with the run would make those without a result.  What is left for
    them is what any page a model reads could cause as well: a search, a visit, a calculation in the sandbox.  A model
    that is a file, or another saved run, keeps its name but is of no provider that there is.
    """
    models = dict.fromkeys(name for name in (recipe.model, *recipe.roles.values()) if name.partition(":")[0] in _HERE)
    withheld = (*recipe.folders, *(f"MCP server {name}" for name in recipe.mcp), *(f"model {name}" for name in models))
    if recipe.recall or recipe.remember != "off" or "recall" in recipe.tools:
        withheld = (*withheld, "the memory")
        tools = tuple(tool for tool in recipe.tools if tool != "recall")
        recipe = msgspec.structs.replace(recipe, tools=tools, recall=0, remember="off")
    model, *others = (
        f"elsewhere:{name}" if name in models else name for name in (recipe.model, *recipe.roles.values())
    )
    roles = dict(zip(recipe.roles, others, strict=True))
    return msgspec.structs.replace(recipe, folders=(), mcp=(), model=model, roles=roles), withheld


def _drawable(event: Event) -> Event:
    """The event with its pictures copied pixel by pixel, and without those that are none."""
    if not isinstance(event, ToolFinished | Recalled) or not event.observation.images:
        return event
    images = tuple(image for each in event.observation.images if (image := copied(each, _PIXELS)))
    return msgspec.structs.replace(event, observation=msgspec.structs.replace(event.observation, images=images))


def _check(event: Event, before: list[Event], asked: set[tuple[str, int]]) -> None:
    """Whether the event may stand after those before it.  Raises `ConfigError`."""
    if event.seq != len(before):
        raise ConfigError(f"event {event.seq} where {len(before)} is due; a run is a list without gaps, from 0")
    if isinstance(event, RunStarted) == bool(before):
        raise ConfigError("a run begins with RunStarted, and has one")
    if before and event.run != before[0].run:
        raise ConfigError(f"run {event.run[:80]!r} within run {before[0].run!r}; a file holds one run")
    if not _ID.fullmatch(event.run):
        raise ConfigError(f"run {event.run[:80]!r}: up to 64 letters, digits, - and _ are accepted as an id")
    if not _AGENT.fullmatch(event.agent):
        raise ConfigError(f"agent {event.agent[:80]!r}: a path such as main/researcher-2 is accepted")
    if not 0 <= event.time <= _CALENDAR_S:
        raise ConfigError(f"time {event.time:.6g} is no date")
    if before and isinstance(before[-1], RunFinished):
        raise ConfigError("something happens after the run has ended")
    for number in _numbers(event):
        if not 0 <= number <= _LARGEST:
            raise ConfigError(f"{type(event).__name__} with the number {number:.6g}; 0 to {_LARGEST:.0e} is accepted")
    match event:
        case RunStarted(question=question):
            if checked_question(question) != question:
                raise ConfigError("the question begins or ends with space; none of ours does")
        case Asked(ask=ask, round=round_, keep=kept):
            if max(ask, round_, kept) > _COUNT:
                raise ConfigError(f"more than {_COUNT:,} rounds")
            asked.add((event.agent, ask))
        case Streamed(ask=ask) | Withdrawn(ask=ask) | Rejected(ask=ask) | Replied(ask=ask):
            if (event.agent, ask) not in asked:
                raise ConfigError(f"{type(event).__name__} to request {ask} of {event.agent}, which was never made")
        case RunFinished(status=status) if status not in ("completed", "stopped", "failed"):
            raise ConfigError(f"a run that has ended cannot be {status}")


def _numbers(value: Any, depth: int = 0, foreign: bool = False) -> Iterator[float]:
    """The numbers of our own fields, at any depth; foreign objects are only measured for theirs."""
    if depth > _DEPTH:
        raise ConfigError("too many objects within objects")
    if isinstance(value, Struct):
        # The place in the run is checked by itself.
        names = (name for name in value.__struct_fields__ if name not in ("seq", "time"))
        inner: Iterable[Any] = (getattr(value, name) for name in names)
    elif isinstance(value, dict):
        inner, foreign = value.values(), True
    elif isinstance(value, list | tuple):
        inner = value
    else:
        if isinstance(value, int | float) and not isinstance(value, bool) and not foreign:
            yield value
        return
    for each in inner:
        yield from _numbers(each, depth + 1, foreign)
