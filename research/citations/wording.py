"""Check that the words of a claim do not contradict the source: opposites, negations, swapped roles, other subjects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from research.citations.lexicon import NEGATIONS, SCALES, negated, opposed, sides, two_sided
from research.citations.matching import Problem
from research.citations.names import Names, contains_name, is_country
from research.citations.names import names as all_names
from research.citations.quantities import quantities
from research.citations.reading import Sentence, stems
from research.citations.reasons import because
from research.text import clip, has_cjk
from research.types import Reason


def contradictions(
    names: Names, claim: Sentence, evidence: Sequence[Sentence], weights: dict[str, float]
) -> list[Problem]:
    """Return the clauses of the claim that the best matching clause of the source denies, reverses or says of another."""
    found = []
    called = names.words(claim.text)
    for clause in (part for whole in claim.clauses for part in _halves(whole)):
        keys = stems(clause)
        figures = quantities(clause)
        neutral = {key for key in keys if not two_sided(key)}
        telling = list(keys - called)
        total = sum(weights.get(key, 1.0) for key in neutral) or 1.0
        windows = []
        for line in evidence:
            for window in (half for c in line.clauses for half in _halves(c)) if line.cjk == claim.cjk else ():
                there = stems(window)
                share = sum(weights.get(key, 1.0) for key in neutral if key in there) / total
                same = sum(any(q.states(s) for s in quantities(window)) for q in figures)
                weight = {key: 2 if two_sided(key) else 1 for key in telling}
                common = sum(w for k, w in weight.items() if k in there or sides(k) & sides(window))
                windows.append((share + same, common / max(sum(weight.values()), 1), line, window))
        if not windows or len(keys) < 2 and not figures:
            continue
        top = max(windows, key=lambda entry: entry[0])
        best = top[0]
        near = [entry[3] for entry in windows if entry[0] >= best - 0.25 and entry[2] is top[2]]
        near_best = [(line, window) for score, _, line, window in windows if score >= best - 0.05]
        reversals = [way for line, window in near_best if (way := _reversal(names, clause, line, window))]
        if best >= 0.45 and len(reversals) == len(near_best):
            reason, kind = reversals[0]
            found.append(Problem(reason, against=True, kind=kind))
        elif best >= 0.45 and (other := _opposite(clause, near)):
            found.append(Problem(_contrary(other), against=True, kind="opposite"))
        elif len(telling) >= 1:
            found += _check_subject(names, clause, max(windows, key=lambda entry: entry[1] + entry[0] / 10))
    return found


def _reversal(names: Names, clause: str, line: Sentence, window: str) -> tuple[Reason, str] | None:
    """Return why a clause contradicts one of the source, and the kind of contradiction; None if it does not."""
    changed = _roles(names, clause, line)
    apart = (bool(opposed(_ends(clause), _ends(window))) and changed != "turned") or _prefixed(clause, window)
    denied = _denies(clause, window) != _denies(window, clause)
    if apart and (denied or negated(clause) != negated(window)) and any(_turns(text) for text in (clause, window)):
        return None  # `did not rise` agrees with `fell`
    if apart:
        return _contrary(window), "opposite"
    if denied and negated(window):
        return because("the source seems to deny this: “{line}”", line=_short(window)), "denied"
    if denied:
        return because("the source seems to say this without the denial: “{line}”", line=_short(window)), "undenied"
    if changed == "same":
        return because("the source seems to have it the other way round: “{line}”", line=_short(line.text)), "reversed"
    return None


def _contrary(window: str) -> Reason:
    return because("the source seems to say the opposite: “{line}”", line=_short(window))


def _roles(names: Names, clause: str, line: Sentence) -> str:
    """Compare the order of two names in a clause and in the source.

    `same`: the order differs around the same verb, so the roles are swapped.  `turned`: it differs around another one.
    Empty: the order is the same, or meaningless.
    """
    mine = names.of(clause)
    for (a, first, one), (b, _, two) in zip(mine, mine[1:], strict=False):
        places = [[p for p, _, k in names.of(line.text) if k == key or contains_name(k, key)] for key in (one, two)]
        if one == two or not all(places) or min(places[1]) >= min(places[0]):
            continue
        if any(p < q for p in places[0] for q in places[1]):
            continue
        here, there = clause[a + len(first) : b], line.text[min(places[1]) : min(places[0])]
        shared = (stems(here) & stems(there)) - names.words(clause)
        passive = [bool(_BY.search(text)) for text in (here, there)]
        if not shared or passive[0] != passive[1] or _MUTUAL.search(here):
            return "turned"
        return "same"
    return ""


def _check_subject(names: Names, clause: str, window: tuple[float, float, Sentence, str]) -> list[Problem]:
    """Check that a line with the words of the clause has the same subject."""
    _, common, line, _ = window
    if common >= 0.75 and not line.label:
        others = [written for _, written, key in names.of(line.text) if not contains_name(clause, key)]
        for _, written, key in names.of(clause):
            if others and not contains_name(line.text, key) and not contains_name(line.title, key):
                return [
                    Problem(because("the source says this of {other}, not of {name}", other=others[0], name=written))
                ]
    mine = names.of(clause)[:1]
    theirs = [] if line.label else names.of(line.text)[:1]
    if common < 0.6 or not mine or not theirs or mine[0][0] > 12 or theirs[0][0] > 12:
        return []
    if (
        contains_name(line.text, mine[0][2])
        or contains_name(clause, theirs[0][2])
        or contains_name(mine[0][1], theirs[0][2])
    ):
        return []
    reason = because("the source says {other}, not {name}", other=theirs[0][1], name=mine[0][1])
    return [Problem(reason, against=True, kind="subject")]


_BY = re.compile(r"\bby\s+(?:the\s+)?$|\b(?:is|are|was|were|be|been|being)\s[^,;]*\bby\b|被")
_MUTUAL = re.compile(
    r"\b(?:border|met|meet|merg|agree|sign|share|with|between|and|neighbo|marri|differ|similar|equal|join|play|"
    r"talk|trade)|"
    r"和|与|同|及|接壤|签署|合并|会见"
)
"""Words for mutual actions, for which the order does not matter."""


def _halves(clause: str) -> list[str]:
    """Split `A and B` if each half is a statement of its own."""
    parts = re.split(r"\s{1,9}and\s{1,9}(?=[a-z])", clause)
    if len(parts) == 2 and all(len(stems(part)) >= 2 for part in parts):
        return parts
    return [clause]


def _denies(text: str, other: str) -> bool:
    """Return whether a text denies something that the other mentions."""
    if not negated(text):
        return False
    for match in NEGATIONS.finditer(text.lower()):
        behind = re.split(r"[,;，；。]", text[match.end() :])[0]
        if has_cjk(behind):
            if any(behind[i : i + 2] in other for i in range(3) if len(behind) > i + 1):
                return True
            continue
        words = behind.split()
        scope = stems(" ".join(words[:5])) or stems(text[: match.start()])
        figures = quantities(" ".join(words[:4]))
        if scope & stems(other) or any(a.states(b) for a in figures for b in quantities(other)):
            return True
        if not words:
            return True
    return False


def _opposite(clause: str, windows: Sequence[str]) -> str:
    """Return a clause of the source with an opposite word, if no clause has the same word; else empty."""
    ends = _ends(clause)
    if any(scale < SCALES for window in windows for scale, _ in ends & _ends(window)):
        return ""
    if any(map(negated, (clause, *windows))):
        return ""
    return next((window for window in windows if opposed(ends, _ends(window))), "")


@lru_cache(maxsize=65_536)
def _ends(text: str) -> frozenset[tuple[int, int]]:
    """Return the ends of scales that a text names; `North` in the name of a country, `North Korea`, is not a direction."""
    for _, written, key in reversed(all_names(text)):
        if is_country(key):
            text = text.replace(written, " ")
    return sides(text)


def _prefixed(text: str, other: str) -> bool:
    """Return whether one text has a word and the other the same word with `un-`, `in-`, `dis-` or the like."""
    a, b = (set(re.findall(r"[a-z]{4,}", each.lower())) for each in (text, other))
    return any(
        word.startswith(prefix) and word.removeprefix(prefix) in right and word not in right
        for left, right in ((a, b), (b, a))
        for word in left
        for prefix in ("un", "in", "im", "il", "ir", "dis", "non")
        if len(word) > len(prefix) + 3
    )


def _turns(text: str) -> bool:
    """Return whether a negation precedes a word that has an opposite: `did not rise`."""
    behind = (text[match.end() :].lower() for match in NEGATIONS.finditer(text.lower()))
    return any(two_sided(word) for tail in behind for word in re.findall(r"[a-z]+|[\u4e00-\u9fff]{2}", tail)[:3])


def _short(text: str) -> str:
    return clip(text.strip(" ,，"), 90)
