"""Complete a follow-up question from the questions before it: "And in 2023?", "What is its capital?"."""

from __future__ import annotations

import re

import msgspec

from research.models.extractive.evidence import Evidence
from research.models.extractive.grounding import grounded
from research.models.extractive.names import key
from research.models.extractive.question import Question, parse

_REFERS = re.compile(
    r"\b(?:it|its|they|their|them|there|that (?:country|place|one)|this (?:country|place)|the (?:country|same))\b|"
    r"[它其]|他们|她们|那里|当地|该国|这个国家|那个国家",
    re.I,
)
"""Words that refer to something mentioned before."""
_GOES_ON = re.compile(r"^\W*(?:and|but|what about|how about|what of|then)\b|^\W*(?:那么|那|而|还有)|呢\W*$", re.I)


def understand(evidence: Evidence) -> Question:
    """Parse the question of a conversation, completed from the questions before it."""
    before: Question | None = None
    for asked, report in evidence.earlier:
        before = _pointed(_continued(parse(asked, evidence.nameable), before), report, evidence.nameable)
    return grounded(_continued(parse(evidence.question, evidence.nameable), before))


def _continued(question: Question, before: Question | None) -> Question:
    """Return the question with the missing subject or measure taken from the previous question."""
    if before is None:
        return question
    empty = (
        not question.pick
        and not question.relation
        and not any(target.label or target.words or target.near or target.beside for target in question.targets)
    )
    names, doubtful, text = question.names, question.doubtful, question.text
    if not names and before.names and (empty or _REFERS.search(text) or _GOES_ON.search(text)):
        names, doubtful, text = before.names, before.doubtful, f"{text} {' '.join(before.names)}"
    if not empty:
        return msgspec.structs.replace(question, names=names, doubtful=doubtful, text=text)
    if len(question.names) == len(before.names) == 1 and before.names[0] in before.text:
        text = before.text.replace(before.names[0], question.names[0])
    else:
        text = f"{before.text} {text}"
    asked = msgspec.structs.replace(before, names=names, doubtful=doubtful, text=text)
    if not question.years:
        return asked
    operation = question.operation if len(names) < 2 else before.operation
    return msgspec.structs.replace(asked, years=question.years, operation=operation)


def _pointed(question: Question, report: str, subjects: tuple[str, ...]) -> Question:
    """After a question such as "which one is it", let the next question refer to the answer."""
    if not question.pick and not question.rank and question.operation != "compare":
        return question
    codes = {key(name): name for name in subjects}  # a Chinese report has another name of the subject
    bold = re.findall(r"\*\*(.+?)\*\*", report)
    chosen = next((codes[key(name)] for name in bold if key(name) in codes), None)
    return msgspec.structs.replace(question, names=(chosen,), doubtful=frozenset()) if chosen else question
