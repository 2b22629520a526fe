"""Compare a claim with sentences whose subject stands above them: `It ends on 31 May 2027` below `Contract C-101`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from research.citations.language import listed, says, unnamed, words
from research.citations.verbatim import Sentence, Token, dated_tokens, opposites, refutes, tokens_of
from research.quantities import quantities

_SEVERAL = re.compile(r"\band\b|[&/,，、和与及]")
"""Matches a heading that may name more than one subject."""
_SIGN = re.compile(r"[^\w\s'’,.-]")
_LEAST = 3
"""Words of the shortest clause that states something of its subject."""


class Placed(Struct, frozen=True):
    """A sentence that says of its subject what a claim says, or the same with another figure."""

    sentence: Sentence
    figure: str | None
    """The figure of the source where it is another one that refutes the claim's; empty if it does not refute it."""
    subject: str
    """What the claim has and the sentence has not."""
    above: frozenset[str]
    """Words above the sentence: its heading, the start of its paragraph, and the title."""


def placed(claim: str, context: Sequence[str], title: str, sentences: Iterable[Sentence]) -> list[Placed]:
    """Return the sentences that say a claim of its own subject; `context` are texts before it, the nearest first.

    Those that name no subject count if the nearest text that does names what is above them.
    """
    whole = dated_tokens(claim)
    referring = _refers(whole)
    said = whole[1:] if referring else whole
    keys = frozenset(each.key for each in said)
    found = []
    for sentence in sentences:
        reading = sentence.dated
        bare = reading[1:] if _refers(reading) else reading
        if (
            sentence.quoted
            or sentence.bound
            or ":" in sentence.text
            or "：" in sentence.text
            or len(bare) < _LEAST
            or not all(each.key in keys or _figure(each) or opposites(each.key) & keys for each in bare)
        ):
            continue
        for subject, at in _apart(claim, said, bare):
            above = words(f"{title} {sentence.heading} {sentence.opening}")
            if subject and not _is_above(subject, title, sentence):
                continue
            figure = None if at is None else refutes(said[at[0]], bare, at[1], sentence) and bare[at[1]].text
            found.append(Placed(sentence, figure, subject, above))
            break
    if any(each.subject for each in found):
        return [each for each in found if each.subject or not _refers(each.sentence.dated)]
    names = next(filter(None, map(_names, context)), frozenset[str]())
    own = [each for each in found if names and names <= each.above]
    return own or ([] if referring or any(_refers(each.sentence.dated) for each in found) else found)


def _apart(claim: str, said: Sequence[Token], reading: Sequence[Token]) -> Iterator[tuple[str, tuple[int, int] | None]]:
    """Yield what a claim has more than a sentence in one place, and where one figure differs in both."""
    more = len(said) - len(reading)
    start = next((at for at, (a, b) in enumerate(zip(said, reading, strict=False)) if a.key != b.key), len(reading))
    for cut in dict.fromkeys((start, len(reading))) if more >= 0 else ():
        both = [(at, at) for at in range(cut)] + [(at + more, at) for at in range(cut, len(reading))]
        apart = [(a, b) for a, b in both if said[a].key != reading[b].key]
        if not apart or (len(apart) == 1 and _rivals(said[apart[0][0]], reading[apart[0][1]])):
            inner = said[cut : cut + more]
            text = claim[inner[0].end - len(inner[0].text) : inner[-1].end] if inner else ""
            yield text, apart[0] if apart else None


def _rivals(one: Token, other: Token) -> bool:
    return (_figure(one) and _figure(other)) or other.key in opposites(one.key)


def _figure(token: Token) -> bool:
    return not isinstance(token.key, str) or token.key[:1].isdigit()


def _refers(tokens: Sequence[Token]) -> bool:
    return bool(tokens) and tokens[0].key in listed("back")


def _names(text: str) -> frozenset[str]:
    """Return the words that name the subject of a text: those of a heading, or with a capital or figure before its amount."""
    if not text.rstrip().endswith((".", "。")):
        return words(text) - unnamed()
    lead = text[: next((each.start for each in quantities(text)), len(text))]
    return words(" ".join(re.findall(r"(?<![\w-])[A-Z\d][\w-]*", lead))) - unnamed() - listed("back")


def _is_above(subject: str, title: str, sentence: Sentence) -> bool:
    """Return whether the words of a subject are those of the heading, or begin the paragraph."""
    own = words(subject) - unnamed()
    if says("reserve", subject) or not own or _SIGN.search(subject):
        return False
    name = sentence.heading or title
    if own <= words(name) and (not _SEVERAL.search(name) or words(name) - unnamed() <= own):
        return True
    keys = [each.key for each in tokens_of(subject) if not words(each.text) <= unnamed()]
    return keys == [each.key for each in tokens_of(sentence.opening)][: len(keys)]


def agreed(found: Sequence[Placed]) -> tuple[bool, str] | None:
    """Return whether sentences say a claim, or the one figure that they all have instead; None if they differ."""
    figures = {each.figure for each in found}
    if len(figures) != 1:
        return None
    (figure,) = figures
    return (True, "") if figure is None else (False, figure) if figure else None
