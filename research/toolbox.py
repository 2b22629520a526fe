"""The tools of a run: checked arguments, time-outs, a cache, bounded output, and text instead of exceptions."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from research.errors import ToolError
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

    def run(self, call: ToolCall) -> Result:
        """The result of one call.  Never raises for what a model or a tool does wrong: the text says it."""
        started = time.monotonic()
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


def checked(arguments: dict[str, Any], spec: ToolSpec) -> dict[str, Any]:
    """The arguments in the declared types, undeclared ones left out.  Raises `ToolError` that a model can act on."""
    from jsonschema import Draft202012Validator

    properties = spec.parameters.get("properties", {})
    known = {name: _coerced(value, properties[name]) for name, value in arguments.items() if name in properties}
    problems = sorted(Draft202012Validator(spec.parameters).iter_errors(known), key=lambda e: list(e.path))
    if problems:
        where = ".".join(str(part) for part in problems[0].path) or "arguments"
        raise ToolError(
            f"{spec.name}: {where}: {problems[0].message}. Accepted: {json.dumps(spec.parameters, ensure_ascii=False)}"
        )
    return known


def _coerced(value: Any, schema: dict[str, Any]) -> Any:
    """Only what loses nothing: the number 2024 written as a string, or a number where text is wanted."""
    kind = schema.get("type")
    if kind == "integer" and isinstance(value, str) and value.strip().lstrip("-").isdigit():
        return int(value)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


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
