"""The tools of a run: checked arguments, time-outs, a cache, bounded output, and text instead of exceptions."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from msgspec.structs import replace

from research import cancel
from research.errors import Stopped, ToolError
from research.guard import PrivateError
from research.parsing.arguments import checked
from research.text import clip
from research.types import Tool, ToolCall, ToolOutput, ToolSpec

CACHE_SIZE = 10_000
OUTPUT_LIMIT = 4_000
"""Characters of free text and quotes together that one observation may hold (the search tool bounds itself)."""


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

    def run(
        self,
        call: ToolCall,
        local: Callable[[dict[str, Any]], str] | None = None,
        check: Callable[[ToolCall], None] | None = None,
    ) -> Result:
        """The result of one call, or of a framework's own `local` tool in its place.

        `check` looks at a call that is not local before anything is done, and raises `ToolError` to refuse it.  Never
        raises for what a model or a tool does wrong: the text says it.  Raises `Stopped`.
        """
        started = time.monotonic()
        if local is not None:
            try:
                return Result(local(call.arguments))
            except ToolError as error:
                return Result(str(error), ok=False)
        if check is not None:
            try:
                check(call)
            except ToolError as error:
                return Result(str(error), ok=False)
        key = f"{call.name}:{json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)}"
        with self._lock:
            hit = self._cache.get(key)
            if hit is not None:
                self._cache.move_to_end(key)
        if hit is not None:
            return Result(hit.text, hit.passages, hit.private, hit.images, cached=True)
        try:
            output = self._run(call)
        except ToolError as error:
            private, seconds = isinstance(error, PrivateError), time.monotonic() - started
            return Result(clip(str(error), OUTPUT_LIMIT), private=private, ok=False, seconds=seconds)
        output = replace(output, text=clip(output.text, OUTPUT_LIMIT))
        with self._lock:
            self._cache[key] = output
            if len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
        seconds = time.monotonic() - started
        return Result(output.text, output.passages, output.private, output.images, seconds=seconds)

    def _run(self, call: ToolCall) -> ToolOutput:
        tool = self._tools.get(call.name)
        if tool is None:
            raise ToolError(f"There is no tool {call.name!r}. The tools are: {', '.join(self._tools) or 'none'}.")
        arguments = checked(call.arguments, tool.spec)
        return _within(tool, arguments, self._stop)


def _within(tool: Tool, arguments: dict[str, Any], stop: threading.Event) -> ToolOutput:
    """Run the tool in a thread of its own, and give up after its time-out or when the run is stopped.

    A thread cannot be killed; what it waits for learns through `research.cancel` that it may leave.
    """
    future: Future[ToolOutput] = Future()
    over = threading.Event()

    def work() -> None:
        try:
            with cancel.until(over):
                future.set_result(tool(**arguments))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            future.set_exception(error)

    deadline = time.monotonic() + tool.timeout_s
    threading.Thread(target=work, name=f"tool-{tool.spec.name}", daemon=True).start()
    try:
        while True:
            left = deadline - time.monotonic()
            try:
                return future.result(max(0.0, min(left, cancel.ASK_EVERY_S)))
            except FutureTimeoutError:
                if future.done():
                    raise  # the tool's own
                if stop.is_set():
                    raise Stopped("stopped by the user") from None
                if left <= 0:
                    raise ToolError(
                        f"{tool.spec.name} did not answer within {tool.timeout_s:g} s. Try something else."
                    ) from None
    finally:
        over.set()
