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

from research.errors import ToolError
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

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._cache: OrderedDict[str, ToolOutput] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    def run(self, call: ToolCall, local: Callable[[dict[str, Any]], str] | None = None) -> Result:
        """The result of one call, or of a framework's own `local` tool in its place.

        Never raises for what a model or a tool does wrong: the text says it.
        """
        started = time.monotonic()
        if local is not None:
            try:
                return Result(local(call.arguments))
            except ToolError as error:
                return Result(str(error), ok=False)
        key = f"{call.name}:{json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)}"
        with self._lock:
            hit = self._cache.get(key)
            if hit is not None:
                self._cache.move_to_end(key)
        if hit is not None:
            return Result(hit.text, hit.passages, cached=True)
        try:
            output = self._run(call)
        except ToolError as error:
            return Result(clip(str(error), OUTPUT_LIMIT), ok=False, seconds=time.monotonic() - started)
        output = ToolOutput(clip(output.text, OUTPUT_LIMIT), output.passages)
        with self._lock:
            self._cache[key] = output
            if len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
        return Result(output.text, output.passages, seconds=time.monotonic() - started)

    def _run(self, call: ToolCall) -> ToolOutput:
        tool = self._tools.get(call.name)
        if tool is None:
            raise ToolError(f"There is no tool {call.name!r}. The tools are: {', '.join(self._tools) or 'none'}.")
        arguments = checked(call.arguments, tool.spec)
        return _within(tool, arguments)


def _within(tool: Tool, arguments: dict[str, Any]) -> ToolOutput:
    """Run the tool in a thread of its own, and give up after its time-out.

    A thread cannot be killed; tools that hold a process or a connection bound themselves as well.
    """
    future: Future[ToolOutput] = Future()

    def work() -> None:
        try:
            future.set_result(tool(**arguments))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            future.set_exception(error)

    threading.Thread(target=work, name=f"tool-{tool.spec.name}", daemon=True).start()
    try:
        return future.result(tool.timeout_s)
    except FutureTimeoutError:
        raise ToolError(f"{tool.spec.name} did not answer within {tool.timeout_s:g} s. Try something else.") from None
