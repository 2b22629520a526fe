"""What became of a report: its statements compared with those of an earlier version, or of another report.

Used for the evolving report beside the rounds and for two runs side by side.  All of it is linear in the length of the
texts, but for `words`, which is bounded: reports are foreign and may be of any size.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from msgspec import Struct

State = Literal["same", "added", "changed", "removed"]

ALIKE = 0.5
"""Share of their words that two statements have in common when one is taken for a new wording of the other."""
NEAR = 8
"""Unmatched statements of the earlier version, at the same place, that a new one is compared with."""
WORDS = 1_500
"""Words of a statement that are compared one by one."""

_ITEM = re.compile(r"(?=^(?:[-*+]|\d+[.)]) )", re.M)
_HEADING = re.compile(r"^(#{1,6} .*)$", re.M)
_WORD = re.compile(r"\s*(?:[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+|[^\w\s])|\s+")


class Block(Struct, frozen=True):
    """One statement of a report and what became of it."""

    text: str
    """As it stands in the later version; a removed one as it stood in the earlier."""
    state: State = "same"
    before: str = ""
    """How a changed one read before."""


class Words(Struct, frozen=True):
    """Some words of a changed statement."""

    text: str
    """With the space before them."""
    state: Literal["same", "added", "removed"]


def blocks(text: str) -> Iterator[str]:
    """The statements of a report: headings, paragraphs, and each item of a list by itself; code and tables stay whole."""
    kept: list[str] = []
    fenced = False
    for piece in re.split(r"\n\s*\n", text.strip()):
        kept.append(piece)
        fenced ^= piece.count("```") % 2 == 1
        if not fenced:
            yield from _items("\n\n".join(kept))
            kept = []
    if kept:
        yield from _items("\n\n".join(kept))


def _items(piece: str) -> Iterator[str]:
    if "```" in piece:
        yield piece
    else:
        for part in _HEADING.split(piece):
            yield from (item.strip("\n").rstrip() for item in _ITEM.split(part) if item.strip())


def changes(before: str, after: str) -> list[Block]:
    """The statements of `after` in their order, each with what became of it, and those of `before` that are gone.

    A statement that only moved is the same.  One in other words stands at the same place, after the same neighbour, and
    shares at least `ALIKE` of its words.  What was removed stands where it was.
    """
    old, new = _numbered(before), _numbered(after)
    place = {key: at for at, key in enumerate(old)}
    common = set(old) & set(new)
    gone: dict[int, list[str]] = defaultdict(list)
    anchor = -1
    for at, key in enumerate(old):
        if key in common:
            anchor = at
        else:
            gone[anchor].append(old[key])
    found: list[list[Block]] = [[]]  # one list for each stretch after a statement that stayed
    anchors, anchor = [-1], -1
    for key, text in new.items():
        if key in common:
            anchor = place[key]
            found.append([Block(text)])
            anchors.append(anchor)
        else:
            found[-1].append(_matched(text, gone[anchor]))
    return [block for at, stretch in zip(anchors, found, strict=True) for block in _with_removed(stretch, gone[at])]


def _with_removed(stretch: Sequence[Block], removed: Sequence[str]) -> list[Block]:
    """A stretch with what is gone from it: after the statement that stayed, before what is new."""
    stayed = 1 if stretch and stretch[0].state == "same" else 0
    return [*stretch[:stayed], *(Block(text, "removed") for text in removed), *stretch[stayed:]]


def _matched(text: str, candidates: list[str]) -> Block:
    """A statement that was not there before, or another wording of one of the candidates, which is used up."""
    alike = [(_likeness(text, each), -at) for at, each in enumerate(candidates[:NEAR])]
    best, at = max(alike, default=(0.0, 0))
    if best < ALIKE:
        return Block(text, "added")
    return Block(text, "changed", candidates.pop(-at))


def _numbered(text: str) -> dict[tuple[str, int], str]:
    """Each statement by its words and how often it came before, so that no two have the same name."""
    seen: Counter[str] = Counter()
    found = {}
    for block in blocks(text):
        bare = " ".join(block.split())
        found[bare, seen[bare]] = block
        seen[bare] += 1
    return found


def _likeness(one: str, other: str) -> float:
    """Dice's coefficient of their words, 0 to 1."""
    a, b = (Counter(word.strip().casefold() for word in _WORD.findall(text)) for text in (one, other))
    return 2 * (a & b).total() / max(1, a.total() + b.total())


def words(before: str, after: str) -> list[Words]:
    """The words of both wordings in one line of reading.  What is longer than `WORDS` is not compared word by word."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > WORDS:
        return [Words(before, "removed"), Words(after, "added")]
    found: list[Words] = []
    matcher = SequenceMatcher(None, [word.strip() for word in old], [word.strip() for word in new], autojunk=False)
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        if kind == "equal":
            found.append(Words("".join(new[j:j_end]), "same"))
            continue
        if i < i_end:
            found.append(Words("".join(old[i:i_end]), "removed"))
        if j < j_end:
            found.append(Words("".join(new[j:j_end]), "added"))
    return found
