"""The contents of a call tag and where they end: after the JSON or, if broken, at a conservative guess."""

from __future__ import annotations

import json
import re
from typing import TypeGuard

from msgspec import Struct

from research._util.said import say
from research.parsing.calls import Found
from research.parsing.markup import Markup, Token
from research.parsing.relaxed import STRINGS, Malformed, decode, space, spare_bracket, unfenced

_FENCE = re.compile(r"\s*(?:`+|~{3,})[\w+-]*\s*")
_FENCE_END = re.compile(r"(?:`+|~{3,})\s*")
_BEGUN = re.compile(r"<(?:/(?:\w*))?\s*")
"""A truncated closing tag, as providers leave when they strip a stop sequence."""
_QUOTE = re.compile(r'["“„]|(?<=[\[{:,(])\s*[\'‘]')
_OPENS = ("{", "[", "｛", "［")


class Block(Struct, frozen=True):
    """The contents of one call tag: JSON objects, an array of them, or an object with a `<code>` body."""

    end: int
    """Where the block ends, after its closing tag."""
    values: list[object] = []
    error: tuple[str, str] | None = None
    """(code, message) of the text after the values that could not be parsed."""
    read_to: int = 0
    """Where the parsed JSON ends."""
    failed_at: int = 0
    """Where parsing failed."""
    mention: bool = False
    """The reply only mentions the tag; it opens no call."""

    def add_to(self, found: Found) -> None:
        for value in self.values:
            for each in value if isinstance(value, list) else [value]:
                found.call_object(each)
        if self.error:
            found.bad(*self.error)


class Blocks:
    """The blocks of one reply, each parsed once.  `cut`: the reply is incomplete."""

    def __init__(self, markup: Markup, *, cut: bool) -> None:
        self._markup = markup
        self._text = markup.text
        self._cut = cut
        self._read: dict[int, Block] = {}
        self._recovered = False
        """Whether a call with an unclosed string was already skipped."""

    def __getitem__(self, i: int) -> Block:
        """Return the block that the call tag with this index opens."""
        if i not in self._read:
            self._read[i] = self._block(self._markup.tokens[i])
        return self._read[i]

    def _block(self, opening: Token) -> Block:
        text, values, read_to = self._text, [], 0
        fence = _FENCE.match(text, opening.end)
        at = fence.end() if fence else opening.end
        try:
            at = space(text, at)
            if not text.startswith(_OPENS, at):
                return self._prose(opening)
            while text.startswith(_OPENS, at):
                value, at = decode(text, at)
                values.append(value)
                read_to = at
                at = space(text, at)
                if text[at : at + 1] in (",", "，"):
                    at = space(text, at + 1)
                if match := _FENCE_END.match(text, at):
                    at = space(text, match.end())
        except Malformed as error:
            if (whole := self._with_last_bracket(at, error)) is not None:
                return whole
            code = "truncated" if error.cut and error.code == "bad_json" else error.code
            return Block(
                self._recover(opening) if error.cut else self._resume(error.at, opening),
                values,
                (code, say("A call could not be read: {error}.", error=error)),
                read_to,
                failed_at=len(text) if error.cut else error.at,
            )
        tag = self._markup.tag_at(at)
        if tag is None and values and (after := spare_bracket(text, at, values[-1])) is not None:
            closing = self._markup.tag_at(self._markup.skip(after))
            tag = closing if _closes_call(closing) else None
        if tag is not None and tag.kind == "code" and not tag.closing:
            return self._with_code(values, tag, read_to)
        if tag is None and _BEGUN.fullmatch(text, at):
            return Block(len(text), values, read_to=read_to)
        if tag is None and at < len(text):
            # The text after the object belongs to the call and cannot be parsed.
            problem = ("bad_json", say("A call could not be read: {rest!r} follows it.", rest=text[at : at + 20]))
            return Block(self._resume(at, opening), values[:-1], problem, read_to)
        return Block(tag.end if _closes_call(tag) else at, values, read_to=read_to)

    def _with_last_bracket(self, at: int, error: Malformed) -> Block | None:
        """Return the block of a call that lacks its last bracket before the closing tag; None for any other error."""
        tag = self._markup.tag_at(error.at)
        if not _closes_call(tag):
            return None
        try:
            value, end = decode(self._text[at : tag.start] + "}")
        except Malformed:
            return None
        given = isinstance(value, dict) and isinstance(value.get("arguments"), dict)
        return Block(tag.end, [value], read_to=tag.start) if given and end == tag.start - at + 1 else None

    def _prose(self, opening: Token) -> Block:
        """Return a block without JSON: a broken call if its tag is closed, else a mere mention."""
        following = self._markup.next_tag(opening.end)
        tag = self._markup.tag_at(following)
        if _closes_call(tag):
            return Block(tag.end, error=("bad_json", 'A call must be one JSON object {"name": …, "arguments": {…}}.'))
        if self._cut and tag is None and not self._text[opening.end :].strip():
            return Block(opening.end, error=("truncated", say("A call was cut off.")))
        return Block(opening.end, mention=True)

    def _with_code(self, values: list[object], opening: Token, read_to: int) -> Block:
        """Return a block whose `<code>` body is the argument `code`; it ends where both its tag and the call's close."""
        markup, text = self._markup, self._text
        *before, value = values
        first = close = markup.find("code", True, markup.index(opening.start))
        while close is not None:
            end = markup.tokens[close].end
            behind = markup.skip(end)
            tag = markup.tag_at(behind)
            if _closes_call(tag):
                end = tag.end
                break
            if close == first and behind == len(text) and not self._cut:
                break  # providers that strip the stop sequence remove the last tag
            close = markup.find("code", True, close + 1)
        if close is None:
            return Block(len(text), before, ("truncated", say("The code of a call was cut off.")), read_to)
        follow, next_call = markup.find("code", True, close + 1), markup.find("call", False, close + 1)
        if follow is not None and (next_call is None or follow < next_call):
            problem = ("bad_json", say("The code of a call holds its own closing tag."))
            return Block(len(text), before, problem, read_to)
        body = unfenced(text[opening.end : markup.tokens[close].start]).strip("\r\n")
        given = value.get("arguments") if isinstance(value, dict) else None
        given = {} if given is None else given
        if not isinstance(value, dict) or not isinstance(given, dict) or "code" in given:
            problem = ("bad_args", 'Give code once: in <code> tags, or as the argument "code".')
            return Block(end, before, problem, read_to)
        whole = {**value, "arguments": {**given, "code": body} if body.strip() else given}
        return Block(end, [*before, whole], read_to=read_to)

    def _recover(self, opening: Token) -> int:
        """Return the end of a call with an unclosed string: its closing tag, if only complete calls follow it.

        The calls that follow must be strict JSON: their quotation marks prove that the string does not contain them.
        """
        markup, text = self._markup, self._text
        close = markup.find("call", True, markup.index(opening.end))
        if close is None or self._recovered or self._cut:
            return len(text)
        self._recovered = True
        end = at = markup.tokens[close].end
        while (at := markup.skip(at)) < len(text):
            tag = markup.tag_at(at)
            if tag is None or tag.kind != "call" or tag.closing:
                return len(text)
            try:
                _, at = json.JSONDecoder().raw_decode(text, markup.skip(tag.end))
            except (ValueError, RecursionError):
                return len(text)
            closing = markup.tag_at(markup.skip(at))
            if not _closes_call(closing):
                return len(text)
            at = closing.end
        return end

    def _resume(self, at: int, opening: Token) -> int:
        """Return where a broken call ends: at the next tag outside its strings."""
        text = self._text
        while True:
            start = self._markup.next_tag(at)
            quote = _QUOTE.search(text, at, start)
            if quote is None:
                tag = self._markup.tag_at(start)
                return tag.end if _closes_call(tag) else start
            mark = quote.end() - 1
            string = STRINGS[text[mark]].match(text, mark)
            if string is None:
                return self._recover(opening)
            at = string.end()


def _closes_call(tag: Token | None) -> TypeGuard[Token]:
    return tag is not None and tag.kind == "call" and tag.closing
