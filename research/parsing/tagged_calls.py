"""Calls, answers and reports as tags in running text.

The text is split into tokens once (`markup`).  A walk over them skips tags that are only mentioned: in reasoning, code,
quotations, and inside an answer, a report or a JSON string.  A call ends where its JSON ends (`call_blocks`), not at the next
closing tag, unless the JSON is broken.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from research._util.said import say
from research.parsing.call_blocks import Blocks
from research.parsing.calls import Found, Tools
from research.parsing.channels import without_channels
from research.parsing.leaks import MARKUP, foreign, read_leaked
from research.parsing.markup import Markup
from research.parsing.parsed import CUT, MESSAGES, Reading, format_error, plain
from research.parsing.relaxed import unfenced

_DEBRIS = re.compile(r"[\"'”’]\s*[}\]｝］]")
_WITHIN = re.compile(r"[^\s>.!?…。！？][ \t]*\Z")
"""Text before a call on its line that neither ends with a tag nor is a whole sentence."""
_BEHIND = re.compile(r"\s*(?!<)\S")
"""Text after a call that is not a tag."""
_WINDOW = 40
"""Characters before a call that are looked at."""


def read_tagged(text: str, tools: Tools, finish_reason: str = "stop") -> Reading:
    """Return the calls or the answer of a reply, with its report and reasoning.  `tools` None: calls are not checked."""
    text = text.encode("utf-8", "replace").decode()  # an unpaired surrogate could not be stored or sent
    text = without_channels(text)
    reader = _Reader(text, tools, finish_reason)
    reader.walk()
    if foreign(reader.words):
        return _leaked(reader, tools) or reader.unread()
    inner = unfenced(reader.words)
    if not reader.acted and inner != reader.words:
        # A code fence around the whole reply is decoration; one around a part of it is a quotation.
        inside = _Reader(inner, tools, finish_reason)
        inside.walk()
        if inside.acted:
            return replace(inside.reading(), thinking=reader.thinking, said=text[: reader.cut].rstrip())
    if not (reader.found.calls or reader.found.answer):
        return _leaked(reader, tools) or reader.reading()
    return reader.reading()


def _leaked(reader: _Reader, tools: Tools) -> Reading | None:
    """Return the reading of a reply that consists of calls in another markup, else None."""
    calls = [] if reader.finish_reason in CUT or reader.report else read_leaked(reader.words, tools)
    if not calls:
        return None
    reader.found = Found(tools)
    for name, arguments in calls:
        reader.found.call(name, arguments)
    return reader.reading()


class _Reader:
    def __init__(self, text: str, tools: Tools, finish_reason: str) -> None:
        self.text = text
        self.finish_reason = finish_reason
        self.cut = len(text)
        """Where invented observations begin."""
        self._tools = tools
        self._markup = Markup(text)
        self._tokens = self._markup.tokens
        self._blocks = Blocks(self._markup, cut=finish_reason in CUT)
        self._doubtful = False
        """A `</think>` may be inside a string, so later calls cannot be trusted."""
        self._restart(0, 0)
        self._thought = False
        """Whether a `<think>` was opened and closed; a second `</think>` inside an answer is then text."""

    def _restart(self, at: int, thoughts_end: int) -> None:
        """Begin the reply here; everything before was reasoning."""
        self.found = Found(self._tools)
        self.report = ""
        self._thoughts = [(0, thoughts_end)]
        self._pieces: list[str] = []
        self._from = at
        """Where text outside reasoning continues."""
        self._thinking: int | None = None
        """Where an unclosed `<think>` began."""
        self._reporting: int | None = None
        """Where an unclosed `<report>` began."""
        self._mentioned = False
        """Whether a sentence only mentions a call."""
        self._broken = False
        """An unclosed tag cannot be treated as complete."""
        self._acted_at: int | None = None
        """Where the last action ended, if an unclosed `<think>` came before it."""

    @property
    def words(self) -> str:
        """The text outside reasoning."""
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
        while (i := self._markup.index(at)) < len(self._tokens):
            token = self._tokens[i]
            match token.kind, token.closing:
                case "ticks" | "comment", _:
                    at = self._markup.code_end(i)
                case "think", True:
                    at = token.end
                    self._restart(at, token.start)
                case "think", False:
                    at = self._think(i)
                case "response", False:
                    later = None if self._thought else self._thoughts_end(i)
                    opening = self._markup.find("think", False, i + 1)
                    if later is None or (opening is not None and opening < later):
                        self.cut = token.start
                        return
                    at = self._tokens[later].start  # all of it was reasoning
                case "call" | "answer" | "report", False if self._markup.in_quotation(token.start):
                    at = self._markup.line_end(token.start)
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
        """Note that a real action begins here, which ends unclosed reasoning and reports."""
        if self._thinking is not None:
            self._thoughts.append((self._thinking, at))
            self._thinking, self._from, self._acted_at = None, at, at
        if self._reporting is not None:
            self.report = plain(self.text[self._reporting : at])
            self._reporting = None

    def _call(self, i: int) -> int:
        token = self._tokens[i]
        block = self._blocks[i]
        if block.mention:
            return token.end
        if self._markup.quoted(token.start, block.end) or _is_mention(self.text, token.start, block.end):
            self._mentioned = self._mentioned or block.error is None
            return block.end
        if block.error is None:
            self._act(token.start)
        block.add_to(self.found)
        if _DEBRIS.search(self.text, block.end, self._markup.next_tag(block.end)):
            # The end of a string and of an object follows, so the call was inside another one.
            self.found.distrust(all_of_them=True)
        self._acted_at = self._acted_at and block.end
        return block.end

    def _answer(self, i: int) -> int:
        token = self._tokens[i]
        close = self._markup.close(i)
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
        response = self._markup.find("response", False, i + 1)
        end_at = self._tokens[response].start if response is not None else len(self.text)
        call = self._markup.find("call", False, i + 1)
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
        close = self._markup.close(i)
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

    # -- where reasoning ends ------------------------------------------------------------------------------------------

    def _thoughts_end(self, i: int) -> int | None:
        """Return the index of the next `</think>` outside the JSON of a call."""
        close = self._markup.find("think", True, i + 1)
        call = self._markup.find("call", False, i + 1)
        while close is not None and call is not None and call < close:
            block = self._blocks[call]
            if block.read_to > self._tokens[close].start:
                close = self._markup.find("think", True, self._markup.index(block.read_to))
            elif block.failed_at > self._tokens[close].start:
                self._doubtful = True  # reasoning with half a call, or a broken call that quotes the tag
                break
            call = self._markup.find("call", False, max(call + 1, self._markup.index(block.end)))
        return close

    def _reasoned(self, i: int, close: int) -> int | None:
        """Return where reasoning ends if the block began in it: it contains `</think>` and then its own tag again."""
        if self._thought or self._thinking is not None:
            return None
        think = self._markup.find("think", True, i + 1)
        think = self._thoughts_end(i) if think is not None and think < close else None
        reopened = self._markup.find(self._tokens[i].kind, False, think + 1) if think is not None else None
        return self._tokens[think].start if think is not None and reopened is not None and reopened < close else None

    def unread(self) -> Reading:
        """Report that a reply in another markup is unreadable; its content is text."""
        self.found = Found(self._tools)
        return self.reading()

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
            return format_error("truncated", **seen)  # reasoning went on and might have led to another call
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
            return format_error("empty", say("The answer was empty."), **seen)
        if cut:
            return format_error("refused" if self.finish_reason == "content_filter" else "truncated", **seen)
        if self._broken or self._reporting is not None or self._thinking is not None:
            return format_error("unclosed_tag", **seen)
        if self._mentioned or MARKUP.search(self.words):
            why = MESSAGES["mentioned" if self._mentioned else "markup"]
            return format_error("no_action", say(why), **seen)
        return format_error("no_action" if self.text.strip() else "empty", **seen)


def _is_mention(text: str, start: int, end: int) -> bool:
    """Return whether the call from `start` to `end` is part of a sentence, or more text follows it.

    The sentence then quotes it, forbids it or gives it as an example. A refusal costs a request, a wrong call cannot be
    undone; so in doubt it counts as a mention.
    """
    return bool(_WITHIN.search(text[max(0, start - _WINDOW) : start]) or _BEHIND.match(text, end))
