"""What the parser gives back, and what all of its forms have in common."""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Struct

from research.types import CallError

Kind = Literal["tool_calls", "answer", "plan", "format_error"]

CUT = ("length", "max_tokens", "content_filter")
"""Reasons to finish that leave the reply incomplete."""

_CONTROLS = dict.fromkeys(c for c in range(32) if c not in (9, 10))


class FoundCall(Struct, frozen=True):
    """A call that may run: its tool is offered, its arguments fit the schema."""

    index: int
    """Place among all calls of the reply, the bad ones included."""
    name: str
    arguments: dict[str, Any]


class PlanStep(Struct, frozen=True):
    """One line of a ReWOO plan: `#E2 = llm[Summarise #E1]`."""

    id: str
    tool: str
    input: str
    deps: tuple[str, ...] = ()
    """Ids of earlier steps whose evidence the input names."""
    why: str = ""
    """What stands after `Plan:`."""


class Reading(Struct, frozen=True):
    """A reply as the parser understands it."""

    kind: Kind
    calls: tuple[FoundCall, ...] = ()
    errors: tuple[CallError, ...] = ()
    """The calls that cannot run, each with the reason."""
    text: str = ""
    """The answer."""
    steps: tuple[PlanStep, ...] = ()
    report: str = ""
    thinking: str = ""
    said: str = ""
    """The reply up to where the model began to invent observations."""
    words: str = ""
    """What was said outside reasoning: the answer of a model that was told to use no tags."""
    code: str = ""
    """Of a format error, in one word."""
    message: str = ""
    """Of a format error, for the model."""


def plain(text: str) -> str:
    """Stripped, and without control characters that a terminal would obey."""
    return text.translate(_CONTROLS).strip()


_CLOSE = r"<\s{0,3}/\s{0,3}report\s{0,3}>"
_REPORT = re.compile(rf"<\s{{0,3}}report\b[^<>]{{0,200}}>.*?{_CLOSE}", re.I | re.S)


def outside_report(reading: Reading) -> str:
    """What was said outside reasoning and report: in a reply without an answer tag, the answer."""
    if not reading.report:
        return reading.words
    # Up to the last end tag every begin tag finds its end, so that the search is linear.
    end = max((match.end() for match in re.finditer(_CLOSE, reading.words, re.I)), default=0)
    return (_REPORT.sub("", reading.words[:end]) + reading.words[end:]).strip()


MESSAGES = {
    "empty": "The reply was empty. Call a tool or give the answer.",
    "truncated": "The reply was cut off at the length limit. Be shorter.",
    "refused": "The reply was withheld by the provider's content filter.",
    "unclosed_tag": "A tag was opened and never closed. Close every tag that you open.",
    "no_action": "The reply held neither a tool call nor an answer. Write exactly one of them.",
}


def format_error(code: str, message: str = "", **seen: Any) -> Reading:
    """A reading that says why nothing can be done."""
    return Reading("format_error", code=code, message=message or MESSAGES[code], **seen)
