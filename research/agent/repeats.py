"""Replace repetitions in a prompt: a result refers back to text already shown above it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from research._util.said import translated
from research.parsing.markup import enclosed
from research.text import clip
from research.types import Message

LEAST = 60
"""Fewest characters of a repeated text that is replaced: a reference would hardly be shorter."""
_HEAD = 60
"""Characters of a repeated paragraph that identify it."""
_SOURCE = re.compile(r"^\[(\d+)\] ([^\n]*)\n<[^\n]*>((?:\n>[^\n]*)+)", re.M)


def without_repeats(messages: Iterable[Message], language: str) -> list[Message]:
    """Return the messages with each passage of a tool's result that an earlier result shows replaced by a reference.

    A message depends only on those before it, so the beginning of a growing conversation is stable.

    >>> seen = "[1] Japan\\n<https://a.example/>\\n> Japan has 123,201,945 people, most of whom live in cities."
    >>> [each.content for each in without_repeats([Message("tool", seen), Message("tool", seen)], "en")][1]
    '[1] Japan (shown above)'
    """
    shown = _Shown(translated("(shown above)", language))
    return [shown.next(message) for message in messages]


class _Shown:
    """What the messages so far show."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._paragraphs: set[str] = set()
        self._lines: dict[str, set[str]] = {}
        """The quoted lines of each source, by its number."""

    def next(self, message: Message) -> Message:
        """Return a message without what earlier ones show; remember the rest."""
        if message.role == "tool":
            return replace(message, content=self._result(message.content))
        if message.role != "user":
            return message
        parts, at = [], 0
        for _, start, end, _ in enclosed(message.content, r"<tool_response [^>\n]*>\n", r"\n</tool_response>"):
            parts += [message.content[at:start], self._result(message.content[start:end])]
            at = end
        self._remember(message.content[at:])
        return replace(message, content="".join([*parts, message.content[at:]])) if parts else message

    def _result(self, text: str) -> str:
        paragraphs = text.split("\n\n")
        short = "\n\n".join(self._joined([self._shortened(each) for each in paragraphs]))
        self._paragraphs.update(each for each in paragraphs if len(each) >= LEAST)
        self._remember(text)
        return short

    def _joined(self, paragraphs: Sequence[str]) -> Iterator[str]:
        """Yield the paragraphs, merging consecutive references to sources into one."""
        for referring, group in groupby(paragraphs, self._refers):
            each = list(group)
            numbers = [paragraph.partition(" ")[0] for paragraph in each]
            yield from [f"{', '.join(numbers)} {self._mark}"] if referring and len(each) > 1 else each

    def _refers(self, paragraph: str) -> bool:
        return paragraph.startswith("[") and paragraph.endswith(f" {self._mark}") and "\n" not in paragraph

    def _remember(self, text: str) -> None:
        for n, _, quoted in _SOURCE.findall(text):
            self._lines.setdefault(n, set()).update(map(_bare, quoted.splitlines()))

    def _shortened(self, paragraph: str) -> str:
        if len(paragraph) < LEAST or paragraph.endswith(self._mark):
            return paragraph
        if (source := _SOURCE.fullmatch(paragraph)) is None:
            head = clip(paragraph.partition("\n")[0], _HEAD)
            return f"{head} {self._mark}" if paragraph in self._paragraphs else paragraph
        n, title, quoted = source.groups()
        known = self._lines.get(n, set())
        lines = quoted.splitlines()[1:]
        if known and all(self._repeated(line, known) for line in lines):
            return f"[{n}] {title} {self._mark}"
        kept, run = [paragraph[: source.start(3)]], list[str]()
        for line in [*lines, None]:
            if line is not None and known and self._repeated(line, known):
                run.append(line)
                continue
            kept += [f"> {self._mark}"] if sum(map(len, run)) >= LEAST else run
            kept += [] if line is None else [line]
            run = []
        return "\n".join(kept)

    def _repeated(self, line: str, known: set[str]) -> bool:
        """Return whether a source's lines above contain this one; a cut line may be a part of one."""
        bare = _bare(line)
        return not bare or bare in known or len(bare) >= LEAST and any(bare in each for each in known)


def _bare(line: str) -> str:
    """Return a quoted line without its mark and its sign of a cut."""
    return line.removeprefix(">").strip(" …")
