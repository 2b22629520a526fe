"""Writing runs to files and importing them: one event per line, as `export --format jsonl` writes them.

Files are untrusted: their size is bounded, every event is checked, the recipe loses all that could give a resumed run
access to this computer, and its numbers are brought within the limits of this workbench.  A run that had not ended is
saved as paused: only a user continues it.
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

from research import defaults, plugins
from research.engine.engine import checked_question, new_id
from research.errors import ConfigError
from research.events.events import (
    Asked,
    Event,
    Paused,
    Recalled,
    Rejected,
    Replied,
    RunFinished,
    RunStarted,
    Streamed,
    ToolFinished,
    WaitingForUser,
    Withdrawn,
    decode,
    encode,
)
from research.events.recipe import UNCERTAIN, Recipe, provider_of
from research.models.usage import LARGEST
from research.sandbox.png import sanitized
from research.store import RunRow, Store
from research.workbench.recipes import command_option

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
_DIGITS = 300
"""Most digits of any other number, such as a call's argument; longer ones cannot be compared."""
_LEAST = {"tokens": 1, "usd": 0.0001, "seconds": 0.1, "tool_calls": 1}
"""The smallest caps of a budget that the pages accept."""
_HOTTEST = 2.0
"""The highest temperature that the pages accept."""
_CALENDAR_S = 250_000_000_000
"""Latest time, in the year 9892; Python's dates end with 9999."""
_PIXELS = 10_000
"""Largest width and height of a picture."""
_TEXT, _NAME = 4_000_000, 10_000
"""Most characters of a text such as a reply; and of texts repeated wherever a run is shown: names, titles, addresses, ids."""
_NAMES = frozenset(
    {
        "id",
        "call_id",
        "name",
        "title",
        "url",
        "model",
        "purpose",
        "tools",
        "memory",
        "site",
        "by",
        "code",
        "added",
        "known",
        "searched",
    }
)
"""Fields with such repeated texts, beside the recipe."""
_ITEMS, _AGENTS = 20_000, 1_000
"""Most values of a list or an object, and most agents of a run."""
_MARKS = 5_000_000
"""Most commas and opening brackets of a file: a value of two characters takes 60 bytes of memory."""


class CheckedRun(Struct, frozen=True):
    """A run read from a file and checked."""

    events: tuple[Event, ...]
    withheld: tuple[str, ...] = ()
    """Removed from its recipe: folders, servers and models of its computer, and the use of the memory."""
    limited: tuple[str, ...] = ()
    """Changed in its recipe: numbers beyond the limits of this workbench."""
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
    limited: tuple[str, ...] = ()
    unfinished: bool = False
    """Whether it had not ended, so that a user may resume it."""


def to_jsonl(events: Iterable[Event]) -> bytes:
    """Return a run as JSON lines."""
    return b"".join(encode(event) + b"\n" for event in events)


def to_zip(runs: Mapping[str, Iterable[Event] | bytes]) -> bytes:
    """Return several runs as a ZIP file, each under its id; a damaged one with its lines as stored."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for run_id, events in runs.items():
            archive.writestr(f"{run_id}.jsonl", events if isinstance(events, bytes) else to_jsonl(events))
    return target.getvalue()


def read_runs(data: bytes) -> list[CheckedRun]:
    """Return the runs in a file: one as JSON lines, or a ZIP file of several.  Raises `ConfigError` if one is invalid."""
    if not data.startswith(b"PK"):
        return [read_run(data)]
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [info for info in archive.infolist() if not info.filename.endswith("/")]
            if not 0 < len(names) <= MAX_RUNS:
                raise ConfigError(f"the ZIP file contains {len(names):,} files; expected 1 to {MAX_RUNS} runs")
            runs, remaining = [], MAX_BYTES
            for info in names:
                with archive.open(info) as member:
                    body = member.read(remaining + 1)  # the size that the file states may be wrong
                remaining -= len(body)
                if remaining < 0:
                    raise ConfigError(f"the runs in the ZIP file are larger than {MAX_BYTES // 1_000_000} MB together")
                runs.append(read_run(body))
            return runs
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ConfigError(f"the ZIP file cannot be read: {error}") from error


def read_run(data: bytes) -> CheckedRun:
    """Return the run in a file of JSON lines.  Raises `ConfigError` that names the line and its error."""
    if len(data) > MAX_BYTES:
        raise ConfigError(f"the run is larger than the limit of {MAX_BYTES // 1_000_000} MB")
    if sum(map(data.count, (b",", b"[", b"{"))) > _MARKS:
        raise ConfigError(f"the run has more values than the limit of {_MARKS // 1_000_000} million")
    original: list[Event] = []
    asked: dict[str, set[int]] = {}
    lines = ((number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip())
    for number, line in lines:
        try:
            event = decode(line)
            _check(event, original, asked)
        except RecursionError:
            raise ConfigError(f"line {number}: objects are nested too deeply") from None
        except ConfigError as error:
            raise ConfigError(f"line {number}: {error}") from None
        original.append(event)
    if not original:
        raise ConfigError("the file is empty; expected a run from `export --format jsonl`")
    first, *rest = original
    assert isinstance(first, RunStarted)
    recipe, withheld = _harmless(first.recipe)
    recipe, limited = _limited(recipe)
    events = (msgspec.structs.replace(first, recipe=recipe), *map(_drawable, rest))
    return CheckedRun((*events, *_pause(original)), withheld, limited, tuple(original))


def import_run(store: Store, checked: CheckedRun) -> ImportedRun:
    """Save an imported run, all of it or nothing.

    A run that had not ended is paused or waits for a reply: no process continues it before a user asks.
    """
    run_id, state = checked.id, "new"
    if (existing := _events(store, run_id)) is not None:
        if existing in (checked.events, checked.original):
            return ImportedRun(run_id, "there")
        run_id, state = new_id(), "renamed"
    try:
        _save(store, run_id, checked)
    except ConfigError:  # the id of a deleted run not purged yet
        run_id, state = new_id(), "renamed"
        _save(store, run_id, checked)
    unfinished = not isinstance(checked.events[-1], RunFinished)
    new: Literal["new", "renamed"] = "new" if state == "new" else "renamed"
    return ImportedRun(run_id, new, checked.withheld, checked.limited, unfinished)


def _save(store: Store, run_id: str, checked: CheckedRun) -> None:
    """Save run and events at once: a run without its last event would look like one whose process died."""
    started = checked.started
    events = [msgspec.structs.replace(event, run=run_id) for event in checked.events]
    store.create(RunRow(run_id, started.question, started.recipe, created=min(started.time, time.time())), events)


def _pause(events: list[Event]) -> tuple[Event, ...]:
    """Return the event that pauses a run; empty if it has ended, is paused or waits for a reply."""
    last = events[-1]
    if isinstance(last, RunFinished | Paused | WaitingForUser):
        return ()
    return (Paused(run=last.run, seq=last.seq + 1, time=last.time),)


def as_it_is(store: Store, run_id: str) -> bytes:
    """Return the stored events of a run line by line, also those that cannot be read."""
    return "".join(f"{body}\n" for body in store.bodies(run_id)).encode("utf-8", "replace")


def _events(store: Store, run_id: str) -> tuple[Event, ...] | None:
    """Return the events of the run with exactly that id; None if there is none."""
    try:
        found = store.run(run_id)
    except ConfigError:
        return None
    return tuple(store.events(run_id)) if found.id == run_id else None


def _harmless(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """Return the recipe without access to this computer, should the run be resumed; and what was removed.

    A file may contain calls that no model made, and resuming makes those without a result. They can only do what a web
    page could make a model do: search, visit, calculate in the sandbox. A model in this process may be a file or saved
    run of this computer: it keeps its name under the unknown provider `elsewhere`.
    """
    named = (recipe.model, *recipe.roles.values())
    models = dict.fromkeys(name for name in named if name != defaults.OFFLINE and provider_of(name).local)
    withheld = (*recipe.folders, *(f"MCP server {name}" for name in recipe.mcp), *(f"model {name}" for name in models))
    tools = tuple(name for name in recipe.tools if not plugins.tool.traits(name).recalls)
    if recipe.recall or recipe.remember != "off" or tools != recipe.tools:
        withheld = (*withheld, "the memory")
        recipe = msgspec.structs.replace(recipe, tools=tools, recall=0, remember="off")
    if (command := command_option(recipe.framework)) and recipe.framework_options.get(command):
        withheld = (*withheld, f"command {recipe.framework_options[command]}")
        options = {name: value for name, value in recipe.framework_options.items() if name != command}
        recipe = msgspec.structs.replace(recipe, framework_options=options)
    model, *others = (f"elsewhere:{name}" if name in models else name for name in named)
    roles = dict(zip(recipe.roles, others, strict=True))
    judge = recipe.judge if recipe.judge in ("model", "off", UNCERTAIN) else ""
    if judge != recipe.judge:
        withheld = (*withheld, f"judge {recipe.judge}")
    return msgspec.structs.replace(recipe, folders=(), mcp=(), model=model, roles=roles, judge=judge), withheld


def _limited(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """Return the recipe with its numbers within today's limits, and what was changed.

    Options of a missing plug-in are unchanged: such a run cannot be resumed. Raises `ConfigError` for a numeric option
    that is not a number.
    """
    changed: list[str] = []

    def within(name: str, value: Any, nearest: Any) -> Any:
        if value != nearest:
            changed.append(f"{name}: {nearest:,.10g} instead of {_in_words(value)}")
        return nearest

    options: dict[str, dict[str, Any]] = {}
    for side, known, name in (
        ("framework", plugins.framework, recipe.framework),
        ("context", plugins.context, recipe.context),
    ):
        options[side] = dict(getattr(recipe, f"{side}_options"))
        entry = next((each for each in known.all() if each.id == name), None)
        for option in entry.options if entry else ():
            if option.name in options[side]:
                given = options[side][option.name]
                options[side][option.name] = within(f"{side}.{option.name}", given, option.nearest(given))
    caps = {cap: value for cap in _LEAST if (value := getattr(recipe.budget, cap)) is not None}
    budget = {cap: within(f"budget.{cap}", value, max(value, _LEAST[cap])) for cap, value in caps.items()}
    heat = recipe.temperature
    heat = None if heat is None else within("temperature", heat, min(heat, _HOTTEST))
    if not changed:
        return recipe, ()
    recipe = msgspec.structs.replace(
        recipe,
        framework_options=options["framework"],
        context_options=options["context"],
        budget=msgspec.structs.replace(recipe.budget, **budget),
        temperature=heat,
    )
    return recipe, tuple(changed)


def _in_words(number: object) -> str:
    """Return a number of any size in a few characters."""
    if isinstance(number, int) and abs(number) >= 10**20:
        return f"a number of {len(str(abs(number)))} digits"
    return f"{number:.10g}" if isinstance(number, int | float) else repr(number)[:80]


def _drawable(event: Event) -> Event:
    """Return the event with its pictures copied pixel by pixel, without invalid ones."""
    if not isinstance(event, ToolFinished | Recalled) or not event.observation.images:
        return event
    images = tuple(image for each in event.observation.images if (image := sanitized(each, _PIXELS)))
    return msgspec.structs.replace(event, observation=msgspec.structs.replace(event.observation, images=images))


def _check(event: Event, before: list[Event], asked: dict[str, set[int]]) -> None:
    """Check that the event may follow those before it.  Raises `ConfigError`.

    `asked` holds the requests by agent, and is updated.
    """
    if event.seq != len(before):
        raise ConfigError(
            f"event number {_in_words(event.seq)}; expected {len(before)}: events are numbered from 0, without gaps"
        )
    if isinstance(event, RunStarted) == bool(before):
        raise ConfigError("expected exactly one RunStarted, as the first event")
    if before and event.run != before[0].run:
        raise ConfigError(
            f"event of run {event.run[:80]!r} within run {before[0].run!r}; expected the events of one run"
        )
    if not _ID.fullmatch(event.run):
        raise ConfigError(f"run {event.run[:80]!r}: expected an id of up to 64 letters, digits, - and _")
    if not _AGENT.fullmatch(event.agent):
        raise ConfigError(f"agent {event.agent[:80]!r}: expected a path such as main/researcher-2")
    if not 0 <= event.time <= _CALENDAR_S:
        raise ConfigError(f"time {event.time:.6g} is not a date")
    if before and isinstance(before[-1], RunFinished):
        raise ConfigError("the event follows RunFinished, which ends a run")
    known = asked.setdefault(event.agent, set())
    if len(asked) > _AGENTS:
        raise ConfigError(f"the run has more than {_AGENTS:,} agents")
    for own, number in _numbers(event):
        if own and not 0 <= number <= LARGEST:
            raise ConfigError(
                f"{type(event).__name__} contains the number {_in_words(number)}; expected 0 to {LARGEST:.0e}"
            )
        if abs(number) >= 10**_DIGITS:
            raise ConfigError(f"{type(event).__name__} contains {_in_words(number)}; expected at most {_DIGITS} digits")
    match event:
        case RunStarted(question=question):
            if checked_question(question) != question:
                raise ConfigError("the question begins or ends with a space; no recorded question does")
        case Asked(ask=ask, round=round_, keep=kept):
            if max(ask, round_, kept) > _COUNT:
                raise ConfigError(f"the run has more than {_COUNT:,} rounds")
            known.add(ask)
        case Streamed(ask=ask) | Withdrawn(ask=ask) | Rejected(ask=ask) | Replied(ask=ask):
            if ask not in known:
                raise ConfigError(
                    f"{type(event).__name__} refers to request {ask} of {event.agent}, which was never made"
                )
        case RunFinished(status=status) if status not in ("completed", "stopped", "failed"):
            raise ConfigError(f"RunFinished has the status {status!r}; expected completed, stopped or failed")


def _numbers(
    value: Any, depth: int = 0, foreign: bool = False, limit: int = _TEXT, name: str = ""
) -> Iterator[tuple[bool, float]]:
    """Yield the numbers at any depth, each with whether it is in a field of ours, not of a foreign object.

    Raises `ConfigError` for a text, a list or an object beyond its limit; `name` is its field.
    """
    if depth > _DEPTH:
        raise ConfigError("objects are nested too deeply")
    if isinstance(value, Struct):
        for field in value.__struct_fields__:
            if field not in ("seq", "time"):  # `_check` checks these itself
                few = _NAME if field in _NAMES or isinstance(value, Recipe) else _TEXT
                yield from _numbers(getattr(value, field), depth + 1, foreign, few, field)
    elif isinstance(value, dict | list | tuple):
        if len(value) > _ITEMS:
            raise ConfigError(f"{name} has {len(value):,} values; at most {_ITEMS:,} are accepted")
        foreign = foreign or isinstance(value, dict)
        for each in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _numbers(each, depth + 1, foreign, limit, name)
    elif isinstance(value, str):
        if len(value) > limit:
            raise ConfigError(f"{name} has {len(value):,} characters; at most {limit:,} are accepted")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield not foreign, value
