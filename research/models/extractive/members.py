"""Answer a question about the members of a list, such as the neighbours of a country: one, those past a limit, or all."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from research.models.extractive.arithmetic import amount_of, comparison, hindrance, in_order, items_of, members_of
from research.models.extractive.finding import Finder
from research.models.extractive.question import Target
from research.models.extractive.ranked import fits
from research.models.extractive.rankings import Bound, bound_of
from research.models.extractive.table_words import rank_of
from research.models.extractive.verdict import Finding, Verdict

MOST = 20
"""Most members to look up."""

_COUNTS = re.compile(r"\bhow many\b|\bnumber of\b|几个|多少个", re.I)


def counts(text: str) -> bool:
    """Return whether a question asks how many members there are, not which."""
    return _COUNTS.search(text) is not None


def among(finder: Finder, subjects: Sequence[str], targets: Sequence[Target], relation: Target) -> Verdict:
    """Return the answer about the members that the lists of all subjects have, or the next steps."""
    q, limit = finder.question, bound_of(finder.question.text)
    owners = [each for each in subjects if limit is None or each != limit.name] or subjects
    lists = [finder.find(each, relation) for each in owners]
    if finder.actions:
        return finder.more()
    group = tuple(finding for finding in lists if finding)
    if not group or len(group) != len(lists):
        return finder.end()
    members = members_of(group)
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
        return _past(finder, found, group, limit)
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


def _past(finder: Finder, found: Sequence[Finding], group: tuple[Finding, ...], limit: Bound) -> Verdict:
    """Return the members whose figures are past a limit; nothing if it has another unit than they, or is not known."""
    with_amounts = [(each, amount) for each in found if (amount := amount_of(each.fact))]
    own = next((amount for each, amount in with_amounts if each.subject == limit.name), None)
    limit = replace(limit, amount=limit.amount or own)
    if limit.amount is None or not all(fits(limit.amount, amount) for _, amount in with_amounts):
        return finder.end()
    passes = [each for each, amount in with_amounts if limit.passed_by(amount)]
    return finder.end(in_order(passes, most=limit.above), group=(*group, *found), limit=limit)
