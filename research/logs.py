"""What this process does, for whoever runs it: one line for each event on standard error, as JSON or for people.

A line names the run, the user and the agent it is about, and how long something took; never a prompt, a reply, a page,
an address that was visited or the text of an error of somebody else's: those stand in the run's events, where they belong
to its user.  Keys are masked in every line, whoever writes it.
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
from typing import Final, Literal, TypeVar

import msgspec
from pydantic import SecretStr

from research import events as e
from research.settings import Settings

MASK: Final = "****"
Form = Literal["lines", "json"]
Level = Literal["debug", "info", "warning", "error"]
_NO: Final[Mapping[str, str]] = {}
_about: ContextVar[Mapping[str, str]] = ContextVar("about", default=_NO)
_hidden: dict[str, re.Pattern[str]] = {}
"""What is masked, by the key itself; only ever added to: a key that was taken out may still be echoed."""
_log = logging.getLogger("research.run")
_CALLS = (e.Asked, e.Streamed, e.Replied, e.Rejected, e.ToolStarted, e.ToolFinished)
"""Most of what happens, and heard at `debug` only."""

T = TypeVar("T")


def start(form: Form = "lines", level: Level = "warning") -> None:
    """Write the log of this process to standard error from now on; a second call changes form and level.

    Libraries are heard from `warning` on, whatever the level: at `debug` some of them write what they send.
    """
    root = logging.getLogger()
    for before in [each for each in root.handlers if isinstance(each, _Handler)]:
        root.removeHandler(before)
    handler = _Handler()
    handler.setFormatter(_Json() if form == "json" else _Lines())
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name.partition(".")[0] == "research")
    root.addHandler(handler)
    logging.getLogger("research").setLevel(level.upper())


def hide(*settings: Settings) -> None:
    """Mask the keys of these settings, and the password of the database, wherever they are echoed from now on."""
    from research.redaction import disguises

    for each in settings:
        for field in type(each).model_fields:
            value = getattr(each, field)
            if isinstance(value, SecretStr):
                for secret in _secrets(value.get_secret_value()):
                    _hidden.setdefault(secret, disguises(secret))


def _secrets(value: str) -> Iterator[str]:
    """The value, and of an address with a password that, too, as it is written there and as it is meant."""
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


def masked(text: str) -> str:
    """The text without any key, however it is written: plain, url-encoded, in base64 or hex."""
    for pattern in list(_hidden.values()):
        text = pattern.sub(MASK, text)
    return text


@contextmanager
def about(**what: str) -> Iterator[None]:
    """Every line written inside, in this thread, says this too, e.g. `run` and `user`; empty values are left out."""
    token = _about.set({**_about.get(), **{name: value for name, value in what.items() if value}})
    try:
        yield
    finally:
        _about.reset(token)


def within(steps: Iterator[T], **what: str) -> Iterator[T]:
    """The same steps; `about` holds while each is made, and not in whoever asks for them."""
    with about(**what):
        context = copy_context()
    while True:
        try:
            step = context.run(next, steps)
        except StopIteration:
            return
        yield step


def tell(event: e.Event, user: str = "") -> None:
    """Write down what happens to a run: its end at `info`, what ended it badly above, single calls at `debug`."""
    if isinstance(event, _CALLS) and not _log.isEnabledFor(logging.DEBUG):
        return
    said: dict[str, object] = {"run": event.run, "agent": event.agent}
    if user:
        said["user"] = user
    match event:
        case e.RunStarted(recipe=recipe):
            _say(logging.INFO, "run begins", said, recipe=recipe.label, recipe_hash=recipe.hash)
        case e.Resumed(by_itself=by_itself):
            _say(logging.INFO, "run goes on", said, by_itself=by_itself)
        case e.Asked(ask=ask, purpose=purpose, model=model):
            _say(logging.DEBUG, "model is asked", said, ask=ask, purpose=purpose, model=model)
        case e.Replied(ask=ask, usage=usage, seconds=seconds):
            _say(
                logging.DEBUG, "model has replied", said, ask=ask, seconds=round(seconds, 3),
                input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens,
            )  # fmt: skip
        case e.Withdrawn(ask=ask, wait_s=wait_s):
            _say(logging.INFO, "model is asked again", said, ask=ask, wait_s=round(wait_s, 3))
        case e.Rejected(ask=ask):
            _say(logging.DEBUG, "reply cannot be read", said, ask=ask)
        case e.ToolFinished(observation=seen):
            _say(logging.DEBUG, "tool is done", said, tool=seen.name, ok=seen.ok, seconds=round(seen.seconds, 3))
        case e.Paused(reason=reason):
            _say(logging.WARNING if reason else logging.INFO, "run rests", said, wanted=not reason)
        case e.WaitingForUser():
            _say(logging.INFO, "run waits for a reply", said)
        case e.RunFailed(error=error, traceback=trace):
            _say(logging.ERROR, "run fails", said, **_where(error, trace))
        case e.RunFinished(outcome=outcome, seconds=seconds):
            _say(logging.INFO, "run ends", said, outcome=outcome, seconds=round(seconds, 3))
        case _:
            pass


def _where(error: str, trace: str) -> dict[str, object]:
    """Kind and place of an unexpected error; its words may quote a page, and stand in the run."""
    if not trace:
        return {"error": "expected"}
    found: dict[str, object] = {"error": error.partition(":")[0][:80]}
    if places := re.findall(r'File "(?:[^"]*/)?([^"/]+)", line (\d+), in (\w+)', trace):
        file, line, function = places[-1]
        found["at"] = f"{file}:{line} {function}"
    return found


def _say(level: int, message: str, said: Mapping[str, object], **more: object) -> None:
    _log.log(level, message, extra={"said": {**said, **more}})


class _Handler(logging.StreamHandler):  # type: ignore[type-arg]  # of text
    """Writes to what is standard error when it writes."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _Json(logging.Formatter):
    """One JSON object on a line: time, level, logger, message, then what it is about."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": _when(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        line |= {"message": masked(record.getMessage())} | _more(record)
        if record.exc_info and (trace := _trace(record.exc_info)):
            line["traceback"] = masked(trace)
        return msgspec.json.encode(line).decode()


class _Lines(logging.Formatter):
    """Short lines for people."""

    def format(self, record: logging.LogRecord) -> str:
        told = " ".join(
            f"{name}={value}" for name, value in _more(record).items() if name != "agent" or value != "main"
        )
        message = " ".join(masked(record.getMessage()).split())
        line = f"{_when(record.created)[11:19]} {record.levelname.lower()}: {message}" + (f"  ({told})" if told else "")
        if record.exc_info and (trace := _trace(record.exc_info)):
            line += "\n" + masked(trace)
        return line


def _more(record: logging.LogRecord) -> dict[str, object]:
    said = {**_about.get(), **getattr(record, "said", {})}
    return {name: masked(value) if isinstance(value, str) else value for name, value in said.items()}


def _trace(info: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]) -> str:
    return "".join(traceback.format_exception(*info)).rstrip() if info[0] else ""


def _when(seconds: float) -> str:
    """UTC, to the millisecond."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03}Z"
