"""The log of a process on standard error: one line per event, as JSON or as text.

A line names the run, the user and the agent, and how long something took.  It never contains a prompt, a reply, a page, a
visited address or the message of an external error: those are in the run's events, which belong to its user.  Keys are
redacted in every line, whichever library writes it.
"""

from __future__ import annotations

import logging
import re
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from types import TracebackType
from typing import Any, Final, Literal, TypeVar

import msgspec

from research._util.interruptible import each_within
from research.config.settings import Settings
from research.events import events as e

MASK: Final = "****"
Form = Literal["lines", "json"]
Level = Literal["debug", "info", "warning", "error"]
_NOTHING: Final[Mapping[str, str]] = {}
_fields: ContextVar[Mapping[str, str]] = ContextVar("log_fields", default=_NOTHING)
_patterns: dict[str, re.Pattern[str]] = {}
"""By key, the pattern to redact; never removed, because a service may still echo a deleted key."""
_log = logging.getLogger("research.agent.run")
_CALLS = (e.Asked, e.Streamed, e.Replied, e.Rejected, e.ToolStarted, e.ToolFinished)
"""The most frequent events, logged at `debug` only."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

T = TypeVar("T")


def start(form: Form = "lines", level: Level = "warning") -> None:
    """Write the log of this process to standard error; a second call changes form and level.

    Libraries are logged from `warning` on at any level, because at `debug` some log the content that they send.
    """
    root = logging.getLogger()
    for before in [each for each in root.handlers if isinstance(each, _Handler)]:
        root.removeHandler(before)
    handler = _Handler()
    handler.setFormatter(_Json() if form == "json" else _Lines())
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name.partition(".")[0] == "research")
    root.addHandler(handler)
    logging.getLogger("research").setLevel(level.upper())
    logging.setLogRecordFactory(_Record)


class _Record(logging.LogRecord):
    """A log line of any library, without control characters from requests: a terminal would obey them."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.msg = harmless(self.msg)
        if isinstance(self.args, tuple):
            self.args = tuple(map(harmless, self.args))


def harmless(value: Any) -> Any:
    """Return a value, without control characters if its text has any."""
    if value is None or isinstance(value, int | float):
        return value
    text = str(value)
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text) if _CONTROL.search(text) else value


def redact_keys(*settings: Settings) -> None:
    """Redact the keys in these settings, and the password of the database, in every later line."""
    from research._util.redaction import key_pattern

    for each in settings:
        for value in each.secrets():
            for secret in _secrets(value):
                _patterns.setdefault(secret, key_pattern(secret))


def _secrets(value: str) -> Iterator[str]:
    """Yield the value and, for a url with a password, the password both percent-encoded and decoded."""
    from urllib.parse import unquote, urlsplit

    if value:
        yield value
    try:
        password = urlsplit(value).password if "://" in value else None
    except ValueError:
        password = None
    if password:
        yield password
        yield unquote(password)


def redacted(text: str) -> str:
    """Return the text with every key replaced, also where it is percent-encoded, in base64 or in hex."""
    for pattern in list(_patterns.values()):
        text = pattern.sub(MASK, text)
    return text


@contextmanager
def fields(**values: str) -> Iterator[None]:
    """Add fields such as `run` and `user` to every line that this thread logs inside the block; omit empty values."""
    token = _fields.set({**_fields.get(), **{name: value for name, value in values.items() if value}})
    try:
        yield
    finally:
        _fields.reset(token)


def with_fields(steps: Iterator[T], **values: str) -> Iterator[T]:
    """Yield the same steps; `fields` applies while each is computed, not in the code that iterates."""
    with fields(**values):
        context = copy_context()
    yield from each_within(context, steps)


def log_event(event: e.Event, user: str = "") -> None:
    """Log what happens to a run: its start and end at `info`, failures above, single calls at `debug`."""
    if isinstance(event, _CALLS) and not _log.isEnabledFor(logging.DEBUG):
        return
    whose: dict[str, object] = {"run": event.run, "agent": event.agent}
    if user:
        whose["user"] = user
    match event:
        case e.RunStarted(recipe=recipe):
            _write(logging.INFO, "run started", whose, recipe=recipe.label, recipe_hash=recipe.hash)
        case e.Resumed(by_itself=by_itself):
            _write(logging.INFO, "run resumed", whose, by_itself=by_itself)
        case e.Asked(ask=ask, purpose=purpose, model=model):
            _write(logging.DEBUG, "model asked", whose, ask=ask, purpose=purpose, model=model)
        case e.Replied(ask=ask, usage=usage, seconds=seconds):
            tokens = {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
            _write(logging.DEBUG, "model replied", whose, ask=ask, seconds=round(seconds, 3), **tokens)
        case e.Withdrawn(ask=ask, wait_s=wait_s):
            _write(logging.INFO, "model request retried", whose, ask=ask, wait_s=round(wait_s, 3))
        case e.Rejected(ask=ask):
            _write(logging.DEBUG, "reply not readable", whose, ask=ask)
        case e.ToolFinished(observation=seen):
            _write(logging.DEBUG, "tool finished", whose, tool=seen.name, ok=seen.ok, seconds=round(seen.seconds, 3))
        case e.Paused(reason=reason):
            _write(logging.WARNING if reason else logging.INFO, "run paused", whose, wanted=not reason)
        case e.WaitingForUser():
            _write(logging.INFO, "run waits for a reply", whose)
        case e.RunFailed(error=error, traceback=trace):
            _write(logging.ERROR, "run failed", whose, **_where(error, trace))
        case e.RunFinished(outcome=outcome, seconds=seconds):
            _write(logging.INFO, "run finished", whose, outcome=outcome, seconds=round(seconds, 3))
        case _:
            pass


def _where(error: str, trace: str) -> dict[str, object]:
    """Return kind and place of an unexpected error, without its message, which may quote a page."""
    if not trace:
        return {"error": "expected"}
    found: dict[str, object] = {"error": error.partition(":")[0][:80]}
    if places := re.findall(r'File "(?:[^"]*/)?([^"/]+)", line (\d+), in (\w+)', trace):
        file, line, function = places[-1]
        found["at"] = f"{file}:{line} {function}"
    return found


def _write(level: int, message: str, whose: Mapping[str, object], **more: object) -> None:
    _log.log(level, message, extra={"fields": {**whose, **more}})


class _Handler(logging.StreamHandler):  # type: ignore[type-arg]  # of text
    """Writes to the current `sys.stderr`, which tests and Streamlit replace."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _Json(logging.Formatter):
    """One JSON object per line: time, level, logger, message, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": _when(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        line |= {"message": redacted(record.getMessage())} | _more(record)
        if record.exc_info and (trace := _trace(record.exc_info)):
            line["traceback"] = redacted(trace)
        return msgspec.json.encode(line).decode()


class _Lines(logging.Formatter):
    """Short lines of text."""

    def format(self, record: logging.LogRecord) -> str:
        shown = " ".join(
            f"{name}={value}" for name, value in _more(record).items() if name != "agent" or value != "main"
        )
        message = " ".join(redacted(record.getMessage()).split())
        line = f"{_when(record.created)[11:19]} {record.levelname.lower()}: {message}" + (
            f"  ({shown})" if shown else ""
        )
        if record.exc_info and (trace := _trace(record.exc_info)):
            line += "\n" + redacted(trace)
        return str(harmless(line))


def _more(record: logging.LogRecord) -> dict[str, object]:
    found = {**_fields.get(), **getattr(record, "fields", {})}
    return {name: redacted(value) if isinstance(value, str) else value for name, value in found.items()}


def _trace(info: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]) -> str:
    return "".join(traceback.format_exception(*info)).rstrip() if info[0] else ""


def _when(seconds: float) -> str:
    """Return the time in UTC, to the millisecond."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03}Z"
