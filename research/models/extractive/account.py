"""What the offline model says of its own answer: which parts of the question were found, and the answer in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.agent.parsing.account import write_account
from research.citations import without_marks
from research.models.extractive.asked import Asked, parts_of
from research.models.extractive.kinds import fits
from research.models.extractive.question import parse
from research.models.extractive.verdict import Verdict
from research.models.extractive.words import reason
from research.types import Part

_EMPHASIS = re.compile(r"[*_`]{1,3}")
_EVIDENCE = "\n### "
"""What comes before the quotes of an answer."""


Answered = tuple[str, Verdict, str]
"""A question, what was found, and the text that says it."""


def account(items: Sequence[Answered], planned: Sequence[str] = ()) -> str:
    """Return the lines that end an answer (`agent.parsing.account`); of a planned one, its parts are the plan's items."""
    parts = [part for item in items for part in judged(*item)]
    short = in_one_line(*items[0][1:]) if len(items) == 1 and all(part.status == "answered" for part in parts) else ""
    of = {question: (verdict, text) for question, verdict, text in items}
    return write_account(short, [_item(each, *of.get(each, items[0][1:])) for each in planned] or parts)


def judged(question: str, verdict: Verdict, text: str) -> list[Part]:
    """Return the parts of a question, each with the reason if it was not found."""
    asked = parts_of(question)
    plain = _EMPHASIS.sub("", without_marks(text))
    lacks = [_lack(part, verdict, plain, alone=len(asked) == 1) for part in asked]
    return [
        Part(part.text, "not_found" if lack else "answered", lack) for part, lack in zip(asked, lacks, strict=True)
    ]


def _item(question: str, verdict: Verdict, text: str) -> Part:
    lack = next((part.reason for part in judged(question, verdict, text) if part.status == "not_found"), "")
    return Part(question, "not_found" if lack else "answered", lack)


def _lack(part: Asked, verdict: Verdict, text: str, *, alone: bool) -> str:
    """Return why a part counts as not found; empty if it was."""
    if not answers(verdict) or not (alone or _found(part, verdict)):
        return reason(part.text, "nothing cited covers it")
    labelled = any(finding.fact.label for finding in verdict.findings)
    lack = "" if part.open else fits(part.text, part.kind, text.split(_EVIDENCE)[0], text, labelled=labelled)
    return reason(part.text, "the report does not give {lack}", lack=lack) if lack else ""


def answers(verdict: Verdict) -> bool:
    """Return whether a verdict states what was asked, rather than what comes near it."""
    if verdict.hindrance and verdict.hindrance.kind != "same":
        return False
    if verdict.reading:
        return verdict.reading.stated
    return bool(verdict.table or verdict.ranked or verdict.findings or verdict.group or verdict.quotes)


def _found(part: Asked, verdict: Verdict) -> bool:
    """Return whether a verdict has a line for what one of several parts asks for."""
    wanted = {target.label for target in parse(part.text).targets if target.label}
    return not wanted or any(finding.target.label in wanted for finding in (*verdict.findings, *verdict.group))


def in_one_line(verdict: Verdict, text: str) -> str:
    """Return the answer in one line; empty if it takes more."""
    if verdict.reading:
        return verdict.reading.span
    if verdict.derived:
        return verdict.derived.value
    bold = re.findall(r"\*\*([^*\n]{1,120})\*\*", text.split(_EVIDENCE)[0])
    return bold[-1] if len(bold) == 2 and len(verdict.findings) == 1 else ""
