"""Calls in elements of any name: `<function_calls><invoke name="f">`, `<use_mcp_tool>`, `[TOOL_REQUEST]`, `<|tool_call|>`.

Templates differ in names but nest alike: wrappers around a call, which is a JSON object, or a
name with arguments below it. Any other form raises `Unread`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from msgspec import Struct

from research.parsing.markup import Markup
from research.parsing.relaxed import decode, decode_all, unfenced

Raw = tuple[str, Any]
"""Name and arguments of a call, unchecked."""

_TAG = re.compile(
    r"<(?P<end>/?)(?P<before>(?:[｜|‖]{1,2}[A-Z]{1,20}[｜|‖]{1,2})?)(?P<tag>[A-Za-z_][\w:.-]{0,80})(?:=(?P<value>[\w.:-]{1,200})|"
    r"(?P<attributes>(?:\s{1,20}[\w:-]{1,40}\s{0,3}=\s{0,3}\"[^\"<>\n]{0,2000}\"){0,20}))\s{0,20}(?P<empty>/?)>"
    r"|<\|(?P<slash>/?)(?P<token>[A-Za-z_]{1,40})\|>"
    r"|\[(?P<stroke>/?)(?P<mark>[A-Z]{2,20}_[A-Z_]{2,40})\]"
)
_ATTRIBUTE = re.compile(r"(?<![\w:-])([\w:-]+)\s*=\s*\"([^\"]*)\"")
_SIDES = frozenset({"start", "begin", "end"})
_CALLS = frozenset({"tool", "tools", "function", "functions", "invoke", "toolcall", "functioncall"})
"""Parts of an element's name that say it is a call."""
_TOKENS = frozenset({"action", "plugin"})
"""The same, in special tokens only."""
_NAMES = frozenset({"name", "tool", "tool_name", "function", "function_name", "recipient_name", "action"})
_GIVEN = frozenset({"arguments", "args", "parameters", "params", "input", "tool_input", "action_input", "kwargs"})
_BESIDE = frozenset({"id", "type", "index", "tool_call_id", "call_id", "server_name"})
"""Keys that may also describe a call."""
_BARE_NAME = re.compile(r"\s{0,20}([\w.:-]{1,200})\s{0,20}(?=[<{])")
_DEBRIS = re.compile(r"(?:\s|<\|[A-Za-z_]{1,40}\|>|</s>){0,50}\Z")
"""Tokens that end a turn, which may follow the last call."""
_DEPTH: Final = 8


class Unread(ValueError):
    """The text does not follow the grammar."""


class _Tag(Struct, frozen=True):
    start: int
    end: int
    name: str
    closing: bool
    token: bool = False
    """Whether it is a special token, such as `<|tool_call|>`."""
    empty: bool = False
    value: str = ""
    attributes: dict[str, str] = {}
    before: str = ""
    """The start shared by all names of a template."""

    @property
    def calls(self) -> bool:
        return not (_CALLS | _TOKENS if self.token else _CALLS).isdisjoint(re.split(r"[_:.-]", self.name))


def begins(text: str, tools: Collection[str] | None) -> int | None:
    """Return where the first element of a call begins outside code; None if there is none."""
    code = _code(text)
    start, end = next(code, (len(text), len(text)))
    for match in _TAG.finditer(text):
        while end <= match.start():
            start, end = next(code, (len(text), len(text) + 1))
        tag = _tag(match)
        ours = tag.calls or (_tool_in(tag, tools) and begins_line(text, tag.start))
        if ours and match.start() < start and not tag.closing and tag.name != "tool_response":
            return tag.start
    return None


def read_elements(text: str, at: int, tools: Collection[str] | None) -> list[Raw]:
    """Return the calls of elements that fill the text from here to its end.

    Raises `Unread`, or `Malformed`.
    """
    calls: list[Raw] = []
    while not _DEBRIS.match(text, at):
        found, at = _element(text, _opening(text, at), tools, 0)
        calls += found
    return calls


def in_code(text: str, at: int) -> bool:
    """Return whether a position is in code or a comment."""
    return any(start <= at < end for start, end in _code(text))


def _tool_in(tag: _Tag, tools: Collection[str] | None) -> str:
    """Return the offered tool that an element's name is or ends with: `<search>`, `<call:search>`."""
    names = {tag.name, tag.name.rpartition(":")[2]} & set(tools or ())
    return min(names, default="")


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Yield where code and comments begin and end."""
    markup = Markup(text)
    i = 0
    while i < len(markup.tokens):
        token = markup.tokens[i]
        i += 1
        if token.kind in ("ticks", "comment"):
            end = markup.code_end(i - 1)
            yield token.start, end
            i = max(i, markup.index(end))


def begins_line(text: str, at: int) -> bool:
    """Return whether only white space precedes this position on its line."""
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _tag(match: re.Match[str]) -> _Tag:
    name = match["tag"] or match["token"] or match["mark"]
    closing = bool(match["end"] or match["slash"] or match["stroke"])
    if not match["tag"]:  # such tokens name their side: <|tool_call_end|>, [END_TOOL_REQUEST]
        parts = name.lower().split("_")
        closing = closing or "end" in parts
        name = "_".join(part for part in parts if part not in _SIDES)
    return _Tag(
        match.start(),
        match.end(),
        name,
        closing,
        bool(match["token"]),
        bool(match["empty"]),
        match["value"] or "",
        dict(_ATTRIBUTE.findall(match["attributes"] or "")),
        match["before"] or "",
    )


def _space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _next(text: str, at: int) -> _Tag | None:
    match = _TAG.match(text, _space(text, at))
    return _tag(match) if match else None


def _opening(text: str, at: int) -> _Tag:
    tag = _next(text, at)
    if tag is None or tag.closing:
        raise Unread
    return tag


def _closed(text: str, at: int, opening: _Tag, *, cut: bool = True) -> int:
    """Return the end of the element whose content ends at `at`; a token at a text's end is often `cut` off."""
    tag = _next(text, at)
    if tag is not None and tag.closing and tag.name == opening.name:
        return tag.end
    if tag is not None and tag.closing and opening.token:
        return at  # it closes the element around this one
    if cut and opening.calls and _DEBRIS.match(text, at):
        return len(text)
    raise Unread


def _element(text: str, opening: _Tag, tools: Collection[str] | None, depth: int) -> tuple[list[Raw], int]:
    """Return the calls inside an element, and where it ends."""
    if depth > _DEPTH:
        raise Unread
    name = opening.value or (opening.attributes.get("name", "") if opening.calls else "")
    if name := name or _tool_in(opening, tools):
        return _call(text, opening, name)
    if opening.empty:
        raise Unread
    at = _space(text, opening.end)
    if text.startswith(("{", "["), at) and not _TAG.match(text, at):
        if opening.name in ("tool_call", "action") and not opening.token:
            raise Unread  # the reader of the tagged protocol has already rejected it
        calls, at = _objects(text, at)
        return calls, _closed(text, at, opening)
    if bare := _BARE_NAME.match(text, at):
        given, at = _arguments(text, bare.end(), opening)
        return [(bare[1], given)], at
    inner = _opening(text, at)
    if inner.name in _NAMES | _GIVEN | _BESIDE and not (inner.value or inner.attributes):
        return _record(text, at, opening)
    calls = []
    while (tag := _next(text, at)) is not None and not tag.closing:
        found, at = _element(text, tag, tools, depth + 1)
        calls += found
    if not calls:
        raise Unread
    return calls, _closed(text, at, opening)


def _objects(text: str, at: int) -> tuple[list[Raw], int]:
    calls: list[Raw] = []
    while text.startswith(("{", "["), at) and not _TAG.match(text, at):
        value, at = decode(text, at)
        calls += calls_of(value)
        at = _space(text, at)
    return calls, at


def calls_of(value: Any) -> list[Raw]:
    """Return the calls in an object, a list or a provider's message.  Raises `Unread` for any other."""
    if isinstance(value, dict) and value.get("tool_calls"):
        if any(value[key] for key in value.keys() - {"tool_calls", "role"}):
            raise Unread
        value = value["tool_calls"]
    return [_of_object(each) for each in (value if isinstance(value, list) else [value])]


def _of_object(value: Any) -> Raw:
    if not isinstance(value, dict):
        raise Unread
    if isinstance(value.get("function"), dict) and value.keys() - {"function"} <= _BESIDE:
        value = value["function"]
    names, given = [*_NAMES & value.keys()], [*_GIVEN & value.keys()]
    if len(names) != 1 or len(given) != 1 or not isinstance(value[names[0]], str):
        raise Unread
    if value.keys() - {names[0], given[0]} - _BESIDE:
        raise Unread
    return value[names[0]], value[given[0]]


def _call(text: str, opening: _Tag, name: str) -> tuple[list[Raw], int]:
    if opening.empty:
        return [(name, {key: value for key, value in opening.attributes.items() if key != "name"})], opening.end
    given, end = _arguments(text, opening.end, opening)
    return [(name, given)], end


def _arguments(text: str, at: int, opening: _Tag) -> tuple[Any, int]:
    """Return the arguments of a call up to the end of its element, and that end."""
    at = _space(text, at)
    if text.startswith("{", at):
        given, at = decode(text, at)
        return given, _closed(text, at, opening)
    found: dict[str, Any] = {}
    value: Any
    while (tag := _next(text, at)) is not None and not tag.closing:
        value, at = _leaf(text, tag)
        if tag.name in _GIVEN and not (tag.value or tag.attributes) and not found:
            return _inner(value), _closed(text, at, opening)
        key = tag.value or tag.attributes.get("name") or tag.name
        if tag.attributes.get("string") == "false":  # the template says that it is JSON
            value = decode_all(value)
        if key == "arg_key":
            key = value.strip()
            value, at = _leaf(text, _opening(text, at))
        if key in found:
            raise Unread
        found[key] = value
    return found, _closed(text, at, opening, cut=not found)  # more arguments may have followed


def _record(text: str, at: int, opening: _Tag) -> tuple[list[Raw], int]:
    """Return the call of an element with one child for the name and one for the arguments."""
    parts: dict[str, str] = {}
    while (tag := _next(text, at)) is not None and not tag.closing:
        if tag.name in parts:
            raise Unread
        parts[tag.name], at = _leaf(text, tag)
    names, given = [*_NAMES & parts.keys()], [*_GIVEN & parts.keys()]
    if len(names) != 1 or len(given) > 1:
        raise Unread
    return [(parts[names[0]].strip(), _inner(parts[given[0]]) if given else {})], _closed(text, at, opening)


def _inner(text: str) -> Any:
    """Return the arguments in their own element: an object, or an element for each."""
    if not text.strip() or text.lstrip().startswith(("{", "```")):
        return unfenced(text).strip() or {}
    found: dict[str, Any] = {}
    at = 0
    for tag, value, end in _leaves(text):
        key = tag.value or tag.attributes.get("name") or tag.name
        if key in found:
            raise Unread
        found[key], at = value, end
    if text[at:].strip():
        raise Unread
    return found


def _leaves(text: str) -> Iterator[tuple[_Tag, str, int]]:
    at = 0
    while (tag := _next(text, at)) is not None:
        value, at = _leaf(text, tag)
        yield tag, value, at


def _leaf(text: str, opening: _Tag) -> tuple[str, int]:
    """Return the text of an element as it is written, and where the element ends."""
    closing = f"</{opening.before}{opening.name}>"
    end = text.find(closing, opening.end)
    value = text[opening.end : end]
    if opening.closing or opening.empty or end < 0 or f"<{opening.name}" in value:
        raise Unread
    if any(_tag(each).calls for each in _TAG.finditer(value)):
        raise Unread  # half of another call
    return value.strip("\n"), end + len(closing)
