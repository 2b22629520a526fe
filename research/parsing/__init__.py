"""The parser for everything a model writes: tagged text, native calls, plans.  It corrects spelling but rejects ambiguity.

No input raises, and time is linear in the input (docs/decisions/0003-one-parser.md).  May import `_util` and what is below it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from research.errors import FormatError
from research.parsing.calls import offered
from research.parsing.native_calls import read_choice
from research.parsing.parsed import PlanStep, Reading
from research.parsing.plan import read_plan
from research.parsing.tagged_calls import read_tagged
from research.types import ToolSpec

__all__ = ["PlanStep", "Reading", "parse", "read_plan"]

FORMATS = ("react", "iter", "rewoo", "native_args")


def parse(form: str, text: str, tools: Sequence[ToolSpec], finish_reason: str = "stop") -> Reading:
    """Parse one reply.  `form` is one of `FORMATS`; `native_args` is a chat-completions choice as JSON.

    Raises `FormatError` only for an unknown `form`.
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
    """Return the JSON that the command `parse` prints; keys without a value are left out."""
    fields: dict[str, Any] = {
        "kind": reading.kind,
        "calls": [{"name": call.name, "arguments": call.arguments} for call in reading.calls],
        "text": reading.text,
        "steps": [{"id": s.id, "tool": s.tool, "input": s.input, "deps": list(s.deps)} for s in reading.steps],
        "report": reading.report,
        "code": reading.code,
        "message": reading.message,
        "errors": [{"index": e.index, "code": e.code, "message": e.message} for e in reading.errors],
    }
    return {key: value for key, value in fields.items() if value}


def parse_line(line: str, tools: Sequence[ToolSpec]) -> str:
    """Parse the case in a JSON line; return the reading as a JSON line.  Raises `FormatError` for any other line."""
    try:
        case = json.loads(line)
        form, text = case["format"], case["text"]
        reading = parse(form, text, tools, case.get("finish_reason") or "stop")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f'a line is {{"id", "format", "text"[, "finish_reason"]}}: {error}') from error
    return json.dumps({"id": case.get("id"), **as_dict(reading)})
