"""One parser for everything a model writes: tagged text, native calls, plans.

    relaxed     JSON as models spell it
    arguments   arguments against a tool's schema (the toolbox uses the same function)
    calls       one call: name and arguments, or what is wrong with it
    markup      running text cut into tags and code
    blocks      what stands in a call tag, whole or broken
    tagged      `<think> <tool_call> <report> <answer>` in running text
    native      the provider's own tool calls
    plan        ReWOO's `#E1 = tool[input]`

It repairs spelling and never meaning: what could be read in two ways is refused and asked again, because a wrong action
costs more than a question.  No input raises, and time is linear in the input (docs/decisions/0003-one-parser.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from research.errors import FormatError
from research.parsing.calls import offered
from research.parsing.native import read_choice, read_native
from research.parsing.plan import read_plan
from research.parsing.reading import FoundCall, Kind, PlanStep, Reading
from research.parsing.tagged import read_tagged
from research.types import ToolSpec

__all__ = ["FoundCall", "Kind", "PlanStep", "Reading", "parse", "read_native", "read_plan", "read_tagged"]

FORMATS = ("react", "iter", "rewoo", "native_args")


def parse(form: str, text: str, tools: Sequence[ToolSpec], finish_reason: str = "stop") -> Reading:
    """Read one reply.  `form` is `react`, `iter`, `rewoo` or `native_args` (a chat-completions choice as JSON).

    Raises `FormatError` for another `form`, and for nothing else.
    """
    known = offered(tools)
    if form in ("react", "iter"):
        return read_tagged(text, known, finish_reason)
    if form == "rewoo":
        return read_plan(text, known, finish_reason)
    if form == "native_args":
        return read_choice(text, known)
    raise FormatError(f"format {form!r} is unknown; known: {', '.join(FORMATS)}")


def as_dict(reading: Reading) -> dict[str, Any]:
    """What `python -m research parse` prints; keys that do not apply are left out."""
    shown: dict[str, Any] = {
        "kind": reading.kind,
        "calls": [{"name": call.name, "arguments": call.arguments} for call in reading.calls],
        "text": reading.text,
        "steps": [{"id": s.id, "tool": s.tool, "input": s.input, "deps": list(s.deps)} for s in reading.steps],
        "report": reading.report,
        "code": reading.code,
        "message": reading.message,
        "errors": [{"index": e.index, "code": e.code, "message": e.message} for e in reading.errors],
    }
    return {key: value for key, value in shown.items() if value}


def parse_line(line: str, tools: Sequence[ToolSpec]) -> str:
    """One case as a JSON line in, its reading as a JSON line out.  Raises `FormatError` when the line is no case."""
    try:
        case = json.loads(line)
        form, text = case["format"], case["text"]
        reading = parse(form, text, tools, case.get("finish_reason") or "stop")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f'a line is {{"id", "format", "text"[, "finish_reason"]}}: {error}') from error
    return json.dumps({"id": case.get("id"), **as_dict(reading)})
