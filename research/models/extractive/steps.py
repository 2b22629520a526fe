"""Answer a question in several steps: first which country it describes, then what it asks of that country."""

from __future__ import annotations

import copy

import msgspec

from research.models.extractive import tabular
from research.models.extractive.account import answers
from research.models.extractive.chinese import subject
from research.models.extractive.covering import CLOSEST
from research.models.extractive.described import ANY, ANY_CHINESE, DEEPEST, described
from research.models.extractive.evidence import Evidence, Fact
from research.models.extractive.finding import Finder
from research.models.extractive.grounding import grounded
from research.models.extractive.leading import lead, leads_to, speaks, which
from research.models.extractive.own import nearest
from research.models.extractive.question import parse
from research.models.extractive.solve import MAX_FACTS, Solver
from research.models.extractive.solve import relevant as asked_for
from research.models.extractive.stating import decided
from research.models.extractive.verdict import Lead, Verdict
from research.text import has_cjk


def solved(evidence: Evidence, *, acting: bool = True) -> Verdict:
    """Return the next steps or the answer to the question of a conversation, or what comes near one."""
    found = _solved(evidence, acting)
    if found.actions or found.doubt or answers(found):
        return found
    return (
        tabular.solved(evidence, acting, near=True)
        or decided(evidence, found, acting=acting)
        or nearest(evidence, found, acting=acting)
        or found
    )


def _solved(evidence: Evidence, acting: bool) -> Verdict:
    text, leads = evidence.question, list[Lead]()
    if acting and evidence.offers("recall") and not evidence.steps:
        return Solver(evidence).verdict()
    if found_in_table := tabular.solved(evidence, acting):
        return found_in_table
    while len(leads) < DEEPEST and (found := described(text)) and speaks(found.text):
        finder = Finder(evidence, which(found.text), frozenset(), acting=acting)
        led = None if found.between else lead(finder, found.text)
        if finder.actions:
            return Verdict(parse(evidence.question), actions=tuple(finder.actions), led=tuple(leads))
        if led is None or led.name in parse(found.text).names:  # *Zambia's main trading partner* is not Zambia
            return _unclear(evidence, found.text, leads)
        leads.append(led)
        text = found.outer(subject(led.name) if has_cjk(text) else led.name)
        if described(text) is None:
            finder.subjects([led.name], next((target.text for target in grounded(parse(text)).targets), ""))
            if finder.actions:
                return Verdict(parse(evidence.question), actions=tuple(finder.actions), led=tuple(leads))
    verdict = Solver(asking(evidence, text, evidence.context), acting=acting).verdict()
    if not leads:
        return verdict
    if verdict.actions or verdict.findings:
        return msgspec.structs.replace(verdict, led=tuple(leads))
    return _unclear(evidence, text, leads, verdict)


def relevant(evidence: Evidence) -> list[Fact]:
    """Return the facts that a step of the answer could need, for the report."""
    text, kept = evidence.question, list[Fact]()
    for _ in range(DEEPEST):
        found = described(text)
        if found is None or not speaks(found.text):
            break
        kept += [fact for fact in evidence.facts if leads_to(fact, found.text)]
        text = found.outer(ANY_CHINESE if has_cjk(text) else ANY)
    return list(dict.fromkeys([*kept, *asked_for(asking(evidence, text))]))[:MAX_FACTS]


def asking(evidence: Evidence, text: str, context: str = "") -> Evidence:
    """Return the evidence for another question, which goes on from a `context`."""
    if (text, context) == (evidence.question, evidence.context):
        return evidence
    other = copy.copy(evidence)
    other.question, other.context = text, context
    return other


def _unclear(evidence: Evidence, text: str, leads: list[Lead], outer: Verdict | None = None) -> Verdict:
    """Return that a description, or what is asked of the country, was not found."""
    lines = [fact for each in leads for fact in each.facts]
    closest = (*(outer.closest if outer else ()), *lines)[:CLOSEST]
    missing = outer.missing if outer and outer.missing else (text,)
    return Verdict(parse(evidence.question), missing=missing, closest=tuple(dict.fromkeys(closest)))
