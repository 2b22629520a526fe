"""Calls, answers and reports as tags in running text.

The text is cut into tokens once (tags, backticks, comments); a walk over them leaves out what is only spoken about:
reasoning, code, quotations, and everything inside an answer, a report or a JSON string.  Where a call ends is told by
its JSON, never by the next closing tag, unless the JSON is broken.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from research.parsing.calls import Found, Tools
from research.parsing.reading import Reading, format_error
from research.parsing.relaxed import STRINGS, Malformed, decode, space, unfenced

CUT = ("length", "max_tokens", "content_filter")
"""Reasons to finish that leave the reply incomplete."""

_TOKEN = re.compile(
    r"<\s{0,3}(?P<slash>/?)\s{0,3}(?P<name>think(?:ing)?|tool_call|action|tool_response|report|answer|code)"
    r"(?:\s[^<>\n]{0,200})?(?P<empty>/?)>|(?P<ticks>`+|~{3,})|(?P<comment><!--)",
    re.I,
)
_KINDS = {"thinking": "think", "action": "call", "tool_call": "call", "tool_response": "response"}
_FENCE = re.compile(r"\s*(?:`+|~{3,})[\w+-]*\s*")
_FENCE_END = re.compile(r"(?:`+|~{3,})\s*")
_BEGUN = re.compile(r"<(?:/(?:\w*))?\s*")
"""A closing tag of which the end is missing, as providers leave it that strip a stop sequence."""
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_DEBRIS = re.compile(r"[\"'”’]\s*[}\]｝］]")
_QUOTE = re.compile(r'["“„]|(?<=[\[{:,(])\s*[\'‘]')
_QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "「": "」", "『": "』", "«": "»", "‘": "’"}
_CONTROLS = dict.fromkeys(c for c in range(32) if c not in (9, 10))


class _Token(Struct):
    start: int
    end: int
    kind: str
    """`think call response report answer code`, `ticks`, `comment`."""
    closing: bool = False


def read_tagged(text: str, tools: Tools, finish_reason: str = "stop") -> Reading:
    """The calls or the answer in a reply, with its report and reasoning.  `tools` None: calls are not checked."""
    text = text.encode("utf-8", "replace").decode()  # half a character could not be stored or sent
    reader = _Reader(text, tools, finish_reason)
    reader.walk()
    inner = unfenced(reader.words)
    if not reader.acted and inner != reader.words:
        # A code fence around all that is said is decoration; one around a part of it is a quotation.
        inside = _Reader(inner, tools, finish_reason)
        inside.walk()
        if inside.acted:
            return replace(inside.reading(), thinking=reader.thinking, said=text[: reader.cut].rstrip())
    return reader.reading()


def plain(text: str) -> str:
    """Stripped, and without control characters that a terminal would obey."""
    return text.translate(_CONTROLS).strip()


class _Reader:
    def __init__(self, text: str, tools: Tools, finish_reason: str) -> None:
        self.text = text
        self.finish_reason = finish_reason
        self.recovered = False
        """Whether a call with an endless string was skipped once already."""
        self.cut = len(text)
        """Where the model began to invent observations."""
        self._tools = tools
        self._tokens = list(_tokens(text))
        self._starts = [token.start for token in self._tokens]
        self._tags = [token.start for token in self._tokens if token.kind not in ("ticks", "comment", "code")]
        self._places: dict[tuple[str, bool], list[int]] = defaultdict(list)
        for i, token in enumerate(self._tokens):
            self._places[token.kind, token.closing].append(i)
        self._pairs = _same_ticks(self._tokens, text)
        self._lines = [match.end() for match in re.finditer(r"^|\n", text)]
        self._blanks = [match.start() for match in _BLANK_LINE.finditer(text)]
        self._blocks: dict[int, _Block] = {}
        self._doubtful = False
        """A `</think>` may have been inside a string: what comes after it is not to be trusted."""
        self._restart(0, 0)
        self._thought = False
        """Whether a `<think>` was opened and closed: then a second `</think>` inside an answer is text."""

    def _restart(self, at: int, thoughts_end: int) -> None:
        """Begin the reply here: everything before was reasoning."""
        self.found = Found(self._tools)
        self.report = ""
        self._thoughts = [(0, thoughts_end)]
        self._pieces: list[str] = []
        self._from = at
        """Where what is said outside reasoning goes on."""
        self._thinking: int | None = None
        """Where an unclosed `<think>` began."""
        self._reporting: int | None = None
        """Where an unclosed `<report>` began."""
        self._broken = False
        """Something is unclosed that cannot be taken for complete."""
        self._acted_at: int | None = None
        """Where the last action ended, if an unclosed `<think>` came before it."""

    @property
    def words(self) -> str:
        """What is said outside reasoning."""
        rest = "" if self._thinking is not None else self.text[self._from : self.cut]
        return "".join([*self._pieces, rest]).strip()

    @property
    def thinking(self) -> str:
        spans = self._thoughts if self._thinking is None else [*self._thoughts, (self._thinking, self.cut)]
        return "\n".join(filter(None, (self.text[start:end].strip() for start, end in spans)))

    @property
    def acted(self) -> bool:
        return bool(len(self.found)) or self.found.answer is not None

    # -- the walk ---------------------------------------------------------------------------------------------------

    def walk(self) -> None:
        at = 0
        while (i := bisect_left(self._starts, at)) < len(self._tokens):
            token = self._tokens[i]
            match token.kind, token.closing:
                case "ticks" | "comment", _:
                    at = self._code_end(i)
                case "think", True:
                    at = token.end
                    self._restart(at, token.start)
                case "think", False:
                    at = self._think(i)
                case "response", False:
                    later = None if self._thought else self._thoughts_end(i)
                    opening = self._next("think", False, i)
                    if later is None or (opening is not None and opening < later):
                        self.cut = token.start
                        return
                    at = self._tokens[later].start  # all of it was reasoning
                case "call", False:
                    at = self._call(i)
                case "answer", False:
                    at = self._answer(i)
                case "report", False:
                    at = self._report(i)
                case "call", True:
                    self.found.distrust()
                    at = token.end
                case _:
                    at = token.end

    def _think(self, i: int) -> int:
        token = self._tokens[i]
        if self._thinking is not None:
            return token.end
        self._pieces.append(self.text[self._from : token.start])
        close = self._thoughts_end(i)
        if close is None:
            self._thinking = token.end
            return token.end
        end = self._tokens[close]
        self._thoughts.append((token.end, end.start))
        self._thought = True
        self._from = end.end
        return end.end

    def _act(self, at: int) -> None:
        """A real action begins here: it ends reasoning and reports that were left open."""
        if self._thinking is not None:
            self._thoughts.append((self._thinking, at))
            self._thinking, self._from, self._acted_at = None, at, at
        if self._reporting is not None:
            self.report = plain(self.text[self._reporting : at])
            self._reporting = None

    def _call(self, i: int) -> int:
        token = self._tokens[i]
        if self._in_quotation(token.start):
            return self._line_end(token.start)
        block = self._block(i)
        if block.mention:
            return token.end
        if self._quoted(token.start, block.end):
            return block.end
        if block.whole:
            self._act(token.start)
        block.give(self.found)
        following = bisect_left(self._tags, block.end)
        gap_end = self._tags[following] if following < len(self._tags) else len(self.text)
        if _DEBRIS.search(self.text, block.end, gap_end):
            # The end of a string and of an object: the call stood inside another one.
            self.found.distrust(all_of_them=True)
        self._acted_at = self._acted_at and block.end
        return block.end

    def _answer(self, i: int) -> int:
        token = self._tokens[i]
        if self._in_quotation(token.start):
            return self._line_end(token.start)
        close = self._close(i)
        if close is not None:
            end = self._tokens[close]
            if (drop := self._reasoned(i, close)) is not None:
                return drop
            self._act(token.start)
            self.found.say(plain(self.text[token.end : end.start]))
            return end.end
        later = self._thoughts_end(i)
        if later is not None and not self._thought:
            return self._tokens[later].start
        response = self._next("response", False, i)
        end_at = self._tokens[response].start if response is not None else len(self.text)
        call = self._next("call", False, i)
        whole = self.finish_reason not in CUT and (call is None or self._tokens[call].start > end_at)
        if self._thinking is None:
            if whole:
                self._act(token.start)
                self.found.say(plain(self.text[token.end : end_at]))
            self._broken = not whole
        self.cut = min(self.cut, end_at)
        return len(self.text)

    def _report(self, i: int) -> int:
        token = self._tokens[i]
        if self._in_quotation(token.start):
            return self._line_end(token.start)
        close = self._close(i)
        if close is None:
            if self._reporting is None:
                self._reporting = token.end
            return token.end
        end = self._tokens[close]
        if (drop := self._reasoned(i, close)) is not None:
            return drop
        self.report = plain(self.text[token.end : end.start])
        self._reporting = None
        return end.end

    # -- where things end -------------------------------------------------------------------------------------------

    def _next(self, kind: str, closing: bool, after: int) -> int | None:
        """Index of the next token of that kind."""
        places = self._places[kind, closing]
        k = bisect_left(places, after + 1)
        return places[k] if k < len(places) else None

    def _block(self, i: int) -> _Block:
        if i not in self._blocks:
            self._blocks[i] = _Block(self, i)
        return self._blocks[i]

    def _thoughts_end(self, i: int) -> int | None:
        """Index of the next `</think>` that does not stand in the JSON of a call."""
        close = self._next("think", True, i)
        call = self._next("call", False, i)
        while close is not None and call is not None and call < close:
            block = self._block(call)
            if block.read_to > self._tokens[close].start:
                close = self._next("think", True, bisect_left(self._starts, block.read_to) - 1)
            elif block.failed_at > self._tokens[close].start:
                self._doubtful = True  # reasoning with half a call, or a broken call that quotes the tag
                break
            call = self._next("call", False, max(call, bisect_left(self._starts, block.end) - 1))
        return close

    def _close(self, i: int) -> int | None:
        """Index of the tag that closes an answer or a report: the first outside code, else the first at all."""
        kind = self._tokens[i].kind
        first = self._next(kind, True, i)
        if first is None:
            return None
        j, limit = i + 1, self._next(kind, False, i)
        while j < len(self._tokens) and (limit is None or j <= max(limit, first)):
            token = self._tokens[j]
            if token.kind == kind and token.closing:
                return j
            j = bisect_left(self._starts, self._code_end(j)) if token.kind in ("ticks", "comment") else j + 1
        return first

    def _reasoned(self, i: int, close: int) -> int | None:
        """Where reasoning ends, if the block from `i` to `close` began in it: a `</think>`, then the tag once more."""
        if self._thought or self._thinking is not None:
            return None
        think = self._next("think", True, i)
        think = self._thoughts_end(i) if think is not None and think < close else None
        again = self._next(self._tokens[i].kind, False, think) if think is not None else None
        return self._tokens[think].start if think is not None and again is not None and again < close else None

    def _code_end(self, i: int) -> int:
        """Where inline code, a fence or a comment ends; backticks without a partner are just backticks."""
        token, text = self._tokens[i], self.text
        if token.kind == "comment":
            end = text.find("-->", token.end)
            return len(text) if end < 0 else end + 3
        mark = text[token.start : token.end]
        if len(mark) >= 3 and self._begins_line(token.start):
            for other in self._tokens[i + 1 :]:
                if other.kind == "ticks" and text.startswith(mark, other.start) and self._begins_line(other.start):
                    return other.end
            return len(text)
        partner = self._pairs.get(i)
        if partner is None or mark[0] == "~":
            # A tag right behind a lone backtick is quoted all the same.
            glued = text.startswith("<", token.end) and mark[0] == "`"
            return self._line_end(token.end) if glued else token.end
        start = self._tokens[partner].start
        blank = bisect_left(self._blanks, token.end)
        if blank < len(self._blanks) and self._blanks[blank] < start:
            return token.end  # inline code ends with its paragraph
        return self._tokens[partner].end

    def _begins_line(self, at: int) -> bool:
        start = self._line_start(at)
        return at - start <= 40 and not self.text[start:at].strip()

    def _line_start(self, at: int) -> int:
        return self._lines[bisect_left(self._lines, at + 1) - 1]

    def _line_end(self, at: int) -> int:
        k = bisect_left(self._lines, at + 1)
        return self._lines[k] if k < len(self._lines) else len(self.text)

    def _in_quotation(self, at: int) -> bool:
        """Whether a tag is on a line quoted with `>`."""
        start = self._line_start(at)
        return self.text[start : start + 4].lstrip(" ").startswith(">")

    def _quoted(self, start: int, end: int) -> bool:
        """Whether a block is glued to a quotation mark that opens, or stands between two."""
        before, mark = self.text[max(0, start - 2) : max(0, start - 1)], self.text[max(0, start - 1) : start]
        if mark not in _QUOTES:
            return False
        opens = mark not in "\"'" or not before or before in " \t\n([{:：，,。"
        return opens or self.text.startswith(_QUOTES[mark], end)

    # -- the outcome ------------------------------------------------------------------------------------------------

    def reading(self) -> Reading:
        found, cut = self.found, self.finish_reason in CUT
        seen: dict[str, Any] = {
            "errors": tuple(found.errors),
            "report": self.report,
            "thinking": self.thinking,
            "said": self.text[: self.cut].rstrip(),
            "words": self.words,
        }
        if cut and self._acted_at is not None and self.text[self._acted_at : self.cut].strip():
            return format_error("truncated", **seen)  # the reasoning went on, and might have come to another call
        if self._doubtful:
            found.distrust(all_of_them=True)
            seen["errors"] = tuple(found.errors)
        if found.calls:
            return Reading("tool_calls", calls=tuple(found.calls), **seen)
        if found.answer:
            return Reading("answer", text=found.answer, **seen)
        if found.errors:
            first = found.errors[0]
            return format_error(first.code, first.message, **seen)
        if found.answer is not None:
            return format_error("empty", "The answer was empty.", **seen)
        if cut:
            return format_error("refused" if self.finish_reason == "content_filter" else "truncated", **seen)
        if self._broken or self._reporting is not None or self._thinking is not None:
            return format_error("unclosed_tag", **seen)
        return format_error("no_action" if self.text.strip() else "empty", **seen)


class _Block:
    """What stands in one call tag: JSON objects, an array of them, or an object with a `<code>` body."""

    def __init__(self, reader: _Reader, i: int) -> None:
        self._reader = reader
        self._text = reader.text
        self._values: list[object] = []
        self._error: tuple[str, str] | None = None
        self.read_to = 0
        """Where the JSON that could be read ends."""
        self.failed_at = 0
        """Where it could be read no further."""
        self.mention = False
        """A tag that was only written about."""
        self.end = self._read(i)

    @property
    def whole(self) -> bool:
        return self._error is None

    def give(self, found: Found) -> None:
        for value in self._values:
            for each in value if isinstance(value, list) else [value]:
                found.call_object(each)
        if self._error:
            found.bad(*self._error)

    def _read(self, i: int) -> int:
        text, tokens = self._text, self._reader._tokens
        opening = tokens[i]
        fence = _FENCE.match(text, opening.end)
        at = fence.end() if fence else opening.end
        try:
            at = space(text, at)
            if text[at : at + 1] not in ("{", "[", "｛", "［"):
                return self._prose(i)
            while text[at : at + 1] in ("{", "[", "｛", "［"):
                value, at = decode(text, at)
                self._values.append(value)
                self.read_to = at
                at = space(text, at)
                if text[at : at + 1] in (",", "，"):
                    at = space(text, at + 1)
                if match := _FENCE_END.match(text, at):
                    at = space(text, match.end())
        except Malformed as error:
            cut = error.cut
            self.failed_at = len(text) if cut else error.at
            code = "truncated" if cut and error.code == "bad_json" else error.code
            self._error = (code, f"A call could not be read: {error}.")
            return self._recover(i) if cut else self._resume(error.at, i)
        token = self._token_at(at)
        if token is not None and token.kind == "code" and not token.closing:
            return self._code(token)
        if token is None and _BEGUN.fullmatch(text, at):
            return len(text)
        if token is None and at < len(text):
            # What follows belongs to the object before it, and cannot be read.
            self._values.pop()
            self._error = ("bad_json", f"A call could not be read: {text[at : at + 20]!r} follows it.")
            return self._resume(at, i)
        return token.end if token is not None and token.kind == "call" and token.closing else at

    def _prose(self, i: int) -> int:
        """No JSON: a call that is badly wrong if the tag is closed, otherwise a tag that is only mentioned."""
        tokens, reader = self._reader._tokens, self._reader
        j = i + 1
        while j < len(tokens) and tokens[j].kind in ("ticks", "comment", "code"):
            j += 1
        if j < len(tokens) and tokens[j].kind == "call" and tokens[j].closing:
            self._error = ("bad_json", 'A call must be one JSON object {"name": …, "arguments": {…}}.')
            return tokens[j].end
        self.mention = True
        if j == len(tokens) and reader.finish_reason in CUT and not self._text[tokens[i].end :].strip():
            self.mention = False
            self._error = ("truncated", "A call was cut off.")
        return tokens[i].end

    def _code(self, opening: _Token) -> int:
        """A body of code fills the argument `code`.  It ends where its tag and the call's close together."""
        reader, text, tokens = self._reader, self._text, self._reader._tokens
        i = bisect_left(reader._starts, opening.start)
        closes = reader._places["code", True]
        k = bisect_left(closes, i)
        while k < len(closes):
            close = tokens[closes[k]]
            after = self._token_at(self._skip(close.end))
            if after is not None and after.kind == "call" and after.closing:
                break
            at_end = self._skip(close.end) == len(text) and reader.finish_reason not in CUT
            if at_end and k == bisect_left(closes, i):
                after = close
                break  # a provider that strips its stop sequence leaves out the last tag
            k += 1
        if k == len(closes):
            self._values.pop()
            self._error = ("truncated", "The code of a call was cut off.")
            return len(text)
        follow = closes[k + 1] if k + 1 < len(closes) else None
        next_call = reader._next("call", False, closes[k])
        value = self._values.pop()
        if follow is not None and (next_call is None or follow < next_call):
            self._error = ("bad_json", "The code of a call holds its own closing tag.")
            return len(text)
        body = unfenced(text[opening.end : close.start]).strip("\r\n")
        given = value.get("arguments") if isinstance(value, dict) else None
        given = {} if given is None else given
        if not isinstance(value, dict) or not isinstance(given, dict) or "code" in given:
            self._error = ("bad_args", 'Give code once: in <code> tags, or as the argument "code".')
        else:
            self._values.append({**value, "arguments": {**given, "code": body} if body.strip() else given})
        return after.end if after is not None else len(text)

    def _skip(self, at: int) -> int:
        text = self._text
        while at < len(text) and text[at].isspace():
            at += 1
        return at

    def _token_at(self, at: int) -> _Token | None:
        """The tag that begins at this place."""
        k = bisect_left(self._reader._starts, at)
        if k < len(self._reader._tokens) and self._reader._starts[k] == at:
            token = self._reader._tokens[k]
            return token if token.kind not in ("ticks", "comment") else None
        return None

    def _recover(self, i: int) -> int:
        """Where a call ends whose string never does: at its closing tag, if all after it reads as calls to the end.

        Strict JSON only: its quotation marks show that it is not inside that string.
        """
        reader, text = self._reader, self._text
        close = reader._next("call", True, i)
        if close is None or reader.recovered or reader.finish_reason in CUT:
            return len(text)
        reader.recovered = True
        end = at = reader._tokens[close].end
        while (at := self._skip(at)) < len(text):
            opening = self._token_at(at)
            if opening is None or opening.kind != "call" or opening.closing:
                return len(text)
            try:
                _, at = json.JSONDecoder().raw_decode(text, self._skip(opening.end))
            except (ValueError, RecursionError):
                return len(text)
            closing = self._token_at(self._skip(at))
            if closing is None or closing.kind != "call" or not closing.closing:
                return len(text)
            at = closing.end
        return end

    def _resume(self, at: int, i: int) -> int:
        """Where a broken call ends: at the next tag outside its strings."""
        reader, text = self._reader, self._text
        tags = reader._tags
        while True:
            k = bisect_left(tags, at)
            start = tags[k] if k < len(tags) else len(text)
            quote = _QUOTE.search(text, at, start)
            if quote is None:
                token = self._token_at(start)
                return token.end if token is not None and token.kind == "call" and token.closing else start
            opening = quote.end() - 1
            string = STRINGS[text[opening]].match(text, opening)
            if string is None:
                return self._recover(i)
            at = string.end()


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        if name := match["name"]:
            if not match["empty"]:
                name = name.lower()
                yield _Token(match.start(), match.end(), _KINDS.get(name, name), bool(match["slash"]))
        else:
            yield _Token(match.start(), match.end(), "ticks" if match["ticks"] else "comment")


def _same_ticks(tokens: list[_Token], text: str) -> dict[int, int]:
    """For each run of backticks the next one of the same length."""
    latest: dict[str, int] = {}
    partner = {}
    for i in range(len(tokens) - 1, -1, -1):
        if tokens[i].kind == "ticks":
            mark = text[tokens[i].start : tokens[i].end]
            if mark in latest:
                partner[i] = latest[mark]
            latest[mark] = i
    return partner
