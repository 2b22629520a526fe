"""Decide a verdict from the evidence: `supported` and `contradicted` only past the thresholds, else `unverified`."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from research._util.glossary import chinese_label
from research.citations.alignment import tokens_of
from research.citations.derived import Derivation
from research.citations.evidence import Evidence
from research.citations.lexicon import negated, sides
from research.citations.matching import Problem
from research.citations.names import contains_name, names
from research.citations.reading import Sentence
from research.citations.reasons import because
from research.citations.thresholds import CONTRADICTED, SUPPORTED
from research.types import Reason

Status = Literal["supported", "calculated", "contradicted", "unverified"]

_VALUE = 14
"""Maximum number of words after the colon of a labelled value; more are prose."""
_SUPERLATIVE = re.compile(
    r"\b(?:all|every|only|never|always|none|no|first|last|best|worst|(?:most|least) (?!of\b)[a-z]{4,}|"
    r"(?:larg|small|bigg|high|low|great|long|short|old|young|rich|poor|few|earli|lat|tall|strong|weak)est)\b|"
    r"所有|全部|唯一|最|首个|从未",
    re.I,
)


class Finding(Struct, frozen=True):
    """What the cited sources say about one claim."""

    claim: Sentence
    problems: tuple[Problem, ...]
    figures: int
    """Number of figures that a line states."""
    share: float
    """Share of the claim's words, by weight, that the lines contain, in any order."""
    lines: tuple[Sentence, ...]
    """The lines used as evidence, best first."""
    nearest: float = 0.0
    """The highest cosine of the claim with a line; 0 without an encoder."""
    derived: tuple[Derivation, ...] = ()
    """How figures that no line states follow from those that lines do."""
    evidence: Evidence | None = None
    """The sentence that the claim is closest to."""
    bare: bool = False
    """The claim has no words but names and figures."""
    compared: bool = False
    """The claim compares two names by figures that the sources have for both."""


def verdict(finding: Finding) -> tuple[Status, tuple[Reason, ...]]:
    """Return status and reasons; those of a calculated figure are formulas."""
    if _quoted(finding):
        return "supported", ()
    against = _against(finding)
    if against is not None:
        return "contradicted", (against.reason,)
    if finding.problems:
        worst = sorted(finding.problems, key=lambda p: not p.against)[:3]
        return "unverified", tuple(dict.fromkeys(p.reason for p in worst))
    if finding.bare and not finding.derived and not finding.claim.text.startswith((",", "，", ";", "；")):
        return "unverified", (because("a name or figure alone states nothing that can be checked"),)
    if finding.derived and _plain(finding):
        return "calculated", tuple(Reason(each.formula) for each in finding.derived)
    if not finding.derived and (_labelled(finding) or _in_prose(finding)):
        return "supported", ()
    return "unverified", (because("the words of the source differ too much to tell"),)


_QUOTATION = re.compile(r"“([^“”]+)”|「([^「」]+)」|\"([^\"]+)\"")


def _quoted(finding: Finding) -> bool:
    """Return whether a claim is a verbatim quotation, with no other words than its own and those of the title."""
    rest = _without_labels(finding)
    held: set[str] = set()
    for match in _QUOTATION.finditer(finding.claim.text):
        said = next(group for group in match.groups() if group).strip(" .。…")
        line = next((each for each in finding.lines if said in each.text), None)
        if line is None or len(tokens_of(said)) < 3:
            return False
        rest = rest.replace(match.group(), " ")
        for _, written, code in names(rest) if finding.claim.cjk else ():
            rest = rest.replace(written, " ") if contains_name(line.title, code) else rest
        held |= {token.form for token in tokens_of(f"{said} {line.title}")}
    return bool(held) and {token.form for token in tokens_of(rest)} <= held


def _without_labels(finding: Finding) -> str:
    """Return the claim without the Chinese terms for the labels of its lines."""
    text = finding.claim.text
    for line in finding.lines if finding.claim.cjk else ():
        text = text.replace(chinese_label(line.label) or "\0", " ")
    return text


def labelled(line: Sentence) -> bool:
    """Return whether a line is a labelled value, such as `Area, total: 12 sq km`."""
    return (
        bool(line.label) and len(line.text[len(line.label) :].split()) <= _VALUE and not line.text.endswith(("。", "."))
    )


def _against(finding: Finding) -> Problem | None:
    """Return the difference that contradicts the claim, if one is clear enough."""
    if finding.lines and labelled(finding.lines[0]):
        clear = finding.share >= CONTRADICTED["label words"] and not finding.derived
        return next((p for p in finding.problems if p.against or (clear and p.kind == "figure")), None)
    share = finding.evidence.share if finding.evidence else 0.0
    return next((p for p in finding.problems if p.kind in CONTRADICTED and share >= CONTRADICTED[p.kind]), None)


def _plain(finding: Finding) -> bool:
    """Return whether a calculated figure is of the names and words of its lines."""
    return finding.share >= SUPPORTED["figures"]


def _labelled(finding: Finding) -> bool:
    if not finding.lines or not all(map(labelled, finding.lines[: max(finding.figures, 1)])):
        return False
    if finding.compared:
        return True
    text = "\n".join(f"{line.title}\n{line.text}" for line in finding.lines)
    plain = _without_labels(finding)  # 最 in the Chinese name of a measure adds nothing
    added = {m.group().lower() for m in _SUPERLATIVE.finditer(plain)} - {
        m.group().lower() for m in _SUPERLATIVE.finditer(text)
    }
    scales = {scale for scale, _ in _MOST}
    if added == {"最"} and any(scale in scales for scale, _ in sides(plain) & sides(text)):
        added = set()  # 最多 of a line with `rank 1, highest`
    least = SUPPORTED["label words with figure" if finding.figures else "label words"]
    denied = negated(finding.claim.text) and not any(negated(line.text) for line in finding.lines)
    if added and _ranked(finding.claim):
        added = set()
    return not added and not denied and finding.share >= least


_HIGH, _LOW = 0, 1
_MOST = sides("most")
_RANKED = re.compile(r"\b(?:against|compared (?:with|to)|ahead of|versus|followed by|before)\b|相比|相较|高于|低于|而")


def _ranked(claim: Sentence) -> bool:
    """Return whether a superlative ranks only figures that the claim itself gives (`the highest: 3, against 2`)."""
    whole = Sentence(f"{claim.text} {claim.behind}")
    ends = {end for scale, end in sides(claim.text) if (scale, _HIGH) in _MOST}
    values = [f.quantity.value for f in whole.figures if not f.quantity.weak and f.quantity.kind == "number"]
    units = {f.quantity.unit for f in whole.figures if not f.quantity.weak and f.quantity.kind == "number"}
    if len(ends) != 1 or len(values) < 2 or len(units) != 1 or not _RANKED.search(whole.text):
        return False
    return values[0] == (max(values) if ends == {_HIGH} else min(values))


def meaning_may_tell(finding: Finding) -> bool:
    """Return whether only words differ, so that the meaning of claim and sentence can decide."""
    found = finding.evidence
    if found is None:  # words of another language never match
        return bool(finding.lines) and not any(problem.figure for problem in finding.problems)
    return not (finding.problems or finding.bare or found.crossed) and _comparable(finding)


def _comparable(finding: Finding) -> bool:
    """Return whether claim and sentence have no difference in quantifier, hedge, negation or order."""
    found = finding.evidence
    if found is None or not finding.lines:
        return False
    return not (found.strict or found.reserved or found.denied or found.moved)


def _in_prose(finding: Finding) -> bool:
    """Return whether one sentence states the claim: in its words, with its figures, or with its meaning."""
    found = finding.evidence
    if found is None or not _comparable(finding):
        return False
    # A sentence whose context has most of the claim is not the one that states it.
    own = found.borrowed <= len(found.alignment.pairs)
    # A figure that only another sentence states belongs to something else.
    absent = [token.quantity for token in found.missing if token.quantity and not token.quantity.weak]
    whole = all(any(q.states(seen) for seen in found.line.quantities) for q in absent)
    if found.added or not (whole and found.subject):
        return False
    if found.share >= SUPPORTED["verbatim"] and not found.rebound and (own or not found.turned):
        return True
    if found.turned:  # with one word of difference it may say this of another agent
        return False
    figures = finding.figures > 0 and own and found.share >= SUPPORTED["figures"]
    meaning = finding.nearest >= SUPPORTED["meaning"] and own and not found.crossed
    return figures or meaning
