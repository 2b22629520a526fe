"""Compare the statements of a report with those of an earlier version or of another report.

Used for the evolving report beside the rounds, and for two runs side by side.  Reports are untrusted and may have any size,
so everything is linear in their length except `words`, which is bounded.
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
"""Least share of common words at which a statement is a new wording of another."""
NEAR = 8
"""Maximum number of earlier statements at the same place to compare a new one with."""
WORDS = 1_500
"""Most words of a statement to compare one by one."""

_ITEM = re.compile(r"(?=^(?:[-*+]|\d+[.)]) )", re.M)
_WHOLE = re.compile(r"```|^[ \t]*(?:~~~|\$\$|\\\[)", re.M)
"""Code and formulas, where a sign at the start of a line does not make an item."""
_HEADING = re.compile(r"^(#{1,6} .*)$", re.M)
_WORD = re.compile(r"\s*(?:[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+|[^\w\s])|\s+")


class Block(Struct, frozen=True):
    """One statement of a report, and how it changed."""

    text: str
    """Text in the later version; of a removed statement, text in the earlier one."""
    state: State = "same"
    before: str = ""
    """Earlier text of a changed statement."""


class Words(Struct, frozen=True):
    """Some words of a changed statement."""

    text: str
    """Includes the space before the words."""
    state: Literal["same", "added", "removed"]


def blocks(text: str) -> Iterator[str]:
    """Yield the statements of a report: headings, paragraphs and single list items; code and tables stay whole."""
    pieces: list[str] = []
    fenced = False
    for piece in re.split(r"\n\s*\n", text.strip()):
        pieces.append(piece)
        fenced ^= piece.count("```") % 2 == 1
        if not fenced:
            yield from _items("\n\n".join(pieces))
            pieces = []
    if pieces:
        yield from _items("\n\n".join(pieces))


def _items(piece: str) -> Iterator[str]:
    if _WHOLE.search(piece):
        yield piece
    else:
        for part in _HEADING.split(piece):
            yield from (item.strip("\n").rstrip() for item in _ITEM.split(part) if item.strip())


def changes(before: str, after: str) -> list[Block]:
    """Return the statements of `after` in order, each with its state, and the removed ones of `before` at their place.

    A statement that only moved is `same`.  A `changed` one follows the same neighbour and shares at least `ALIKE` of its
    words with the earlier one.
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
    found: list[list[Block]] = [[]]  # one list for each stretch after an unchanged statement
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
    """Insert removed statements into a stretch: after the unchanged statement, before the new ones."""
    stayed = 1 if stretch and stretch[0].state == "same" else 0
    return [*stretch[:stayed], *(Block(text, "removed") for text in removed), *stretch[stayed:]]


def _matched(text: str, candidates: list[str]) -> Block:
    """Return a new statement, or a changed one if it rewords a candidate, which it removes from the list."""
    alike = [(_likeness(text, each), -at) for at, each in enumerate(candidates[:NEAR])]
    best, at = max(alike, default=(0.0, 0))
    if best < ALIKE:
        return Block(text, "added")
    return Block(text, "changed", candidates.pop(-at))


def _numbered(text: str) -> dict[tuple[str, int], str]:
    """Return the statements by text and number of earlier occurrences, which makes the keys unique."""
    seen: Counter[str] = Counter()
    found = {}
    for block in blocks(text):
        bare = " ".join(block.split())
        found[bare, seen[bare]] = block
        seen[bare] += 1
    return found


def _likeness(one: str, other: str) -> float:
    """Return Dice's coefficient of the words of two texts, from 0 to 1."""
    a, b = (Counter(word.strip().casefold() for word in _WORD.findall(text)) for text in (one, other))
    return 2 * (a & b).total() / max(1, a.total() + b.total())


def words(before: str, after: str) -> list[Words]:
    """Merge the words of two wordings into one sequence.  Texts longer than `WORDS` are not compared word by word."""
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
