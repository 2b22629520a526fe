"""A check of final answers."""

from __future__ import annotations

from collections.abc import Sequence

from research.plugins import answer_check
from research.types import Citation


@answer_check("Tone")
def no_shouting(question: str, answer: str, citations: Sequence[Citation]) -> str | None:
    """Find answers in capital letters."""
    return "the answer is written in capital letters" if answer.isupper() else None
