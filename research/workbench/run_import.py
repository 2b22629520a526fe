"""Writing runs to files and importing them: one event per line, as `export --format jsonl` writes them.

Files are untrusted: their size is bounded, every event is checked, and the recipe loses whatever could give a resumed run
access to this computer.
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

from research.engine.engine import checked_question, new_id
from research.errors import ConfigError
from research.events.events import (
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
from research.events.recipe import Recipe
from research.sandbox.png import sanitized
from research.store import Store

MAX_BYTES = 64_000_000
"""Largest size of one run, and of all runs in one file."""
MAX_RUNS = 200
"""Most runs in one file."""
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
_AGENT = re.compile(r"main(?:/[\w.-]{1,80}){0,8}")
_DEPTH = 64
"""Most levels of nested objects that the pages can draw."""
_COUNT = 100_000
"""Most rounds and requests of one agent."""
_LARGEST = 1e12
"""Largest value of the events' own numbers, such as tokens and seconds."""
_CALENDAR_S = 250_000_000_000
"""Latest time, in the year 9892; Python's dates end with 9999."""
_PIXELS = 10_000
"""Largest width and height of a picture."""


class CheckedRun(Struct, frozen=True):
    """A run read from a file and checked."""

    events: tuple[Event, ...]
    withheld: tuple[str, ...] = ()
    """What was removed from its recipe: folders, servers and models of the computer it comes from, and the use of the
    memory."""
    original: tuple[Event, ...] = ()
    """The events before anything was removed."""

    @property
    def id(self) -> str:
        return self.events[0].run

    @property
    def started(self) -> RunStarted:
        first = self.events[0]
        assert isinstance(first, RunStarted)
        return first


class ImportedRun(Struct, frozen=True):
    """The result of importing a run: new, already there, or saved under another id because its own was taken."""

    id: str
    state: Literal["new", "there", "renamed"]
    withheld: tuple[str, ...] = ()


def to_jsonl(events: Iterable[Event]) -> bytes:
    """Return a run as JSON lines."""
    return b"".join(encode(event) + b"\n" for event in events)


def to_zip(runs: Mapping[str, Iterable[Event]]) -> bytes:
    """Return several runs as a ZIP file, each under its id."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for run_id, events in runs.items():
            archive.writestr(f"{run_id}.jsonl", to_jsonl(events))
    return target.getvalue()


def read_runs(data: bytes) -> list[CheckedRun]:
    """Return the runs in a file: one as JSON lines, or a ZIP file of several.  Raises `ConfigError` if one is invalid."""
    if not data.startswith(b"PK"):
        return [read_run(data)]
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [info for info in archive.infolist() if not info.filename.endswith("/")]
            if not 0 < len(names) <= MAX_RUNS:
                raise ConfigError(f"the file holds {len(names):,} files; 1 to {MAX_RUNS} runs are accepted")
            runs, remaining = [], MAX_BYTES
            for info in names:
                with archive.open(info) as member:
                    body = member.read(remaining + 1)  # the size that the file states may be wrong
                remaining -= len(body)
                if remaining < 0:
                    raise ConfigError(f"the runs of the file are larger than {MAX_BYTES // 1_000_000} MB together")
                runs.append(read_run(body))
            return runs
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ConfigError(f"the ZIP file cannot be read: {error}") from error


def read_run(data: bytes) -> CheckedRun:
    """Return the run in a file of JSON lines.  Raises `ConfigError` that names the line and its error."""
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
    return CheckedRun(events, withheld, tuple(original))


def import_run(store: Store, checked: CheckedRun) -> ImportedRun:
    """Save an imported run, all of it or nothing.

    A run that had not ended counts as interrupted: it can be read, and resumed like any other.
    """
    run_id, state = checked.id, "new"
    if (existing := _events(store, run_id)) is not None:
        if existing in (checked.events, checked.original):
            return ImportedRun(run_id, "there")
        run_id, state = new_id(), "renamed"
    question, recipe = checked.started.question, checked.started.recipe
    created = min(checked.started.time, time.time())
    try:
        store.create(run_id, question, recipe, created=created)
    except ConfigError:  # the id of a deleted run that was not purged yet
        run_id, state = new_id(), "renamed"
        store.create(run_id, question, recipe, created=created)
    whole = False
    try:
        store.append([msgspec.structs.replace(event, run=run_id) for event in checked.events])
        whole = True
    finally:
        if not whole:
            store.delete([run_id])
    return ImportedRun(run_id, "new" if state == "new" else "renamed", checked.withheld)


def _events(store: Store, run_id: str) -> tuple[Event, ...] | None:
    """Return the events of the run with exactly that id; None if there is none."""
    try:
        found = store.run(run_id)
    except ConfigError:
        return None
    return tuple(store.events(run_id)) if found.id == run_id else None


_HERE = ("gguf", "scripted", "recorded")
"""Providers whose models are files or saved runs on this computer."""


def _harmless(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """Return the recipe without access to this computer, should the run be resumed; and what was removed.

    A file may contain calls that no model made, and resuming the run makes those that have no result.  They can only do
    what a web page could also make a model do: search, visit, calculate in the sandbox.  A model that is a local file or
    saved run keeps its name under the unknown provider `elsewhere`.
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
    judge = recipe.judge if recipe.judge in ("model", "off") else ""
    if judge != recipe.judge:
        withheld = (*withheld, f"judge {recipe.judge}")
    return msgspec.structs.replace(recipe, folders=(), mcp=(), model=model, roles=roles, judge=judge), withheld


def _drawable(event: Event) -> Event:
    """Return the event with its pictures copied pixel by pixel, without invalid ones."""
    if not isinstance(event, ToolFinished | Recalled) or not event.observation.images:
        return event
    images = tuple(image for each in event.observation.images if (image := sanitized(each, _PIXELS)))
    return msgspec.structs.replace(event, observation=msgspec.structs.replace(event.observation, images=images))


def _check(event: Event, before: list[Event], asked: set[tuple[str, int]]) -> None:
    """Check that the event may follow those before it.  Raises `ConfigError`."""
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
        raise ConfigError(f"time {event.time:.6g} is not a date")
    if before and isinstance(before[-1], RunFinished):
        raise ConfigError("there are events after the end of the run")
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
    """Yield the numbers of our own fields at any depth; of foreign objects, only the depth is checked."""
    if depth > _DEPTH:
        raise ConfigError("too many objects within objects")
    if isinstance(value, Struct):
        # `_check` checks seq and time itself.
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
