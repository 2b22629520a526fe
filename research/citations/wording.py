"""Whether the words of a claim say what the source's words say: not the opposite, not denied, not of another one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.citations.lexicon import NEGATIONS, SCALES, negated, opposed, sides, two_sided
from research.citations.matching import Problem
from research.citations.names import Names, holds
from research.citations.quantities import quantities
from research.citations.reading import Sentence, stems
from research.text import clip, has_cjk


def directions(names: Names, claim: Sentence, evidence: Sequence[Sentence], weights: dict[str, float]) -> list[Problem]:
    """Clauses of the claim that the clause of the source which matches them denies, turns round, or says of another."""
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
                told = sum(w for k, w in weight.items() if k in there or sides(k) & sides(window))
                windows.append((share + same, told / max(sum(weight.values()), 1), line, window))
        if not windows or len(keys) < 2 and not figures:
            continue
        top = max(windows, key=lambda entry: entry[0])
        best = top[0]
        near = [entry[3] for entry in windows if entry[0] >= best - 0.25 and entry[2] is top[2]]
        turned = [_turned(names, clause, line, window) for score, _, line, window in windows if score >= best - 0.05]
        if best >= 0.45 and all(turned):
            found.append(Problem(turned[0], against=True))
        elif best >= 0.45 and (other := _opposite(clause, near)):
            found.append(Problem(f"the source says the opposite: “{_short(other)}”", against=True))
        elif len(telling) >= 1:
            found += _subject(names, clause, max(windows, key=lambda entry: entry[1] + entry[0] / 10))
    return found


def _turned(names: Names, clause: str, line: Sentence, window: str) -> str:
    """How a clause and one of the source contradict each other; empty when they do not."""
    changed = _roles(names, clause, line)
    apart = (bool(opposed(sides(clause), sides(window))) and changed != "turned") or _prefixed(clause, window)
    denied = _denies(clause, window) != _denies(window, clause)
    if apart and denied and any(_turns(text) for text in (clause, window)):
        return ""  # did not rise, fell
    if apart:
        return f"the source says the opposite: “{_short(window)}”"
    if denied:
        return f"the source {'denies this' if negated(window) else 'does not deny this'}: “{_short(window)}”"
    return f"in the source it is the other way round: “{_short(line.text)}”" if changed == "same" else ""


def _roles(names: Names, clause: str, line: Sentence) -> str:
    """For two names that stand in the other order in the source: `same` when the word between them is the same, so
    that the parts are exchanged, else `turned`; empty when the order is the same, or means nothing.
    """
    mine = names.of(clause)
    for (a, first, one), (b, _, two) in zip(mine, mine[1:], strict=False):
        places = [[p for p, _, k in names.of(line.text) if k == key or holds(k, key)] for key in (one, two)]
        if one == two or not all(places) or min(places[1]) >= min(places[0]):
            continue
        if any(p < q for p in places[0] for q in places[1]):
            continue
        here, there = clause[a + len(first) : b], line.text[min(places[1]) : min(places[0])]
        shared = (stems(here) & stems(there)) - names.words(clause)
        passive = [bool(re.search(r"\bby\s+(?:the\s+)?$|被", text)) for text in (here, there)]
        if not shared or passive[0] != passive[1] or _MUTUAL.search(here):
            return "turned"
        return "same"
    return ""


def _subject(names: Names, clause: str, window: tuple[float, float, Sentence, str]) -> list[Problem]:
    """Whether the line that says what the clause says begins with another name than the clause."""
    _, told, line, _ = window
    if told >= 0.75 and not line.label:
        others = [written for _, written, key in names.of(line.text) if not holds(clause, key)]
        for _, written, key in names.of(clause):
            if others and not holds(line.text, key) and not holds(line.title, key):
                return [Problem(f"the source says this of {others[0]}, not of {written}")]
    mine = names.of(clause)[:1]
    theirs = [] if line.label else names.of(line.text)[:1]
    if told < 0.6 or not mine or not theirs or mine[0][0] > 12 or theirs[0][0] > 12:
        return []
    if holds(line.text, mine[0][2]) or holds(clause, theirs[0][2]) or holds(mine[0][1], theirs[0][2]):
        return []
    return [Problem(f"the source says {theirs[0][1]}, not {mine[0][1]}", against=True)]


_MUTUAL = re.compile(
    r"\b(?:border|met|meet|merg|agree|sign|share|with|between|and|neighbo|marri|differ|similar|equal|join|play|"
    r"talk|trade)|"
    r"和|与|同|及|接壤|签署|合并|会见"
)
"""Words for what both do alike."""


def _halves(clause: str) -> list[str]:
    """The two halves of `A and B` where each says something."""
    parts = re.split(r"\s+and\s+(?=[a-z])", clause)
    if len(parts) == 2 and all(len(stems(part)) >= 2 for part in parts):
        return parts
    return [clause]


def _denies(text: str, other: str) -> bool:
    """Whether a text denies something that the other speaks of: `no job` says nothing about a text without jobs."""
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
    """The clause of one sentence of the source that stands at the other end, when none stands at the same."""
    ends = sides(clause)
    if any(scale < SCALES for window in windows for scale, _ in ends & sides(window)):
        return ""
    if any(map(negated, (clause, *windows))):
        return ""
    return next((window for window in windows if opposed(ends, sides(window))), "")


def _prefixed(text: str, other: str) -> bool:
    """Whether one text has a word and the other the same with `un-`, `in-` or `dis-` before it."""
    a, b = (set(re.findall(r"[a-z]{4,}", each.lower())) for each in (text, other))
    return any(
        word.startswith(prefix) and word.removeprefix(prefix) in right and word not in right
        for left, right in ((a, b), (b, a))
        for word in left
        for prefix in ("un", "in", "im", "il", "ir", "dis", "non")
        if len(word) > len(prefix) + 3
    )


def _turns(text: str) -> bool:
    """Whether a negation stands before a word with a side: `did not rise`."""
    behind = (text[match.end() :].lower() for match in NEGATIONS.finditer(text.lower()))
    return any(two_sided(word) for tail in behind for word in re.findall(r"[a-z]+|[\u4e00-\u9fff]{2}", tail)[:3])


def _short(text: str) -> str:
    return clip(text.strip(" ,，"), 90)
