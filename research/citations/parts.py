"""What the parts of a longer English sentence say alone: `Founded in 1987 by two sisters, the firm …` says when it was."""

from __future__ import annotations

import re
from collections.abc import Iterator

from research.citations.language import says
from research.quantities import quantities

_MOST = 60
"""Parts of one sentence."""
_SUBJECT = 5
"""Words of the longest subject that is taken from elsewhere in the sentence."""
_JOINT = re.compile(r"; |, (?:while|whereas) ")
_BEHIND = re.compile(r", (?:which|who|whose|where|(?:one |two |\d+ |most |some )?of (?:which|whom))\b")
"""A relative clause at the end, which says more of what stands before it."""
_NAMED = re.compile(r"(?:^|\s)((?:[Tt]he )?(?:[A-Z][\w'-]+ ?){1,4}), (?:(an?) |(?:which|who) )([^,;]{2,120})$")
"""`… Tomas Brandt, a teacher` and `… the Amber Lager, which has 5 percent`."""
_AND = re.compile(r",? and (?=(\d)?)")
_DATE = r"(?:[A-Z][a-z]+ )?(?:1[5-9]|20)\d\d"
_DATED = re.compile(rf"\b(?:in|on|since) {_DATE}(?= (?:at|by|because|for|from|in|on|to|with)\b)")
"""The date of an event, with its place, its cause or its author behind it."""
_FIRST = re.compile(rf"((?:In|On|Since) (?:\d{{1,2}} )?{_DATE}),? (?=[A-Za-z])")
_PARTICIPLE = re.compile(r"([A-Z][a-z]+(?:ed|lt|rn|en|de)) ([^,]{3,120}), (\w.+)")
"""`Founded in 1987 by two sisters, the firm …`."""
_BESIDE = re.compile(r"((?:The|Its|Their|Our) [a-z][a-z -]{1,60}), ((?:the )?[A-Z][\w' -]{1,60}), (?=[a-z])(.+)")
"""`The treasurer, Ines Valdor, resigned`."""
_INNER = re.compile(r"\b(?:that|which|who|whose|where|said|says|told)\b|,")
"""Behind these, a verb after `and` may have another subject than the sentence."""


def parts(sentence: str) -> list[str]:
    """Return the statements that parts of a sentence of prose make, if no word in it takes anything back."""
    whole = sentence.rstrip(".")
    found = dict.fromkeys(_JOINT.split(whole))
    waiting = list(found)
    while waiting and len(found) < _MOST:
        new = dict.fromkeys(each for each in _shorter(waiting.pop(0)) if each not in found)
        found |= new
        waiting += new
    return [each for each in found if each != whole]


def _shorter(clause: str) -> Iterator[str]:
    """Yield what one part of a clause says."""
    if behind := _BEHIND.search(clause):
        yield clause[: behind.start()]
    if named := _NAMED.search(clause):
        yield from (f"{named[1]} is {named[2]} {named[3]}",) if named[2] else (f"{named[1]} {named[3]}",)
    if first := _FIRST.match(clause):
        rest = clause[first.end() :]
        yield from (rest, f"{rest} {first[1][:1].lower()}{first[1][1:]}")
    if beside := _BESIDE.match(clause):
        yield from (f"{name} {beside[3]}" for name in (beside[1], beside[2]))
    if made := _PARTICIPLE.match(clause):
        yield made[3]
        words = made[3].split()[: _SUBJECT - 1]
        yield from (f"{' '.join(words[:many])} was {made[1].lower()} {made[2]}" for many in range(1, len(words) + 1))
    yield from (clause[: dated.end()] for dated in _DATED.finditer(clause) if not made)
    if not (made or says("between", clause)):
        yield from _joined(clause)


def _joined(clause: str) -> Iterator[str]:
    """Yield both halves of `The mill has 90 looms and sells cloth`, the second with the subject of the first."""
    for joint in _AND.finditer(clause):
        first, second = clause[: joint.start()], clause[joint.end() :]
        figures = quantities(first)
        if joint[1] and figures and (figures[-1].unit or figures[-1].end == len(first)):
            continue  # one figure in two units, or two of a list: `6 feet and 3 inches`, `in 2020 and 2021`
        yield first
        if re.match(r"[a-z]+(?:ed|s)\b", second) and not _INNER.search(first):
            words = first.split()[:_SUBJECT]
            yield from (f"{' '.join(words[:many])} {second}" for many in range(1, len(words)))
