"""Relations with two ends: agent and patient, cause and effect, earlier and later, more and less.

Each is found by the word between its ends, from closed classes of the language: conjunctions of cause and time, `than` and
比, and the voice of verbs (`was bought by`, 被, 由).  A claim reverses a relation of the source if its first end has the
words of the source's second end, and its second those of the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from research.citations.lexicon import NEGATIONS, SCALES, sides, stem
from research.citations.matching import Problem
from research.citations.quantities import quantities
from research.citations.reading import Sentence, stems
from research.citations.reasons import because
from research.text import clip, has_cjk


class Relation(Struct, frozen=True):
    """A relation between two sets of stems.  `first` is the cause, the earlier, the larger or the agent."""

    kind: str
    first: frozenset[str]
    second: frozenset[str]

    def weight(self, other: Relation) -> tuple[int, int]:
        """Return how many words both have at the same end, and at opposite ends; 0 unless both ends share some."""
        mine, theirs = self.first & self.second, other.first & other.second
        a, b, c, d = self.first - mine, self.second - mine, other.first - theirs, other.second - theirs
        if not (a & d and b & c):
            return len(a & c) + len(b & d), 0
        return len(a & c) + len(b & d) if a & c and b & d else 0, len(a & d) + len(b & c)


_BACK = (
    r"because of|because|due to|owing to|thanks to|as a (?:result|consequence) of|caused by|brought (?:about|on) by|"
    r"triggered by|driven by|prompted by|produced by|result(?:ed|s|ing)? from|stem(?:s|med|ming)? from|"
    r"attributed to|explained by|"
    r"blamed on|(?:主要)?(?:是|正是)?(?:由于|因为)|归因于|源于|缘于|归功于|原因是"
)
_FORTH = (
    r"led to|leads? to|leading to|caus(?:e|es|ed|ing)(?! by)|result(?:ed|s|ing)? in|(?:brought|brings?) about(?! by)|"
    r"trigger(?:ed|s|ing)?(?! by)|contribut(?:ed|es?) to|g(?:a|i)ves? rise to|prompt(?:ed|s)(?! by)|"
    r"therefore|which is why|as a result(?! of)|consequently|导致|引起|引发|造成|使得|促使|致使|因此|所以|因而|从而"
)
_AFTER, _BEFORE = r"after|following|since", r"before|prior to|ahead of"
_SPLITS = (
    # kind, pattern with two groups, whether the first group is the first end
    ("cause", re.compile(rf"^(?:{_BACK})(?![a-z])\s{{0,9}}(.+?)[,，]\s{{0,9}}(.+)$", re.I), True),
    ("cause", re.compile(rf"^(.+?)(?<![a-z])(?:{_BACK})(?![a-z])(.+)$", re.I), False),
    ("cause", re.compile(rf"^(.+?)(?<![a-z])(?:{_FORTH})(?![a-z])(.+)$", re.I), True),
    ("cause", re.compile(r"^(.+?)[是]?由(.{1,300}?)(?:引起|造成|导致|所致)"), False),
    ("time", re.compile(rf"^(?:{_AFTER})\s{{1,9}}(.+?),\s{{0,9}}(.+)$", re.I), True),
    ("time", re.compile(rf"^(?:{_BEFORE})\s{{1,9}}(.+?),\s{{0,9}}(.+)$", re.I), False),
    ("time", re.compile(rf"^(.+?)\b(?:{_AFTER}|preceded by)\b(.+)$", re.I), False),
    ("time", re.compile(rf"^(.+?)\b(?:{_BEFORE}|followed by|(?:and|,) then)\b(.+)$", re.I), True),
    ("time", re.compile(r"^(.*?先.{1,300}?)[，,]?(?:然后|随后|之后|再|后)(.+)$"), True),
    (
        "time",
        re.compile(r"^([^，,。]*?在?[^，,。先]{2,16}?)(?:之后|以后|后)(?![来续者果期台方面退代卫])[，,]?(.+)$"),
        True,
    ),
    (
        "time",
        re.compile(
            r"^([^，,。]*?在?[^，,。先]{2,16}?)(?:之前|以前|前)"
            r"(?![者往景身期锋台提任进面所线沿述])[，,]?(.+)$"
        ),
        False,
    ),
)
_FROM_TO = re.compile(
    r"\bfrom\b((?:[^,;]|,(?=\d)){1,300}?)\b(?:to|into)\b((?:[^,;]|,(?=\d))+)|从([^，；]{1,100}?)(?:到|至|向|转)([^，；]+)"
)
_LESS = re.compile(r"少|低|短|小|慢|轻|便宜|差|弱|浅|窄|晚")
_COMPARATIVE = re.compile(r"\b(?:(more|less|fewer)\s+([a-z]+)|([a-z]{3,}er|more|less|worse|better|fewer))\b", re.I)
_ZH_THAN = re.compile(
    r"^(.+?)(?<!\d)(?:比|较)(?!例|分|赛|较|\d)(.{2,300}?)(更|还|要|高|低|多|少|大|小|长|短|快|慢|贵|便宜|重|轻|深|"
    r"浅|早|晚)(.*)$"
)
_CUT = re.compile(r"[,;:，；：。]|\b(?:and|but|while|whereas|although|though)\b|而(?!且)|但")
_BE = re.compile(r"\b(?:is|are|was|were|be|been|being|got|get|gets)\b(?:\s+\w+){0,2}\s*$", re.I)
_HELP = re.compile(r"\b(?:to|will|would|may|might|can|could|should|must|did|does|do|not|n't)\s*$", re.I)
_PREPOSITION = re.compile(
    r"\s{0,9}(?:in|on|at|by|from|for|since|during|of|with|under|near|after|before|as|between|along|across)\b"
)
_MUTUAL = re.compile(
    r"^(?:border|met|meet|merg|sign|share|marri|marry|differ|join|play|talk|trade|draw|tied|cooperat|includ|use|"
    r"base)|和|合并|会见|签署|接壤|包括"
)
"""Verbs of mutual actions, and others for which the order does not matter."""
IRREGULAR = {
    form: forms.split()[0]
    for forms in (
        "beat beats beaten",
        "give gave given",
        "take took taken",
        "sell sold",
        "buy bought",
        "build built",
        "pay paid",
        "lend lent",
        "lead led",
        "teach taught",
        "win won",
        "lose lost",
        "tell told",
        "write wrote written",
        "see saw seen",
        "find found",
        "hold held",
        "leave left",
        "send sent",
        "make made",
        "drive drove driven",
        "steal stole stolen",
        "choose chose chosen",
        "draw drew drawn",
        "catch caught",
        "fight fought",
        "bring brought",
        "hire hired",
        "hit hits",
        "know knew known",
        "overtake overtook overtaken",
        "shoot shot",
        "strike struck",
        "throw threw thrown",
        "show showed shown",
        "feed fed",
        "bite bit bitten",
        "eat ate eaten",
        "sue sued",
        "owe owed",
        "seek sought",
    )
    for form in forms.split()
}
"""Irregular verb forms, with the verb."""


def reversed_relations(claim: Sentence, lines: Sequence[Sentence]) -> list[Problem]:
    """Return the relations of the claim that the source has reversed, and nowhere the same way."""
    found = []
    for mine in relations(claim.text):
        same = crossed = 0
        where = ""
        for line in lines:
            if line.cjk != claim.cjk:
                continue
            for theirs in relations(line.text):
                if theirs.kind != mine.kind:
                    continue
                straight, across = mine.weight(theirs)
                if straight >= across:
                    same = max(same, straight)
                elif across > crossed:
                    crossed, where = across, line.text
        if crossed > same:
            found.append(
                Problem(
                    because("the source seems to have it the other way round: “{line}”", line=clip(where, 90)),
                    against=True,
                    kind="reversed",
                )
            )
    return found


@lru_cache(maxsize=16_384)
def relations(text: str) -> tuple[Relation, ...]:
    """Return all relations in a sentence."""
    plain = text.strip(" .。!?！？")
    found = []
    for kind, pattern, forth in _SPLITS:
        if match := pattern.match(plain):
            first, second = match.groups() if forth else reversed(match.groups())
            found.append(Relation(kind, _words(first), _words(second)))
    for match in _FROM_TO.finditer(plain):
        found.append(Relation("from", _end(match[1] or match[3]), _end(match[2] or match[4])))
    found += [*_comparisons(plain), *(_verbs_zh(plain) if has_cjk(plain) else _verbs(plain))]
    return tuple(r for r in found if r.first and r.second)


def _comparisons(text: str) -> Iterator[Relation]:
    """Yield comparisons such as `A is longer than B`; words without a known scale match only themselves."""
    for clause in re.split(r"[;；]|, (?:but|and|while)\b", text):
        head, than, behind = clause.partition(" than ")
        found = list(_COMPARATIVE.finditer(head)) if than else []
        if found:  # the last known comparative: `the tower is older than`, `lasts longer in winter than`
            match = next((m for m in reversed(found) if m[1] or sides(m[3])), found[-1])
            degree, adjective, plain = match.groups()
            before, between = head[: match.start()], head[match.end() :]
            word = (plain or degree).lower()
            scales = [(scale, side) for scale, side in sides(adjective or word) if scale < SCALES]
            lower = (degree or "").lower() in ("less", "fewer") or (word in ("less", "fewer", "worse"))
            measure = f"{scales[0][0]}" if scales and not adjective else stem(adjective.lower() if adjective else word)
            lower ^= bool(scales) and not adjective and word not in ("less", "fewer") and scales[0][1] == 1
            a, b = _words(f"{before} {between}"), _words(re.split(r"[,;]", behind)[0])
            yield Relation(f"than {measure}", *((b, a) if lower else (a, b)))
        elif chinese := _ZH_THAN.match(clause):
            left = re.split(r"[，,]", chinese[1])[-1] or chinese[1]
            a, b = _words(left), _words(chinese[2])
            yield Relation("than", *((b, a) if _LESS.match(chinese[3] + chinese[4]) else (a, b)))


def _verbs(text: str) -> Iterator[Relation]:
    for match in re.finditer(r"[A-Za-z]+", text):
        word = match.group().lower()
        lemma = IRREGULAR.get(word)
        before, behind = text[: match.start()], text[match.end() :]
        if match.group()[0].isupper() or not (lemma or word.endswith(("ed", "s")) or _HELP.search(before)):
            continue
        if len(word) < 4 and not lemma or _MUTUAL.match(word) or NEGATIONS.search(_piece(before).lower()):
            continue
        left, right = _last(before), _first(behind)
        kind = f"verb {stem(lemma or word)}"
        by = re.search(r"\bby\b", right)
        if _BE.search(before) or (by and not _HELP.search(before) and not lemma):
            if by:
                yield Relation(kind, _words(right[by.end() :]), _words(left) | _words(right[: by.start()]))
            continue
        if _PREPOSITION.match(right):  # `the stars found in 2019` has no agent
            continue
        yield Relation(kind, _words(left), _words(right))


def _verbs_zh(text: str) -> Iterator[Relation]:
    import rjieba

    place = 0
    for word, tag in rjieba.tag(text):
        start = text.find(word, place)
        if start < 0:
            continue
        place = start + len(word)
        if tag[:1] != "v" or word in "是有为在到要会能可将" or _MUTUAL.search(word):
            continue
        left = re.split(r"[，,。；]", text[:start])[-1] or text[:start]
        right = re.split(r"[，,。；]", text[place:])[0]
        if match := re.search(r"^(.*)(?:被|由|遭)(.+)", left):
            yield Relation(f"verb {word}", _words(match[2]), _words(match[1]) | _words(right))
        elif match := re.search(r"^(.*)(?:把|将(?=\S{2,60}$))(.+)", left):
            yield Relation(f"verb {word}", _words(match[1]), _words(match[2]) | _words(right))
        else:
            yield Relation(f"verb {word}", _words(left), _words(right))


def _end(text: str) -> frozenset[str]:
    """Return the stems and the figures: `from 5 to 7` is not `from 7 to 5`."""
    return _words(text) | {f"#{quantity.value:g} {quantity.unit}" for quantity in quantities(text)}


def _piece(text: str) -> str:
    return _CUT.split(text)[-1]


def _last(text: str) -> str:
    """Return the last clause, or the one before if it has no content (`, who`)."""
    cuts = [0, *(m.end() for m in _CUT.finditer(text))]
    return next((text[cut:] for cut in reversed(cuts) if stems(text[cut:])), text)


def _first(text: str) -> str:
    return _CUT.split(text)[0]


@lru_cache(maxsize=32_768)
def _words(text: str) -> frozenset[str]:
    """Return the stems; for Chinese, pairs of characters, which do not depend on word segmentation."""
    if not has_cjk(text):
        return stems(text) - {"be"}
    runs = re.findall(r"[\u3400-\u9fff]+", re.sub(r"[的了在将已也都于是以从]", " ", text))
    return frozenset(run[i : i + 2] for run in runs for i in range(len(run) - 1))
