"""Whether a question asks for less than a figure is of: coal, of fossil fuels; rice, of exports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from research.models.extractive.meaning import bare, by_label, explained, figures, masked, topics
from research.models.extractive.measured import measured_in
from research.models.extractive.stems import stem
from research.models.extractive.words import filler
from research.text import content_tokens, tokens

_BESIDE = re.compile(r"(?<=[\w\u4e00-\u9fff])(?:,? and(?: the| other)? |, | ?[/&+] ?|[、和与及])(?=[\w\u4e00-\u9fff])")
_AMOUNT = re.compile(
    r"\bhow (?:much|many)(?P<of>(?: (?!(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|in|of|from|to|on|at|"
    r"per|for|as|by|with|and|or|than|that|which|who|there|live|lives)\b)[\w'-]+){1,4})|"
    r"(?P<whose>[\u4e00-\u9fff]{2,12})是多少|多少(?P<zh>[\u4e00-\u9fff]+)",
    re.I,
)
"""Matches the noun whose amount is asked for."""
_WHO = re.compile(
    r"\bhow many (?:people|persons|inhabitants|residents|citizens)\b(?! (?:do|does|did)\b)(?P<of>[^,;.?!]{0,80})", re.I
)
"""Matches what is asked of people."""
_RARE = 12
"""Most labels whose wordings have a word that tells them apart."""


def narrower(text: str, label: str, *, amount: bool = True, says: Sequence[str] = ()) -> str:
    """Return the word of a question that is only a part of what a label's figures are of; empty if there is none.

    It is a word that the wordings of the label name beside others, as in *coal, oil and gas*, and the question alone; or, for
    `amount`, the noun whose amount it asks for, if no wording of the label has it, nor what else `says` so.
    """
    asked = bare(masked(text))
    words = {stem(word): word for word in content_tokens(asked)}
    same = words.keys() <= set(map(stem, content_tokens(label)))
    if (same and " and " not in label) or label not in figures():
        return ""
    alone = sorted((_parts().get(label, frozenset()) & words.keys()) - listed(asked))
    if len(alone) == 1:
        return words[alone[0]]
    if not amount or measured_in(text) not in (None, "count", "total"):
        return ""
    said, spread = explained()
    known = (
        said.get(label, frozenset()) | topics(label) | {stem(word) for each in says for word in content_tokens(each)}
    )
    for named in _counted(asked):
        strange = [word for word in named if len(word) > 1 and word not in filler() and stem(word) not in known]
        if strange and all(spread.get(stem(word), 0) <= _RARE for word in strange):
            return strange[0]
    return ""


def _counted(text: str) -> Iterator[Sequence[str]]:
    """Yield the words of each noun whose amount a text asks for, and the first that says which people it counts."""
    for match in _AMOUNT.finditer(text):
        yield content_tokens(match["of"] or match["whose"]) if match["zh"] is None else tokens(match["zh"])[:1]
    for match in _WHO.finditer(text):
        yield [word for word in content_tokens(match["of"]) if word not in filler()][:1]


def listed(text: str) -> set[str]:
    """Return the stems that a text names beside each other.

    >>> sorted(listed("coal, oil and gas"))
    ['coal', 'gas', 'oil']
    """
    found = set[str]()
    for before, after in pairwise(_BESIDE.split(text)):
        ends = content_tokens(before)[-1:], content_tokens(after)[:1]
        if all(ends) and ends == (tokens(before)[-1:], tokens(after)[:1]):
            found.update(stem(end[0]) for end in ends)
    return found


@cache
def _parts() -> dict[str, frozenset[str]]:
    """Return the stems that the wordings of a label name beside others and hardly ever alone, by label."""
    return {label: frozenset(words.split()) for label, words in by_label("parts").items()}
