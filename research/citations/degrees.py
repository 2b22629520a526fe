"""Compare quantifiers, hedges and degrees of a claim with those of its source.

These are closed word classes of English and Chinese.  A claim may be less certain than its source, never more; its
quantifier has to be the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from research.citations.matching import Problem
from research.citations.reading import Sentence, stems
from research.citations.reasons import because
from research.text import clip

_TIME = r"(?:year|day|month|week|hour|minute|second|time|night|season|quarter|decade)s?\b"
QUANTIFIERS = {
    "all": rf"(?<!\bnot )(?<!\babove )(?<!\bat )(?<!\bafter )(?<!\bfirst of )\ball\b(?! but)|\bevery(?:one|"
    rf"body)?\b(?! (?:\w+ )?{_TIME})|"
    r"(?<!not )\balways\b|\bwithout exception\b|(?<!不是)所有|(?<!不是)全部(?!\S{0,3}更换)|全都|一切|无一例外|"
    r"均(?!价|值|匀|衡|线)",
    "most": r"\bmost(?= of\b)|\bmost(?= (?:\w+ )?\w+s\b)|\bmost(?= people)|\bmostly\b|\b(?:a|the) (?:vast |"
    r"large )?majority\b|\bmore than half\b|"
    r"\blargely\b|大部分|大多|(?<!占)多数(?!票)|绝大",
    "some": r"\bsome\b(?! \d)|\bseveral\b|\ba few\b|\bcertain (?=\w+s\b)|\bnot all\b|\bof (?:which|whom|them)\b|"
    r"\b(?:fewer|less) than half\b|"
    r"\ba minority\b|\bpart of\b|\bpartly\b|\bmany\b|\bfew\b|\bhalf\b|\d (?:of|out of) (?:the |its |their )?\d|"
    r"\b(?:nearly|almost) all\b|\bthirds?\b|\bper ?cent of\b|\d% of\b|一半|百分之|分之|(?<!大)部分|一些|有些|"
    r"某些|少数|若干|其中|不少|许多|不全是|并非(?:所有|全部)",
    "only": r"\bonly\b(?! (?:about |around )?[\d$€£])|\bsolely\b|\bexclusively\b|\bno(?:thing|body|"
    r"ne)? (?:\w+ )?(?:but|except|other)\b|\bexcept\b|\bsole\b|"
    r"只有|仅有|仅限|只(?=[在对为向限能由])|仅(?!\d)|唯一|除了?\S{1,60}外",
}
"""Patterns of quantifiers, by what they say."""
_STRENGTH = {"some": 1, "most": 2, "all": 3}
_QUANTIFIERS = {name: re.compile(words, re.I) for name, words in QUANTIFIERS.items()}
_POSSIBLE = re.compile(
    r"\b(?:may(?! \d)|might|could(?! not)|possibl[ey]|possibility|perhaps|maybe|probabl[ey]|(?:un)?likely|"
    r"potential(?:ly)?|suggest\w*|appear(?:s|ed)? to|"
    r"seem(?:s|ed|ingly)?|apparently|reportedly|alleged(?:ly)?|suspect(?:s|ed)?|thought to|believed to|said to|"
    r"believes?|thinks?|hints?|hinted|in talks|unclear|unconfirmed|claims?(?= that)|conceivabl[ey]|presumabl[ey]|"
    r"in theory|tentative(?:ly)?|not (?:yet )?(?:clear|certain|confirmed)|risks?|would)\b|可能(?!性?[为是]零)|"
    r"或许|也许|或(?=将|使|会|能|为|是|因|与|导|已|于)|有可能|疑(?=为|因)|大概(?!\d)|似乎|疑似|据称|据说|推测|恐怕|"
    r"不排除|有待|未必|倾向"
)
_PLANNED = re.compile(
    r"\b(?:expect\w*|plan(?:s|ned|ning)?|hope[sd]?|aim(?:s|ed)?|intend(?:s|ed)?|propos(?:e[sd]?|al)|"
    r"consider(?:s|ed|ing)?|forecasts?|project(?:s|ed)?|"
    r"target(?:s|ed)?|scheduled|due to (?=[a-z]+\b(?<!the)(?<!a))|seek(?:s|ing)? to|should)\b|预计|预期|有望|"
    r"计划|拟|考虑|希望|力争|争取|目标"
)
_FUTURE = re.compile(
    r"\b(?:will|shall|is to|are to|going to|set to|would|upcoming|future|by 20\d\d)\b|将|会|要|到20\d\d"
)
_DEGREE = re.compile(r"\b(more|less)\s+([a-z]{4,})\b(?! than half)")


def overstated(claim: Sentence, lines: Sequence[Sentence]) -> list[Problem]:
    """Return the overstatements: the claim says all and its source some, certain and possible, or more and less."""
    found: list[Problem] = []
    for clause in claim.clauses:
        windows = list(_aligned(clause, claim, lines))
        if not windows:
            continue
        said = " ".join(windows)
        found += _check_quantifier(clause, said)
        found += _check_certainty(claim.text, windows[0])
        for degree, adjective in _DEGREE.findall(clause.lower()):
            theirs = _DEGREE.findall(" ".join(line.text for line in lines).lower())
            if (degree, adjective) not in theirs and any(a == adjective for _, a in theirs):
                found.append(
                    Problem(
                        because("the source does not say {words}", words=f"{degree} {adjective}"),
                        against=True,
                        kind="degree",
                    )
                )
    return found


def _aligned(clause: str, claim: Sentence, lines: Sequence[Sentence]) -> Iterator[str]:
    """Yield the clauses of the source that share most words with this one, best first; none if they share few."""
    keys = stems(clause)
    scored: list[tuple[int, float, int, int, Sentence, str]] = []
    for line in lines:
        if line.cjk != claim.cjk:
            continue
        pieces = line.clauses
        # a clause may need the subject before it: `the birds rose to 143, most of them migrants`
        for i, piece in enumerate(pieces):
            own = len(keys & stems(piece))
            scored.append((own, own / max(len(keys), 1), -len(scored), i, line, piece))
    if not scored or len(keys) < 2:
        return
    best = max(scored)
    whole = len(keys & best[4].all_keys) / len(keys)
    if best[1] < 0.4 and not (best[1] >= 0.3 and whole >= 0.6):
        return
    yield best[5]
    for own, _, _, i, line, piece in scored:
        if line is best[4] and i != best[3] and own and own >= best[0] - 1 and own >= best[0] / 2:
            yield piece


def _check_quantifier(clause: str, said: str) -> list[Problem]:
    mine = {name for name, words in _QUANTIFIERS.items() if words.search(clause)}
    theirs = {name for name, words in _QUANTIFIERS.items() if words.search(said)}
    if len(mine) != 1 or mine & theirs:
        return []
    (one,) = mine
    if one == "only":
        return [Problem(because("the source does not say that it is only so"))]
    if theirs and (one == "all" or theirs != {"only"}):
        other = min(theirs, key=lambda t: _STRENGTH.get(t, 0))
        return [Problem(because("the source says this of {other}, not of {name}", other=other, name=one))]
    return []


def _check_certainty(claim: str, said: str) -> list[Problem]:
    plain = re.sub(r"\bMay\b", "", claim)
    if possible := _POSSIBLE.search(re.sub(r"\bMay\b", "", said)):
        if not _POSSIBLE.search(plain) and not _PLANNED.search(plain):
            hedge, line = possible.group(), clip(said, 80)
            return [Problem(because("the source is less sure (“{words}”): “{line}”", words=hedge, line=line))]
    elif (planned := _PLANNED.search(said)) and not any(
        words.search(plain) for words in (_POSSIBLE, _PLANNED, _FUTURE)
    ):
        plan, line = planned.group(), clip(said, 80)
        return [Problem(because("the source has this as a plan (“{words}”): “{line}”", words=plan, line=line))]
    return []
