"""Answer from the user's own documents where they say more of what is asked than a labelled line of the Factbook does."""

from __future__ import annotations

from collections.abc import Sequence

from research.models.extractive.evidence import Evidence, Fact
from research.models.extractive.passages import keys
from research.models.extractive.places import mentions
from research.models.extractive.prose import Prose
from research.models.extractive.question import Question
from research.models.extractive.reading import read
from research.models.extractive.verdict import Action, Verdict

READ = 3
"""Own documents to open."""
_MORE = 0.1
"""Share of the question that an own sentence contains beyond the other answer, at least, to replace it."""


def apart(evidence: Evidence, question: Question) -> Prose | None:
    """Return the user's own documents if they have words of a question that names no country: then only they are read."""
    own = Prose(evidence, question.text, own=True) if evidence.own else None
    if own is None or mentions(question.text) or any(map(evidence.subject_called, question.names)):
        return None
    return own if any(own.wanted.asked & own.wanted.held(page) for page in own.pages) else None


def better(everything: Prose, found: Verdict, *, acting: bool) -> Verdict | None:
    """Return the next visits, or the answer of the user's own documents; None if `found` says as much of what is asked."""
    prose = Prose(everything.evidence, everything.wanted.text, own=True)
    if not (prose.pages and prose.evidence.own):
        return None
    least = _MORE + max((_said(prose, fact) for fact in _facts(found)), default=0.0)
    near = [page for page in prose.chosen if prose.wanted.share(prose.wanted.held(page)) >= least]
    if not near:
        return None
    opened = [page for page in prose.pages if page.read]
    if acting and (unread := [page for page in near if not page.read][: max(0, READ - len(opened))]):
        return Verdict(
            found.question,
            actions=tuple(
                Action("visit", {"url": page.url, "goal": prose.wanted.text}, f"Read {page.title}.") for page in unread
            ),
        )
    reading = read(prose)
    if reading is None or not reading.stated or reading.unknown:
        return None
    if max(_said(prose, fact) for fact in reading.best) < least:
        return None
    return Verdict(found.question, reading=reading)


def nearest(evidence: Evidence, found: Verdict, *, acting: bool) -> Verdict | None:
    """Return the next visits, or what the user's own documents say nearest to a question that is not answered.

    None if they have nothing, the question names a country, or `found` quotes them already.
    """
    if not evidence.own or found.reading or mentions(evidence.question):
        return None
    prose = Prose(evidence, evidence.question, own=True)
    if acting and (steps := prose.needed()):
        return Verdict(found.question, actions=tuple(steps))
    reading = read(prose)
    return Verdict(found.question, reading=reading) if reading else None


def _said(prose: Prose, fact: Fact) -> float:
    """Return the share of the question that a line and its title contain."""
    return prose.wanted.share((keys(fact.line) | keys(fact.title)) & prose.wanted.words.keys())


def _facts(found: Verdict) -> Sequence[Fact]:
    ranked = found.ranked.facts if found.ranked else ()
    return (*(finding.fact for finding in found.findings), *found.quotes, *ranked)
