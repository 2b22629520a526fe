"""`Toolbox`: runs tools with checked arguments, time-outs, a cache and bounded output; errors become text."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextvars import copy_context
from functools import partial
from typing import Any

from msgspec.structs import replace

from research._util import cancel, threads
from research.agent.parsing.arguments import checked
from research.errors import Stopped, ToolError
from research.text import clip
from research.types import Tool, ToolCall, ToolOutput, ToolSpec
from research.web.url_guard import PrivateError

CACHE_SIZE = 10_000
OUTPUT_LIMIT = 4_000
"""Most characters of one observation's text; tools bound their quotes themselves."""


Local = Callable[[dict[str, Any]], str]
"""A framework's own tool: takes the arguments, returns the text of the observation.  Raises `ToolError`."""
Check = Callable[[ToolCall], None]
"""Raises `ToolError` for a call that must not be made."""


class Result(ToolOutput, frozen=True):
    """A tool's output, with whether it succeeded, whether it was cached, and how long it took."""

    ok: bool = True
    cached: bool = False
    seconds: float = 0.0


class Toolbox:
    """A set of tools by name.  Thread-safe; results are cached by name and canonical arguments, errors are not."""

    def __init__(self, tools: Iterable[Tool], stop: threading.Event | None = None) -> None:
        """Setting `stop` ends every call in progress."""
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
            return PendingCall(partial(Result, str(error), ok=False))
        key = f"{call.name}:{json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)}"
        with self._lock:
            hit = self._cache.get(key)
            if hit is not None:
                self._cache.move_to_end(key)
        if hit is not None:
            return PendingCall(partial(Result, hit.text, hit.passages, hit.private, hit.images, cached=True))
        try:
            tool = self._tool(call.name)
            work = _ToolThread(tool, checked(call.arguments, tool.spec), self._stop)
        except ToolError as error:
            return PendingCall(partial(Result, clip(str(error), OUTPUT_LIMIT), ok=False))
        return PendingCall(partial(self._result, key, work), work.abandon)

    def _tool(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f"There is no tool {name!r}. The tools are: {', '.join(self._tools) or 'none'}.")
        return tool

    def _result(self, key: str, work: _ToolThread) -> Result:
        try:
            output = work.wait()
        except ToolError as error:
            private = isinstance(error, PrivateError)
            return Result(clip(str(error), OUTPUT_LIMIT), private=private, ok=False, seconds=work.seconds)
        output = replace(output, text=clip(output.text, OUTPUT_LIMIT))
        with self._lock:
            self._cache[key] = output
            if len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
        return Result(output.text, output.passages, output.private, output.images, seconds=work.seconds)


class PendingCall:
    """A call that was begun; leaving the `with` block abandons it if it is still running."""

    def __init__(self, result: Callable[[], Result], abandon: Callable[[], None] | None = None) -> None:
        self.result = result
        """Waits for the result and returns it.  Raises `Stopped`; an error of the model or the tool is in the text."""
        self._abandon = abandon

    def __enter__(self) -> PendingCall:
        return self

    def __exit__(self, *_: object) -> None:
        if self._abandon:
            self._abandon()


def _local_result(local: Callable[[], str]) -> Result:
    try:
        return Result(local())
    except ToolError as error:
        return Result(str(error), ok=False)


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
                        f"{self._tool.spec.name} did not answer within {self._tool.timeout_s:g} s. Try something else."
                    ) from None

    def abandon(self) -> None:
        """Tell the tool that its result is no longer needed."""
        self._abandoned.set()
