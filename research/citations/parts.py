"""What the parts of a longer English sentence say alone: `Founded in 1987 by two sisters, the firm …` says when it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

from research.citations.language import says
from research.quantities import quantities
from research.text import has_cjk

_MOST = 60
"""Parts of one sentence."""
_SUBJECT = 5
"""Words of the longest subject that is taken from elsewhere in the sentence."""
_JOINT = re.compile(r"; |, (?:while|whereas) ")
_HALVES = re.compile(rf"{_JOINT.pattern}|,? and ")
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
_COMMAS = re.compile(r"[，；,;](?!\d)")
_CHINESE_YEAR = re.compile(r"(?:1[5-9]|20)\d\d年")
_LAST_NAMED = re.compile(r".*\b(the .+)$")
_VERB = re.compile(r"\b(?:[a-z]+ed|is|was|are|were|has|had|have|rose|fell) ")
_CLAUSE = re.compile(rf"(?:(?:the|an?|another|its) )?(?:[\w-]+ ){{1,4}}{_VERB.pattern}")
"""How a clause with a subject of its own begins."""
_REDUCED = re.compile(
    r"((?:(?! of )[^,]){3,80}), (?:(?:which|who) ([^,]+)|((?:[a-z]+ed|built|made|held) [^,]+)), ([a-z][^,]+)"
)
"""`The exhibition, curated by Ada Holt, ran for a year`."""
_RANGE = re.compile(r" (?:between|from) (?:1[5-9]|20)\d\d (?:and|to) (?:1[5-9]|20)\d\d$")
_AGENT = re.compile(r"(.+ (?:is|are|was|were) [a-z]+\b.*) by (?!\d)[^,]+(?:, [A-Z][^,]+)?$")
"""Who did what was done, at the end."""
_NAME = re.compile(r"(?:[Tt]he )?(?!The\b)[A-Z][\w'’-]*(?: (?:of |and )?[A-Z][\w'’-]*)*")
_OWN = re.compile(r"\b(?:it|the country)(?P<own>['’]?s)? ", re.I)
"""What a clause calls the subject of the one before it."""
_OWN_ZH = re.compile(r"且?其(?!中)|且")
"""How a Chinese clause begins that says more of that subject."""
_PREDICATE = re.compile(r"(?:[a-z]+(?:ed|s)|is|was|are|were|has|had|have|[a-z]+(?:t|n) by)\b")
INNER = re.compile(r"\b(?:that|which|who|whose|where|say|says|said|tells|told|claims|claimed|believes|believed)\b|,")
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
    if reduced := _REDUCED.fullmatch(clause):
        yield from (f"{reduced[1]} {reduced[2] or f'was {reduced[3]}'}", f"{reduced[1]} {reduced[4]}")
    if agent := _AGENT.match(clause):
        yield agent[1]
    if period := _RANGE.search(clause):
        yield clause[: period.start()]
    if not made:
        yield from _joined(clause)


def _joined(clause: str) -> Iterator[str]:
    """Yield both halves of `The mill has 90 looms and sells cloth`, the second with the subject of the first."""
    for joint in _AND.finditer(clause):
        first, second = clause[: joint.start()], clause[joint.end() :]
        figures, others = quantities(first), quantities(second)
        if says("between", clause) and not _PREDICATE.match(second):
            continue
        if (
            joint[1]
            and len(figures) == 1
            and others
            and (figures[0].unit, "number") == (others[0].unit, others[0].kind)
        ):
            yield from _meant(first, second)
        if joint[1] and figures and (figures[-1].unit or figures[-1].end == len(first)):
            continue  # one figure in two units, or two of a list: `6 feet and 3 inches`, `in 2020 and 2021`
        yield first
        if not joint[1] and (_PREDICATE.match(second) or _CLAUSE.match(second)) and not INNER.search(first):
            yield from _meant(first, second)


def joined(claim: str) -> bool:
    """Return whether an English claim has two clauses, each with a verb of its own."""
    return any(
        _VERB.search(claim, 0, each.start()) and _CLAUSE.match(claim, each.end()) for each in _HALVES.finditer(claim)
    )


def halves(claim: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the two statements of a claim, as often as it may be cut; the second as it may be meant.

    It may lack the subject of the first, what stands before its figure, and its year.
    """
    whole = claim.strip(" .。")
    for joint in (_COMMAS if has_cjk(claim) else _HALVES).finditer(whole):
        first, second = whole[: joint.start()].rstrip(), whole[joint.end() :].lstrip()
        if has_cjk(claim):
            year = _CHINESE_YEAR.match(first)
            dated = f"{year[0]}，" if year and not _CHINESE_YEAR.search(second) else ""
            own = _OWN_ZH.match(second)
            leads = ["", *_leads(first[len(year[0]) if year else 0 :])][led(second) :]
            yield first, [f"{dated}{lead}{second[own.end() if own else 0 :]}" for lead in leads]
        elif not (says("between", first) or (says("back", second.split(" ")[0]) and not _OWN.match(second))):
            year = _FIRST.match(first)
            dated = f"{year[1]}, " if year else ""
            rest = first[year.end() if year else 0 :]
            yield first, [f"{dated}{each}" for each in [*_named_again(rest, second)] or _meant(rest, second)]


def _meant(first: str, second: str) -> Iterator[str]:
    """Yield what the second half of an English claim says."""
    figures = quantities(first)
    words = first.split()[:_SUBJECT]
    if _PREDICATE.match(second):
        yield from (f"{' '.join(words[:many])} {second}" for many in range(1, len(words) + 1))
    elif second[:1].isdigit():
        yield from (f"{first[: each.start]}{second}" for each in figures[:1] if each.end < len(first))
    elif second.endswith(" it") and (named := _LAST_NAMED.search(first)):
        yield f"{second[:-2]}{named[1]}"
    else:
        yield second


def _named_again(first: str, second: str) -> Iterator[str]:
    """Yield a half about `it` with the first name of the other half instead: `Norway has a king and its capital is Oslo`."""
    if (back := _OWN.search(second)) and (name := _NAME.search(first)):
        subject = name[0].removesuffix("'s") + ("'s" if back["own"] else "")
        yield f"{second[: back.start()]}{subject} {second[back.end() :]}"


def _leads(clause: str) -> list[str]:
    """Return how a Chinese clause begins, up to each of its first words."""
    import rjieba

    return list(accumulate(rjieba.cut(clause)))[:_SUBJECT]


@lru_cache(maxsize=16_384)
def led(clause: str) -> bool:
    """Return whether a Chinese clause has the subject of the one before it, as it begins with no other."""
    import rjieba

    return clause.startswith("其中") or (bool(clause) and rjieba.tag(clause)[0][1][0] in "vpdc")
