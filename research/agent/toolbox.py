"""`Toolbox`: runs tools with checked arguments, time-outs, a cache and bounded output; errors become text."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from research._util import cancel, threads
from research._util.nul import without_nul
from research._util.redaction import mask_keys
from research._util.said import say
from research.errors import Stopped, ToolError, WorkbenchError
from research.parsing.arguments import checked
from research.text import clip
from research.types import Passage, Tool, ToolCall, ToolOutput, ToolSpec
from research.web.url_guard import PrivateError

CACHE_SIZE = 10_000
OUTPUT_LIMIT = 4_000
"""Most characters of one observation's text; tools bound their quotes themselves."""


Local = Callable[[dict[str, Any]], str]
"""A framework's own tool: takes the arguments, returns the text of the observation.  Raises `ToolError`."""
Check = Callable[[ToolCall], None]
"""Raises `ToolError` for a call that must not be made."""
Played = Callable[[str, dict[str, Any]], "Result | None"]
"""Takes a tool's name and checked arguments; returns the result to use instead of calling it, or None to call it."""


class Result(ToolOutput, frozen=True):
    """A tool's output, with whether it succeeded, whether it was cached, and how long it took."""

    ok: bool = True
    cached: bool = False
    seconds: float = 0.0
    read: int = 0
    code: str = ""
    world: str = ""
    """These three as in `Observation`."""


Output = TypeVar("Output", bound=ToolOutput)


class Toolbox:
    """A set of tools by name.  Thread-safe; results are cached by name and canonical arguments, errors are not."""

    def __init__(
        self,
        tools: Iterable[Tool],
        stop: threading.Event | None = None,
        refusal: Callable[[Passage], str] = lambda passage: "",
        played: Played | None = None,
    ) -> None:
        """Setting `stop` ends every call in progress.  `refusal` returns why a passage may not be used; empty if it may.

        `played` returns the results of a recorded world.
        """
        self.refusal = refusal
        self._played = played
        self._stop = stop or threading.Event()
        self._tools = {tool.spec.name: tool for tool in tools}
        self._cache: OrderedDict[str, ToolOutput] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    def begin(self, call: ToolCall, local: Local | None = None, check: Check | None = None) -> PendingCall:
        """Begin one call.

        `local` is a framework's own tool: it replaces the tool of that name, and runs when its result is read.  `check`
        raises `ToolError` to refuse any other call before it runs.
        """
        if local is not None:
            return PendingCall(partial(_local_result, partial(local, call.arguments)))
        try:
            if check is not None:
                check(call)
        except ToolError as error:
            return PendingCall(partial(Result, str(error), ok=False, code=error.code))
        if self._played is not None:
            return self._begin_in_world(call, self._played)
        return self._begin(call)

    def _begin_in_world(self, call: ToolCall, played: Played) -> PendingCall:
        """Return the recorded result of a call, or begin it if the world allows."""
        try:
            found = played(call.name, checked(call.arguments, self._tool(call.name).spec))
        except ToolError as error:
            return PendingCall(partial(Result, clip(str(error), OUTPUT_LIMIT), ok=False, code=error.code))
        if found is None:
            return self._begin(call)
        if found.world == "new":
            pending = self._begin(call)
            return PendingCall(lambda: replace(pending.result(), world="new"), pending.abandon)
        return PendingCall(lambda: self._allowed(found))

    def _begin(self, call: ToolCall) -> PendingCall:
        key = f"{call.name}:{json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)}"
        with self._lock:
            hit = self._cache.get(key)
            if hit is not None:
                self._cache.move_to_end(key)
        if hit is not None:
            return PendingCall(partial(_result_of, hit, cached=True))
        try:
            tool = self._tool(call.name)
            work = _ToolThread(tool, checked(call.arguments, tool.spec), self._stop)
        except ToolError as error:
            return PendingCall(partial(Result, clip(str(error), OUTPUT_LIMIT), ok=False, code=error.code))
        return PendingCall(partial(self._result, key, work), work.abandon)

    def _tool(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(
                say(
                    "There is no tool {name!r}. The tools are: {value}.",
                    name=name,
                    value=", ".join(self._tools) or "none",
                )
            )
        return tool

    def _result(self, key: str, work: _ToolThread) -> Result:
        try:
            output = work.wait()
        except ToolError as error:
            private = isinstance(error, PrivateError)
            text = clip(without_nul(str(error), str), OUTPUT_LIMIT)
            return Result(text, private=private, ok=False, seconds=work.seconds, code=error.code)
        except WorkbenchError:  # the run's own: a stop, a pause, an unavailable store
            raise
        except Exception as error:  # another package's tool may raise anything, and the model can try something else
            name = key.partition(":")[0]
            logging.getLogger(__name__).warning("the tool %s failed", name, exc_info=error)
            cause = mask_keys(clip(without_nul(f"{type(error).__name__}: {error}", str), 500))
            text = say("{name} failed: {error}. Try something else.", name=name, error=cause)
            code = "timeout" if isinstance(error, TimeoutError) else "failed"
            return Result(text, ok=False, seconds=work.seconds, code=code)
        output = replace(output, text=clip(without_nul(output.text, str), OUTPUT_LIMIT))
        output = replace(
            output,
            passages=without_nul(output.passages, tuple[Passage, ...]),
            document=without_nul(output.document, str),
        )
        output = self._allowed(output)
        with self._lock:
            self._cache[key] = output
            if len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
        return _result_of(output, seconds=work.seconds)

    def _allowed(self, output: Output) -> Output:
        """Remove the passages that may not be used, and say so."""
        refused = [why for why in map(self.refusal, output.passages) if why]
        if not refused:
            return output
        kept = tuple(passage for passage in output.passages if not self.refusal(passage))
        why = "; ".join(list(dict.fromkeys(refused))[:3])
        text = "\n".join(filter(None, [output.text, say("{n} results left out: {why}", n=len(refused), why=why)]))
        return replace(output, text=text, passages=kept, document="")


class PendingCall:
    """A call that was begun; leaving the `with` block abandons it if it is still running."""

    def __init__(self, result: Callable[[], Result], abandon: Callable[[], None] | None = None) -> None:
        self.result = result
        """Waits for the result and returns it.  Raises `Stopped`; an error of the model or the tool is in the text."""
        self.abandon = abandon

    def __enter__(self) -> PendingCall:
        return self

    def __exit__(self, *_: object) -> None:
        if self.abandon:
            self.abandon()


def _result_of(output: ToolOutput, *, cached: bool = False, seconds: float = 0.0) -> Result:
    return Result(
        output.text,
        output.passages,
        output.private,
        output.images,
        output.document,
        output.searched,
        output.failed,
        cached=cached,
        seconds=seconds,
    )


def _local_result(local: Callable[[], str]) -> Result:
    try:
        return Result(local())
    except ToolError as error:
        return Result(str(error), ok=False, code=error.code)


class _ToolThread:
    """A tool call running in its own thread.

    A thread cannot be killed; tools that wait notice through `research._util.cancel` that they were abandoned.
    """

    def __init__(self, tool: Tool, arguments: dict[str, Any], stop: threading.Event) -> None:
        self._tool = tool
        self._stop = stop
        self._future: Future[ToolOutput] = Future()
        self._abandoned = threading.Event()
        self._began = time.monotonic()
        self._ended: float | None = None
        threads.start(partial(copy_context().run, self._do, arguments))

    def _do(self, arguments: dict[str, Any]) -> None:
        try:
            with cancel.cancelled_by(self._abandoned):
                output = self._tool(**arguments)
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits for the result
            self._ended = time.monotonic()
            self._future.set_exception(error)
        else:
            self._ended = time.monotonic()
            self._future.set_result(output)

    @property
    def seconds(self) -> float:
        """Seconds the call took, or has taken so far."""
        return (self._ended or time.monotonic()) - self._began

    def wait(self) -> ToolOutput:
        """Wait for the tool and return its output.

        Raises `Stopped` when the run is stopped, `ToolError` after the tool's time-out, and whatever the tool raises.
        """
        while True:
            remaining = self._began + self._tool.timeout_s - time.monotonic()
            try:
                return self._future.result(max(0.0, min(remaining, cancel.CHECK_EVERY_S)))
            except FutureTimeoutError:
                if self._future.done():  # the tool raised it, or the result has just arrived
                    return self._future.result()
                if self._stop.is_set():
                    raise Stopped("stopped by the user") from None
                if remaining <= 0:
                    raise ToolError(
                        say(
                            "{name} did not answer within {timeout_s:g} s. Try something else.",
                            name=self._tool.spec.name,
                            timeout_s=self._tool.timeout_s,
                        ),
                        "timeout",
                    ) from None

    def abandon(self) -> None:
        """Tell the tool that its result is not needed."""
        self._abandoned.set()
