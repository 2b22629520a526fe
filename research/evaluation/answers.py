"""Read what an answer says: its verdict, the numbers in it, and whether there is one."""

from __future__ import annotations

import re
from typing import Final

from research.evaluation.questions import Question
from research.events.view import RunView

UNANSWERED: Final = ("no_evidence", "tool_errors", "needs_input", "stopped", "failed")
"""Outcomes of a run without an answer, whatever its text contains."""

_SCALES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "万": 1e4, "亿": 1e8, "万亿": 1e12}
_NUMBER = re.compile(
    r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)\s*(thousand|million|billion|trillion|万亿|万|亿)?(\s*(?:%|％|per ?cent))?",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_TITLES = re.compile(r"(?:\s{0,9}^#{1,6} .{0,300}$)+", re.MULTILINE)


def refused(view: RunView) -> bool:
    """Return whether a run says that what was asked, or a part of it, was not found."""
    return view.outcome == "no_evidence" or any(part.status == "not_found" for part in view.parts)


def silent(view: RunView) -> bool:
    """Return whether a run gives no answer: it found none, or ended without one."""
    return view.outcome in UNANSWERED


def is_right(question: Question, answer: str) -> bool:
    """Return whether the verdict, not the evidence under later headings, gives a gold answer."""
    verdict = _verdict(answer)
    if question.value is not None:
        return any(
            abs(number - abs(question.value)) <= question.tolerance for number in numbers(verdict, question.unit)
        )
    if question.answers[0].casefold() in ("yes", "no", "是", "否"):
        return verdict.casefold().startswith(question.answers[0].casefold())
    place = min((found for gold in question.answers if (found := find(verdict, gold)) is not None), default=None)
    others = [found for other in question.over if (found := find(verdict, other)) is not None]
    return place is not None and all(place < other for other in others)


def _verdict(answer: str) -> str:
    """Return the text before the first heading, not counting headings that open the answer."""
    titles = _TITLES.match(answer)
    head = _HEADING.split(answer[titles.end() :] if titles else answer, maxsplit=1)[0]
    return head.replace("**", "").strip()


def find(text: str, wanted: str) -> int | None:
    """Return the position of some words, in any letter case, as whole words: `129` is not in `1,290` or in `129.5`."""
    found = re.search(
        rf"(?<![^\W\u3400-\u9fff])(?<!\d[.,]){re.escape(wanted)}(?![^\W\u3400-\u9fff])(?![.,]\d)", text, re.IGNORECASE
    )
    return found.start() if found else None


def numbers(text: str, unit: str) -> list[float]:
    """Return the numbers of a text, scale words applied, without signs: an answer may say "fell by"."""
    return [
        float(digits.replace(",", "")) * _SCALES.get(scale.lower(), 1.0)
        for digits, scale, percent in _NUMBER.findall(text)
        if percent or unit != "%"
    ]
