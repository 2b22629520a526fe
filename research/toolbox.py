"""The tools of a run: checked arguments, time-outs, a cache, bounded output, and text instead of exceptions."""

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

from research import cancel, crew
from research.errors import Stopped, ToolError
from research.guard import PrivateError
from research.parsing.arguments import checked
from research.text import clip
from research.types import Tool, ToolCall, ToolOutput, ToolSpec

CACHE_SIZE = 10_000
OUTPUT_LIMIT = 4_000
"""Characters of free text and quotes together that one observation may hold (the search tool bounds itself)."""


Local = Callable[[dict[str, Any]], str]
"""A tool of a framework itself: arguments to observation.  Raises `ToolError`."""
Check = Callable[[ToolCall], None]
"""Raises `ToolError` for a call that is not to be made."""


class Result(ToolOutput, frozen=True):
    """A tool's output and how it came about."""

    ok: bool = True
    cached: bool = False
    seconds: float = 0.0


class Toolbox:
    """A set of tools by name.  Safe for threads; results are cached by name and canonical arguments, errors are not."""

    def __init__(self, tools: Iterable[Tool], stop: threading.Event | None = None) -> None:
        """`stop`: set from outside, it ends every call at work."""
        self._stop = stop or threading.Event()
        self._tools = {tool.spec.name: tool for tool in tools}
        self._cache: OrderedDict[str, ToolOutput] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    def begin(self, call: ToolCall, local: Local | None = None, check: Check | None = None) -> Begun:
        """Begin one call.

        A framework's own `local` tool stands in the place of one of ours, and runs when its result is asked for.  `check`
        looks at a call that is not local before anything is done, and raises `ToolError` to refuse it.
        """
        if local is not None:
            return Begun(partial(_said, partial(local, call.arguments)))
        try:
            if check is not None:
                check(call)
        except ToolError as error:
            return Begun(partial(Result, str(error), ok=False))
        key = f"{call.name}:{json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)}"
        with self._lock:
            hit = self._cache.get(key)
            if hit is not None:
                self._cache.move_to_end(key)
        if hit is not None:
            return Begun(partial(Result, hit.text, hit.passages, hit.private, hit.images, cached=True))
        try:
            tool = self._tool(call.name)
            work = _Work(tool, checked(call.arguments, tool.spec), self._stop)
        except ToolError as error:
            return Begun(partial(Result, clip(str(error), OUTPUT_LIMIT), ok=False))
        return Begun(partial(self._result, key, work), work.leave)

    def _tool(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f"There is no tool {name!r}. The tools are: {', '.join(self._tools) or 'none'}.")
        return tool

    def _result(self, key: str, work: _Work) -> Result:
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


class Begun:
    """A call at work; leaving the `with` gives it up if it still is."""

    def __init__(self, result: Callable[[], Result], leave: Callable[[], None] | None = None) -> None:
        self.result = result
        """Waits for it.  Raises `Stopped`, never for what a model or a tool does wrong: the text says it."""
        self._leave = leave

    def __enter__(self) -> Begun:
        return self

    def __exit__(self, *_: object) -> None:
        if self._leave:
            self._leave()


def _said(local: Callable[[], str]) -> Result:
    try:
        return Result(local())
    except ToolError as error:
        return Result(str(error), ok=False)


class _Work:
    """A tool at work, in a thread of its own.

    A thread cannot be killed; what it waits for learns through `research.cancel` that it may leave.
    """

    def __init__(self, tool: Tool, arguments: dict[str, Any], stop: threading.Event) -> None:
        self._tool = tool
        self._stop = stop
        self._future: Future[ToolOutput] = Future()
        self._over = threading.Event()
        self._began = time.monotonic()
        self._ended: float | None = None
        crew.begin(partial(copy_context().run, self._do, arguments))

    def _do(self, arguments: dict[str, Any]) -> None:
        try:
            with cancel.until(self._over):
                output = self._tool(**arguments)
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits, who raises it
            self._ended = time.monotonic()
            self._future.set_exception(error)
        else:
            self._ended = time.monotonic()
            self._future.set_result(output)

    @property
    def seconds(self) -> float:
        """How long it took, or has taken so far."""
        return (self._ended or time.monotonic()) - self._began

    def wait(self) -> ToolOutput:
        """What the tool gives.  Raises `Stopped` when the run is stopped, `ToolError` after its time-out, and what the tool
        raises.
        """
        while True:
            left = self._began + self._tool.timeout_s - time.monotonic()
            try:
                return self._future.result(max(0.0, min(left, cancel.ASK_EVERY_S)))
            except FutureTimeoutError:
                if self._future.done():  # the tool's own, or its result came this moment
                    return self._future.result()
                if self._stop.is_set():
                    raise Stopped("stopped by the user") from None
                if left <= 0:
                    raise ToolError(
                        f"{self._tool.spec.name} did not answer within {self._tool.timeout_s:g} s. Try something else."
                    ) from None

    def leave(self) -> None:
        """Nobody waits for it any more."""
        self._over.set()
