"""OpenAI's harmony format, if a server did not parse it: messages in channels, between special tokens.

Source: OpenAI, "OpenAI harmony response format".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_BEGINS = re.compile(r"\s{0,20}(?:<\|start\|>)?(?:assistant)?\s{0,5}(?:to=[\w.:-]{1,200}\s{0,5})?<\|channel\|>")
_STRIPPED = re.compile(
    r"(?:\A\s{0,20}(?:assistant)?(?=(?:analysis|commentary)(?:\s{1,3}to=|[A-Z]))"
    r"|assistant(?=(?:analysis|commentary|final)(?:\S|\s{1,3}to=)))"
    r"(analysis|commentary|final)((?:\s{1,3}to=[\w.:-]{1,200})?)(?:\s{0,3}(?:json|code)(?=\s{0,3}\{))?"
)
"""The head of a message stripped of special tokens by the server: `analysisI should…assistantfinalJapan has…`."""
_ENDS = re.compile(r"<\|(start|end|call|return)\|>")
_TO = re.compile(r"\bto=(?:functions\.)?([\w.:-]{1,200})")


def without_channels(text: str) -> str:
    """Return a reply in channels as tagged text: reasoning, calls and the answer; any other text unchanged."""
    if _STRIPPED.match(text):
        text = _STRIPPED.sub(r"<|start|>assistant<|channel|>\1\2<|message|>", text)
    return "".join(_messages(text)) if _BEGINS.match(text) else text


def _messages(text: str) -> Iterator[str]:
    parts = ["start", *_ENDS.split(text)]
    for end, part in zip(parts[::2], parts[1::2], strict=True):
        header, begun, content = part.partition("<|message|>")
        if not begun:
            yield "" if end == "start" else part  # words behind a message
        elif to := _TO.search(header):
            call = {"name": to[1], "arguments": content.strip()}
            yield f"<tool_call>{json.dumps(call, ensure_ascii=False)}</tool_call>"
        else:
            yield f"<think>{content}</think>" if "analysis" in header else content
