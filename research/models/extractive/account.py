"""What the offline model says of its own answer: what the question asks for, which of it was found, and the short answer."""

from __future__ import annotations

from research.agent.parsing.account import write_account
from research.citations import check, statements, without_marks
from research.models.extractive.asking import asks_for
from research.models.extractive.assessing import Assessment, assess
from research.models.extractive.evidence import Evidence, Fact
from research.types import Part, Source


def account(evidence: Evidence, text: str) -> str:
    """Return the lines that end an answer (`agent.parsing.account`); of a planned one, its parts are the plan's items."""
    whole = assessed(evidence, evidence.question, text)
    planned = [_part(item, assessed(evidence, item, text)) for item in evidence.planned]
    return write_account(whole.short, planned or whole.parts)


def assessed(evidence: Evidence, question: str, text: str) -> Assessment:
    """Return which parts of a question a text answers, by what it cites of the evidence."""
    lines: dict[int, list[str]] = {}
    heads: dict[int, Fact] = {}
    for fact in (*evidence.given, *(fact for step in evidence.steps for fact in step.facts)):
        lines.setdefault(fact.n, []).append(fact.line)
        heads.setdefault(fact.n, fact)
    sources = [Source(n, heads[n].url, heads[n].title, "\n".join(found)) for n, found in lines.items()]
    computed = [step.text for step in evidence.steps if step.name == "python" and step.ok]
    said = {without_marks(statement.text) for statement in statements(text)}
    citations = tuple(each for each in check(text, sources, computed) if each.claim in said)
    return assess(question, text, citations, sources, asks_for)


def _part(item: str, found: Assessment) -> Part:
    reason = next((part.reason for part in found.parts if part.status == "not_found"), "")
    return Part(item, "answered" if found.outcome == "answered" else "not_found", reason)
