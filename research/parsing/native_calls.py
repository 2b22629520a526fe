"""The provider's own tool calls, with arguments as the model wrote them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from research._util.said import say
from research.parsing.calls import Found, Tools
from research.parsing.leaks import holds_call
from research.parsing.parsed import CUT, MESSAGES, Reading, format_error, outside_report, plain
from research.parsing.relaxed import Malformed, decode
from research.parsing.tagged_calls import read_tagged


class Given(Struct, frozen=True):
    """A native call, unchecked."""

    name: Any
    arguments: Any
    """JSON text, an object, or None."""


def read_native(text: str, calls: Sequence[Given], tools: Tools, finish_reason: str = "stop") -> Reading:
    """Return the calls of a reply, or its text as the answer.  Without native calls, tags in the text are parsed."""
    tagged = read_tagged(text, None if calls else tools, finish_reason)
    seen: dict[str, Any] = {
        "report": tagged.report,
        "thinking": tagged.thinking,
        "said": tagged.words,
        "words": tagged.words,
    }
    if not calls:
        return _read_text(tagged, tools, finish_reason, seen)
    found = Found(tools)
    for i, call in enumerate(calls):
        last = i == len(calls) - 1 and finish_reason in CUT
        if last and not _complete(call.arguments):
            found.bad(
                "truncated", say("The call was cut off at the length limit. Be shorter."), str(call.name or "")[:80]
            )
        else:
            found.call(call.name, call.arguments)
    seen["errors"] = tuple(found.errors)
    if found.calls:
        return Reading("tool_calls", calls=tuple(found.calls), **seen)
    if found.answer and plain(found.answer):
        return Reading("answer", text=plain(found.answer), **seen)
    if found.errors:
        return format_error(found.errors[0].code, found.errors[0].message, **seen)
    return format_error("empty", say("The answer was empty."), **seen)


def read_choice(text: str, tools: Tools) -> Reading:
    """Parse one choice of a chat completion: `{"finish_reason", "message": {"content", "tool_calls"}}`."""
    try:
        choice = json.loads(text)
    except (ValueError, RecursionError) as error:
        return format_error("bad_json", f"the choice is not JSON: {str(error)[:200]}")
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return format_error("empty")
    finish_reason = choice.get("finish_reason")
    listed = message.get("tool_calls") or []
    if not listed and message.get("function_call"):
        listed = [{"function": message["function_call"]}]
    calls = [_given(each) for each in (listed if isinstance(listed, list) else [listed])]
    reading = read_native(_content(message), calls, tools, finish_reason if isinstance(finish_reason, str) else "stop")
    return format_error("refused") if reading.code == "empty" and message.get("refusal") else reading


def _read_text(tagged: Reading, tools: Tools, finish_reason: str, seen: dict[str, Any]) -> Reading:
    if tagged.kind != "format_error" or tagged.errors:
        return replace(tagged, said=seen["said"])
    if finish_reason in CUT:
        return format_error("refused" if finish_reason == "content_filter" else "truncated", **seen)
    words = plain(outside_report(tagged))
    if not words:
        return format_error("empty", **seen)
    if finish_reason in ("tool_calls", "function_call") or holds_call(words, tools):
        return format_error("no_action", say(MESSAGES["markup"]), **seen)
    return Reading("answer", text=words, **seen)


def _given(call: Any) -> Given:
    function = call.get("function") if isinstance(call, dict) else None
    return Given(function.get("name"), function.get("arguments")) if isinstance(function, dict) else Given(None, None)


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _complete(arguments: Any) -> bool:
    """Return whether the arguments of a cut call are complete JSON."""
    if not isinstance(arguments, str):
        return arguments is not None
    try:
        return isinstance(decode(arguments)[0], dict | str) if arguments.strip() else False
    except Malformed as error:
        return not error.cut and arguments.lstrip()[:1] in "{["
