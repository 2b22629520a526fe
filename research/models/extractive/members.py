"""Answer a question about the members of a list, such as the neighbours of a country: one, those past a limit, or all."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from research.models.extractive import patterns
from research.models.extractive.arithmetic import amount_of, comparison, hindrance, in_order, items_of, members_of
from research.models.extractive.finding import Finder
from research.models.extractive.meaning import masked
from research.models.extractive.places import usual
from research.models.extractive.question import Question, Target
from research.models.extractive.ranked import fits
from research.models.extractive.rankings import Bound, bound_of, excluded_from
from research.models.extractive.table_words import rank_of
from research.models.extractive.verdict import Finding, Verdict
from research.models.extractive.whether import asks_whether

_SHARED = re.compile(
    r"\bboth\b|\b(?:countr(?:y|ies)|nations?|states?|which|that|who)(?: \w+)? (?:borders?|touch(?:es)?|shares?|adjoins?)\b|"
    r"\b(?:neighbou?rs|countries|nations|states) (?:do|does) .*\bshare\b|"
    r"同时|共同|接壤"
)
"""Matches a question for the countries that are on the borders of all that it names."""
_OF_GIVEN = re.compile(
    r"\b(?:which|who|one) of (?:the )?Ξ(?!['’])|\bΞ(?:,| or| and) .{0,300}\b(?:which|who)\b|Ξ[和与跟、].{0,300}(?:哪[个国]|谁)",
    re.I,
)
"""Matches a question that offers the countries to choose from."""
MOST = 20
"""Most members to look up."""

_COUNTS = re.compile(r"\bhow many\b|\bnumber of\b|几个|多少个", re.I)


def counts(text: str) -> bool:
    """Return whether a question asks how many members there are, not which."""
    return _COUNTS.search(text) is not None


def shares(question: Question) -> bool:
    """Return whether a question asks for the countries that border several, or some and not others."""
    text = question.text.lower()
    wanted = patterns.BORDERS.search(text) and (_SHARED.search(text) or patterns.DENIES.search(text))
    return bool(wanted and not asks_whether(text) and not _OF_GIVEN.search(masked(question.text, "Ξ")))


def among(finder: Finder, subjects: Sequence[str], targets: Sequence[Target], relation: Target) -> Verdict:
    """Return the answer about the members that the lists of all subjects have, or the next steps."""
    q, limit = finder.question, bound_of(finder.question.text)
    if patterns.DENIES.search(q.text.lower()) and not shares(q):
        return finder.end()
    excluded = excluded_from(q.text)[0]
    owners = [each for each in subjects if limit is None or each != limit.name] or subjects
    owners = sorted(owners, key=lambda each: (usual(each) or each) in excluded)
    lists = [finder.find(each, relation) for each in owners]
    if finder.actions:
        return finder.more()
    group = tuple(finding for finding in lists if finding)
    if not group or len(group) != len(lists):
        return finder.end()
    held = [each for each in group if (usual(each.subject) or each.subject) not in excluded]
    others = {usual(name) or name for each in group if each not in held for name in items_of(each.fact.value)}
    members = members_of(held) if held else {}
    members = {name: size for name, size in members.items() if (usual(name) or name) not in others | excluded}
    if members and len(group) > 1 and not q.pick and all(target == relation for target in targets):
        borders = [replace(held[0], item=items_of(held[0].fact.value)[name].text) for name in members]
        apart = tuple(each.subject for each in group if each not in held)
        return finder.end(borders, group=group, shared=tuple(members), apart=apart)
    if not members or (q.operation == "count" and not limit):
        return finder.end(group)
    rank, most = rank_of(q.text), q.pick is None or q.pick.most
    if q.pick and q.pick.target is None:
        ordered = sorted(members, key=members.__getitem__, reverse=most)
        if rank > len(ordered):
            return finder.end()
        named = tuple(replace(each, item=items_of(each.fact.value)[ordered[rank - 1]].text) for each in group)
        return _of_member(finder, ordered[rank - 1], targets, named)
    if len(members) == 1 and not limit:
        return _of_member(finder, next(iter(members)), targets, group)
    chooses = q.pick is not None or limit is not None
    if not (chooses or targets):
        return finder.end()
    by = q.pick.target if q.pick and q.pick.target else targets[0]
    year = q.years[0] if q.years else None
    names = dict.fromkeys([*list(members)[:MOST], *([limit.name] if limit and limit.name else [])])
    figures = [finder.find_named(name, by, year, numeric=chooses) for name in names]
    if finder.actions:
        return finder.more()
    found = [finding for finding in figures if finding]
    if not found or not chooses:
        return finder.end(found, group=group if found else ())
    if len(found) > 1 and (obstacle := hindrance([finding.fact for finding in found])):
        return finder.end(found, hindrance=obstacle)
    if limit:
        return past(finder, found, group, limit)
    finder.compute(comparison(found, q), "Find out which one it is.")
    if finder.actions:
        return finder.more()
    chosen = in_order(found, most=most)
    if rank > len(chosen):
        return finder.end()
    return _of_member(finder, chosen[rank - 1].subject, targets, (*group, *chosen))


def _of_member(finder: Finder, member: str, targets: Sequence[Target], group: tuple[Finding, ...]) -> Verdict:
    q = finder.question
    year = q.years[0] if q.years else None
    findings = [finder.find_named(member, target, year) for target in targets if target != q.relation]
    if finder.actions:
        return finder.more()
    return finder.end() if None in findings else finder.end([f for f in findings if f], chosen=member, group=group)


def past(finder: Finder, found: Sequence[Finding], group: tuple[Finding, ...], limit: Bound) -> Verdict:
    """Return the members whose figures are past a limit; nothing if it has another unit than they, or is not known."""
    with_amounts = [(each, amount) for each in found if (amount := amount_of(each.fact))]
    own = next((amount for each, amount in with_amounts if each.subject == limit.name), None)
    limit = replace(limit, amount=limit.amount or own)
    if limit.amount is None or not all(fits(limit.amount, amount) for _, amount in with_amounts):
        return finder.end()
    passes = [each for each, amount in with_amounts if limit.passed_by(amount)]
    return finder.end(in_order(passes, most=limit.above), group=(*group, *found), limit=limit)
