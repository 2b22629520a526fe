"""`Reading`: what the parser returns for every format, with the helpers that all formats use."""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Struct

from research._util.said import say
from research.parsing.markup import enclosed
from research.types import CallError

Kind = Literal["tool_calls", "answer", "plan", "format_error"]

LENGTH = ("length", "max_tokens")
CUT = (*LENGTH, "content_filter")
"""Finish reasons of an incomplete reply."""

_CONTROLS = dict.fromkeys(c for c in range(32) if c not in (9, 10))


class FoundCall(Struct, frozen=True):
    """A call that may run: its tool is offered, and its arguments match the schema."""

    index: int
    """Position among all calls of the reply, including invalid ones."""
    name: str
    arguments: dict[str, Any]


class PlanStep(Struct, frozen=True):
    """One line of a ReWOO plan: `#E2 = llm[Summarise #E1]`."""

    id: str
    tool: str
    input: str
    deps: tuple[str, ...] = ()
    """Ids of earlier steps named in the input."""
    why: str = ""
    """The text after `Plan:`."""


class Reading(Struct, frozen=True):
    """A parsed reply."""

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
    """The reply, up to any invented observations."""
    words: str = ""
    """The text outside reasoning: the answer of a model told to use no tags."""
    code: str = ""
    """The kind of a format error, in one word."""
    message: str = ""
    """The message of a format error, for the model."""


def plain(text: str) -> str:
    """Return the text stripped, and without control characters that a terminal would interpret."""
    return text.translate(_CONTROLS).strip()


def outside_report(reading: Reading) -> str:
    """Return the text outside reasoning and report, which is the answer if no tag marks one."""
    if not reading.report:
        return reading.words
    words, kept, at = reading.words, [], 0
    for start, _, _, end in enclosed(words, r"<\s{0,3}report\b[^<>]{0,200}>", r"<\s{0,3}/\s{0,3}report\s{0,3}>", re.I):
        kept.append(words[at:start])
        at = end
    return "".join([*kept, words[at:]]).strip()


MESSAGES = {
    "empty": "The reply was empty. Call a tool or give the answer.",
    "truncated": "The reply was cut off at the length limit. Be shorter.",
    "refused": "The reply was withheld by the provider's content filter.",
    "unclosed_tag": "A tag was opened and never closed. Close every tag that you open.",
    "mentioned": "A sentence mentioned a call, so it did not run. To call a tool, write the call on a line of its own.",
    "markup": "The reply announced a tool call and held none that can be read.",
    "no_action": "The reply held neither a tool call nor an answer. Write exactly one of them.",
}


def format_error(code: str, message: str = "", **seen: Any) -> Reading:
    """Return a reading that says why the reply cannot be used."""
    return Reading("format_error", code=code, message=message or say(MESSAGES[code]), **seen)
