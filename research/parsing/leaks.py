"""Calls in the markup of a model's own template, which its server should have parsed and left in the text.

They are read only if unambiguous: the reply consists of whole calls, at most after an announcement. Otherwise the model
is asked again.  Templates differ in their marks, but write alike: marks, among
them or inside one the name of an offered tool, then the arguments as a JSON object.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from itertools import islice
from typing import Final

from research.parsing.calls import FINAL, Tools, offered, plain_name
from research.parsing.elements import Raw, Unread, begins, begins_line, calls_of, in_code, read_elements
from research.parsing.relaxed import Malformed, decode, unfenced
from research.types import ToolSpec

_TOKEN = re.compile(
    r"(?P<space>\s{1,80})|(?P<mark><[^<>{}\n]{1,80}>|<\w{1,40}[=:]|\[/?[A-Z][A-Z_]{1,40}\]|>{3})"
    r"|(?P<label>[A-Z][a-z]{1,20}(?: [A-Z][a-z]{1,20})?:)|(?P<beside>```\w{0,20}|;|>(?=\s{0,20}</))|(?P<word>[\w.:-]{1,200})"
)
_OBJECT = re.compile(r"\[?\s{0,20}\{")
_WINDOW = 400
"""Most characters of a call before its arguments."""
_INVENTED = "Observation:"
"""Begins results invented by a model, which are dropped."""
_PYTHONIC = re.compile(r"\[?[A-Za-z_][\w.]{0,80}\(")
_MARK = r"(?:<(?!/?(?:answer|report)\b)[^<>{}\n]{1,80}>|\[/?[A-Z][A-Z_]{1,40}\])"
_WRAPPED = re.compile(
    rf"\s{{0,20}}(?:{_MARK}\s{{0,20}}){{0,4}}(?P<inner>.*?)(?:\s{{0,20}}{_MARK}){{0,4}}\s{{0,20}}\Z", re.S
)
"""Calls in Python, between marks."""
_LONGEST_PYTHON = 20_000
_BEGUN = re.compile(r"(?m)^[ \t]{0,20}(?:```\w{0,20}\s{0,5}|\w{1,20})?(?=[{\[])")
_OWN_TAG = re.compile(r"<\s{0,3}/?\s{0,3}(?:tool_call|action|answer|report)\b(?!\|)", re.I)
_SIGNS = r"<function=|</function>|<\|/?tool_call|\[TOOL_CALLS\]|<\|python_tag\|>|DSML[｜|‖]|<[｜|]tool[▁_]call|^Action Input:"
_FOREIGN = re.compile(_SIGNS, re.M)
MARKUP: Final = re.compile(
    rf"{_SIGNS}|</?tool_call|<action>|＜\s{{0,20}}/?(?:tool_call|action)|```tool_code\b|<\|(?:channel|message)\|>", re.M
)
"""Markup of calls; a text that contains it must not become the answer."""


def read_leaked(words: str, tools: Tools) -> list[Raw]:
    """Return the calls of a reply that, apart from reasoning, has only calls; else none."""
    text, known = words.strip().replace('<|"|>', '"'), _known(tools)  # Gemma's quotation marks
    for at, read in ((_head(text, known)[0], _marked), (begins(text, tools), read_elements)):
        if at is not None and _announced(text, at):
            with suppress(Unread, Malformed):
                return list(read(text, at, known))
    with suppress(Unread):
        return list(_pythonic(text, known))
    return []


def holds_call(words: str, tools: Tools) -> bool:
    """Return whether a text contains markup of calls, outside code: it must not become the answer."""
    at, called = _head(words, _known(tools))
    marked = at is not None and called and not in_code(words, at)
    return marked or bool(MARKUP.search(words)) or begins(words, tools) is not None or _names_tool(words, tools)


def calls_in(answer: str, tools: Sequence[ToolSpec]) -> bool:
    """Return whether an answer requested without tools calls one of these instead."""
    known = offered(tools)
    return bool(answer) and (holds_call(answer, known) or bool(read_leaked(answer, known)))


def foreign(words: str) -> bool:
    """Return whether a reply writes calls in such markup, so that tags inside them are text."""
    text = words.lstrip()
    first, sign = _OWN_TAG.search(text), _FOREIGN.search(text)
    start = first.start() if first else len(text)
    element = begins(text, None)
    if element is not None and element < start and begins_line(text, element):
        return True
    return sign is not None and sign.start() < start and _announced(text, sign.start())


def _known(tools: Tools) -> Set[str]:
    return {*(tools or ()), FINAL}


def _names_tool(words: str, tools: Tools) -> bool:
    """Return whether one of the first objects at a line's start calls a tool, or the very first names one."""
    known = _known(tools)
    for begun in islice(_BEGUN.finditer(words), 3):
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
    return not before.strip() or (begins_line(text, at) and "`" not in before)


def _head(text: str, known: Set[str]) -> tuple[int | None, bool]:
    """Return where the marks before the first object begin, None if other text does; and whether they mean a call."""
    found = _OBJECT.search(text)
    if found is None:
        return None, False
    at = max(0, found.start() - _WINDOW)
    lines = [at + match.end() for match in re.finditer(r"\A|\n", text[at : found.start()])]
    for start in lines:
        with suppress(Unread):
            names, kinds = _read_marks(text, start, found.start(), known)
            if len(names) <= 1 and (start == 0 or not kinds.isdisjoint(("mark", "label"))):
                return start, bool(names) or "mark" in kinds
    return None, False


def _read_marks(text: str, at: int, end: int, known: Set[str]) -> tuple[list[str], set[str]]:
    """Return the tools named from here to there, and the kinds of marks.  Raises `Unread` for other text."""
    names: list[str] = []
    kinds: set[str] = set()
    before = ""
    while at < end:
        token = _TOKEN.match(text, at, end)
        if token is None or _OWN_TAG.match(text, at):
            raise Unread
        at, kind = token.end(), str(token.lastgroup)
        found = [] if kind == "beside" else [w for w in re.findall(r"[\w.-]+", token[0]) if plain_name(w) in known]
        if (
            kind == "word"
            and not found
            and not (before == "mark" and (text[at : at + 1] in "<[" or not text[at:end].strip()))
            and not (at == end and not before and text[at : at + 1] == "[")
        ):
            raise Unread  # a word that is neither between two marks nor the mark itself: `functools[…]`
        names += found
        kinds.add(kind)
        before = kind
    return names, kinds


def _marked(text: str, at: int, known: Set[str]) -> Iterator[Raw]:
    """Yield the calls of marks that name a tool, each followed by an object, or of objects that name it themselves."""
    marked = False
    while found := _OBJECT.search(text, at):
        names, kinds = _read_marks(text, at, found.start(), known)
        marked = marked or "mark" in kinds
        value, at = decode(text, found.start())
        if names:
            if len(names) > 1 or not isinstance(value, dict):
                raise Unread
            yield names[0], value
        else:
            calls = calls_of(value)
            if not marked and not all(plain_name(name) in known for name, _ in calls):
                raise Unread
            yield from calls
        if text[at:].lstrip().startswith(_INVENTED):
            return
    if _read_marks(text, at, len(text), known)[0]:
        raise Unread


def _pythonic(text: str, known: Set[str]) -> Iterator[Raw]:
    """Yield the calls written in Python, each `f(x="a")`, `print(tools.f(x="a"))` or a list of such, with literals."""
    wrapped = _WRAPPED.match(text) if len(text) <= _LONGEST_PYTHON else None
    inner = unfenced(wrapped["inner"]).strip() if wrapped else ""
    if not _PYTHONIC.match(inner):
        raise Unread
    try:
        for line in ast.parse(inner).body:
            value = line.value if isinstance(line, ast.Expr) else None
            if isinstance(value, ast.Call) and ast.unparse(value.func) == "print" and len(value.args) == 1:
                value = value.args[0]
            for each in value.elts if isinstance(value, ast.List) else [value]:
                yield _called(each, known)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise Unread from error


def _called(call: ast.AST | None, known: Set[str]) -> Raw:
    """Return a call of a tool, also as an attribute, `tools.f(…)` or `f.call(…)`.  Raises `ValueError`."""
    if not isinstance(call, ast.Call) or call.args or not all(given.arg for given in call.keywords):  # **values
        raise Unread
    names = [name for name in ast.unparse(call.func).split(".") if plain_name(name) in known]
    if len(names) != 1 or not isinstance(call.func, ast.Name | ast.Attribute):
        raise Unread
    return names[0], {str(given.arg): ast.literal_eval(given.value) for given in call.keywords}
