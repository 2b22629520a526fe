"""What an evolving report says was tried: the offline model notes its calls for itself; people read them as in the trace."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Final

from pages.parts.run import naming
from pages.parts.shared.safe import plain
from pages.parts.shared.words import TOOLS, tool_title
from research.events.view import RunView
from research.types import Observation, ToolCall

_SECTION: Final = re.compile(r"^#{1,6}[ \t]+(?:Tried|已尝试)[ \t]*$.*?(?=^#{1,6}[ \t]|\Z)", re.M | re.S)
_CALL: Final = re.compile(r'^- (\w+) (\{(?:".*|\}.*)?)$', re.M)
"""Matches `- query {"about": "…"} = "…"`; while it is written, its end may be missing."""
_DECODER: Final = json.JSONDecoder()


def in_words(view: RunView, report: str) -> str:
    """Return a report whose calls are said in words, each on its line; without the heading if there are none yet."""
    said = partial(_said, view)
    return _SECTION.sub(lambda section: _CALL.sub(said, section[0]) if "\n" in section[0].strip() else "", report)


def _said(view: RunView, found: re.Match[str]) -> str:
    name, written = found.groups()
    arguments, rest = _value(written)
    if not isinstance(arguments, dict):
        return f"- {tool_title(name)}" if name in TOOLS else found[0]
    call = ToolCall("", name, arguments)
    result, _ = _value(rest.removeprefix(" = "))
    came = naming.came_back(call, Observation("", name, result)) if isinstance(result, str) else ""
    return f"- {' → '.join(filter(None, [plain(naming.action(view, call)), came]))}"


def _value(text: str) -> tuple[object, str]:
    """Return the JSON value at the start of a text, and what follows it; None and the whole text if there is none."""
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError:
        return None, text
    return value, text[end:]
