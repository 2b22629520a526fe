"""Calls in the markup of a model's own template, which its server should have parsed and left in the text.

They are read only where nothing else can be meant: the reply consists of whole calls of one grammar, at most after an
announcement.  Everything else is not read, and the model is asked again.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from research.agent.parsing.calls import FINAL, Tools, plain_name
from research.agent.parsing.elements import Raw, Unread, begins, begins_line, calls_of, read_elements
from research.agent.parsing.mentions import disowned
from research.agent.parsing.relaxed import Malformed, decode, decode_all, unfenced

_BAR = r"[｜|‖]{1,2}"
_DSML = re.compile(rf"<{_BAR}DSML{_BAR}(?:tool_calls|function_calls)>")
_DSML_TAG = re.compile(
    rf"<(?P<end>/?){_BAR}DSML{_BAR}(?P<kind>tool_calls|function_calls|invoke|parameter)"
    r"(?:\s{1,20}name=\"(?P<name>[^\"<>\n]{1,200})\")?(?:\s{1,20}string=\"(?P<string>true|false)\")?\s{0,3}>"
)
_KIMI = re.compile(r"<\|tool_calls?_section_begin\|>")
_KIMI_CALL = re.compile(
    r"\s{0,20}<\|tool_call_begin\|>\s{0,20}([\w.:-]{1,200})\s{0,20}<\|tool_call_argument_begin\|>\s{0,20}"
)
_KIMI_CALL_END = re.compile(r"\s{0,20}<\|tool_call_end\|>\s{0,20}")
_KIMI_END = re.compile(r"\s{0,20}<\|tool_calls?_section_end\|>")
_DEEPSEEK = re.compile(r"<[｜|]tool[▁_]calls[▁_]begin[｜|]>")
_DEEPSEEK_CALL = re.compile(
    r"\s{0,20}<[｜|]tool[▁_]call[▁_]begin[｜|]>(?:function<[｜|]tool[▁_]sep[｜|]>)?\s{0,20}([\w.:-]{1,200})\s{0,20}"
    r"(?:<[｜|]tool[▁_]sep[｜|]>)?\s{0,20}(?P<fence>```(?:json)?)?\s{0,20}"
)
_DEEPSEEK_CALL_END = re.compile(r"\s{0,20}(?P<fence>```)?\s{0,20}<[｜|]tool[▁_]call[▁_]end[｜|]>\s{0,20}")
_DEEPSEEK_END = re.compile(r"\s{0,20}<[｜|]tool[▁_]calls[▁_]end[｜|]>(?:\s{0,20}<[｜|]end[▁_]of[▁_]sentence[｜|]>)?")
_FUNCTION = re.compile(r"(?:<function=)?([\w.:-]{1,200})>?\s{0,20}(?=[{<])")
_FUNCTION_END = re.compile(r"\s{0,20}>?\s{0,20}</function>\s{0,20}")
_PARAMETER = re.compile(r"\s{0,20}<parameter=([\w.-]{1,200})>")
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s{0,20}")
_MISTRAL_NAME = re.compile(r"([\w.:-]{1,200})(?:\[ARGS\])?\s{0,20}(?=\{)")
_REACT = re.compile(r"(?m)^Action:\s{0,5}[\w.:-]{1,200}\s{0,5}\n\s{0,5}Action Input:\s{0,5}(?=\{)")
_REACT_NAME = re.compile(r"Action:\s{0,5}([\w.:-]{1,200})\s{0,5}\n[^\n]{0,200}\Z")
_REACT_END = re.compile(r"\s{0,20}(?:Observation:[\s\S]*)?\Z")
"""The results that a model invents are dropped."""
_PYTHONIC = re.compile(r"[A-Za-z_]\w{0,80}\(")
_PRINTED = re.compile(r"print\((.*)\)", re.S)
_LONGEST_PYTHON = 20_000
_OBJECT = re.compile(r"(?m)^[ \t]{0,20}(?:```\w{0,20}\s{0,5})?(?=[{\[])")
_LLAMA = re.compile(r"<\|python_tag\|>\s{0,20}")
_WRAPPED = re.compile(r"<tool_call>\s{0,20}(?=<function=)")
_WRAP_END = re.compile(r"</tool_call>\s{0,20}(?:<tool_call>\s{0,20}(?=<function=))?")
_OWN_TAG = re.compile(r"<\s{0,3}/?\s{0,3}(?:tool_call|action|answer|report)\b", re.I)
_FOREIGN = re.compile(r"<function=|\[TOOL_CALLS\]|<\|python_tag\|>")
_MARKS = re.compile(r"DSML[｜|‖]|<\|tool_call|<[｜|]tool[▁_]|</?function\b|</?parameter\b|\[TOOL_CALLS\]|<\|python_tag")
MARKUP: Final = re.compile(
    r"<function=|</function>|<\|?/?tool_call|<action>|\[TOOL_CALLS\]|＜\s{0,20}/?(?:tool_call|action)|<\|python_tag\|>|"
    r"DSML[｜|‖]|<[｜|]tool[▁_]call|```tool_code\b|<\|(?:channel|message)\|>|^Action Input:",
    re.M,
)
"""Markup of calls; a text that contains it must not become the answer."""


def read_leaked(words: str, tools: Tools) -> list[Raw]:
    """Return the calls that a reply, without its reasoning, consists of; none if it is anything else."""
    text = words.strip()
    for opening, read in _SECTIONS:
        opened = opening.search(text)
        if opened is None:
            continue
        return _whole(read, text, opened.end()) if _announced(text, opened.start()) else []
    return _alone(text, tools) or _in_elements(text, tools)


def holds_call(words: str, tools: Tools) -> bool:
    """Return whether a text contains markup of calls, outside code: it must not become the answer."""
    return bool(MARKUP.search(words)) or begins(words, tools) is not None or _names_tool(words, tools)


def _names_tool(words: str, tools: Tools) -> bool:
    """Return whether one of the first objects that begin a line calls a tool, or the first of all names one."""
    known = {*(tools or ()), FINAL}
    for begun in islice(_OBJECT.finditer(words), 3):
        with suppress(Malformed, Unread):
            value, _ = decode(words, begun.end())
            first = value[0] if isinstance(value, list) and value else value
            name = first.get("name") if isinstance(first, dict) and not begun.start() else None
            if name in known or any(plain_name(each) in known for each, _ in calls_of(value)):
                return True
    return False


def _announced(text: str, at: int) -> bool:
    """Return whether only words that announce a call precede it."""
    before = text[:at]
    return not before.strip() or (begins_line(text, at) and "`" not in before and not disowned(before))


def _in_elements(text: str, tools: Tools) -> list[Raw]:
    at = begins(text, tools)
    if at is None or not _announced(text, at):
        return []
    try:
        return read_elements(text, at, tools)
    except (Unread, Malformed):
        return []


def foreign(words: str) -> bool:
    """Return whether a reply writes calls in such markup, so that tags inside them are text."""
    text = words.lstrip()
    first = _OWN_TAG.search(text)
    start = first.start() if first else len(text)
    sections = (opening.search(text) for opening, _ in _SECTIONS)
    at = begins(text, None)
    if at is not None and at < start and begins_line(text, at):
        return True
    return bool(_FOREIGN.match(text)) or any(found and found.start() < start for found in sections)


def _alone(text: str, tools: Tools) -> list[Raw]:
    """Return the calls of a reply that is nothing else."""
    if opened := _MISTRAL.match(text):
        return _whole(_mistral, text, opened.end())
    if opened := _LLAMA.match(text):
        return _whole(_objects, text, opened.end())
    if text.startswith(("<function=", "<tool_call>")):
        opened = _WRAPPED.match(text)
        return _whole(_functions, text, opened.end() if opened else 0)
    known = {*(tools or ()), FINAL}
    named = re.match(r"[\w.:-]{1,200}(?=\s{0,8}\{)", text)
    if named and text.endswith("</function>") and plain_name(named.group()) in known:
        return _whole(_functions, text, 0)
    if text.startswith(("{", "[", "```")) or _PYTHONIC.match(text):
        inner = unfenced(text).strip()
        calls = _whole(_objects, inner, 0) or _whole(_pythonic, inner, 0)
        return calls if all(plain_name(name) in known for name, _ in calls) else []
    return []


def _whole(read: Callable[[str, int], Iterator[Raw | int]], text: str, at: int) -> list[Raw]:
    """Return the calls of a grammar that ends where the text ends; none if it breaks off or text follows."""
    calls: list[Raw] = []
    try:
        for found in read(text, at):
            if isinstance(found, int):
                return calls if not text[found:].strip() else []
            calls.append(found)
    except (Unread, Malformed):
        return []
    return []


def _next(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    match = pattern.match(text, at)
    if match is None:
        raise Unread
    return match


def _dsml(text: str, at: int) -> Iterator[Raw | int]:
    """Yield the calls of DeepSeek's markup, then where it ends."""
    name, opened = "", None
    given: dict[str, Any] = {}
    for tag in _DSML_TAG.finditer(text, at):
        between = text[at : tag.start()]
        kind, closing = tag["kind"], bool(tag["end"])
        if kind == "parameter" and closing and opened is not None:
            if _MARKS.search(between) or opened["name"] in given:
                raise Unread
            given[opened["name"]] = decode_all(between) if opened["string"] == "false" else between
            opened = None
        elif between.strip() or opened is not None:
            raise Unread
        elif kind == "invoke" and not closing and tag["name"] and not name:
            name, given = tag["name"], {}
        elif kind == "parameter" and not closing and tag["name"] and name:
            opened = tag
        elif kind == "invoke" and closing and name:
            yield name, given
            name = ""
        elif kind in ("tool_calls", "function_calls") and closing and not name:
            yield tag.end()
            return
        else:
            raise Unread
        at = tag.end()


def _kimi(text: str, at: int) -> Iterator[Raw | int]:
    """Yield the calls of Kimi's section, then where it ends."""
    while not (end := _KIMI_END.match(text, at)):
        opened = _next(_KIMI_CALL, text, at)
        arguments, at = decode(text, opened.end())
        at = _next(_KIMI_CALL_END, text, at).end()
        yield opened[1], arguments
    yield end.end()


def _deepseek(text: str, at: int) -> Iterator[Raw | int]:
    """Yield the calls of DeepSeek's older section, then where it ends."""
    while not (end := _DEEPSEEK_END.match(text, at)):
        opened = _next(_DEEPSEEK_CALL, text, at)
        arguments, at = decode(text, opened.end())
        ends = _next(_DEEPSEEK_CALL_END, text, at)
        if bool(opened["fence"]) != bool(ends["fence"]):
            raise Unread
        at = ends.end()
        yield opened[1], arguments
    yield end.end()


def _functions(text: str, at: int) -> Iterator[Raw | int]:
    """Yield the calls written as `<function=f>…</function>`, then where they end.

    The arguments are one JSON object, or `<parameter=…>` blocks.
    """
    while opened := _FUNCTION.match(text, at):
        if text.startswith("{", opened.end()):
            arguments, at = decode(text, opened.end())
        else:
            arguments, at = _parameters(text, opened.end())
        yield opened[1], arguments
        ends = _FUNCTION_END.match(text, at)
        if ends is None and not text[at:].strip():
            break  # the server cut the closing tag, and the object is complete
        at = _next(_FUNCTION_END, text, at).end()
        if wrapped := _WRAP_END.match(text, at):
            at = wrapped.end()
    yield at


def _parameters(text: str, at: int) -> tuple[dict[str, Any], int]:
    given: dict[str, Any] = {}
    while opened := _PARAMETER.match(text, at):
        end = text.find("</parameter>", opened.end())
        value = text[opened.end() : end]
        if end < 0 or opened[1] in given or _MARKS.search(value):
            raise Unread
        given[opened[1]] = value.strip("\n")
        at = end + len("</parameter>")
    if not re.compile(r"\s{0,20}</function>").match(text, at):
        raise Unread
    return given, at


def _mistral(text: str, at: int) -> Iterator[Raw | int]:
    """Yield the calls after `[TOOL_CALLS]`: an array of objects, or `name{…}`."""
    if not text.startswith("[", at):
        name = _next(_MISTRAL_NAME, text, at)
        arguments, at = decode(text, name.end())
        yield name[1], arguments
        yield at
        return
    yield from _objects(text, at)


def _objects(text: str, at: int) -> Iterator[Raw | int]:
    """Yield the calls of JSON objects, separated by `;`, or of one array of them, then where they end."""
    while True:
        value, at = decode(text, at)
        yield from calls_of(value)
        following = re.compile(r"\s{0,20};\s{0,20}(?=\{)").match(text, at)
        if following is None or isinstance(value, list):
            yield at
            return
        at = following.end()


def _pythonic(text: str, at: int) -> Iterator[Raw | int]:
    """Yield the calls written in Python, `f(x="a")` or a list of such, with literals for arguments."""
    printed = _PRINTED.fullmatch(text)
    if len(text) > _LONGEST_PYTHON:
        raise Unread
    try:
        tree = ast.parse(printed[1] if printed else text, mode="eval").body
        for each in tree.elts if isinstance(tree, ast.List) else [tree]:
            if not (isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and not each.args):
                raise Unread
            if not all(given.arg for given in each.keywords):  # **values
                raise Unread
            yield each.func.id, {str(given.arg): ast.literal_eval(given.value) for given in each.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise Unread from error
    yield len(text)


def _react(text: str, at: int) -> Iterator[Raw | int]:
    """Yield the call of `Action: f`, `Action Input: {…}`, then where it ends."""
    name = _REACT_NAME.search(text, 0, at)
    arguments, at = decode(text, at)
    yield name[1] if name else "", arguments
    yield _next(_REACT_END, text, at).end()


_SECTIONS: Final[tuple[tuple[re.Pattern[str], Callable[[str, int], Iterator[Raw | int]]], ...]] = (
    (_DSML, _dsml),
    (_KIMI, _kimi),
    (_DEEPSEEK, _deepseek),
    (_REACT, _react),
)
"""Grammars that a model writes only to call; they may follow an announcement."""
