"""Sources get a number once per run; answers cite `[n]`; each cited statement is checked against what was seen.

docs/citations.md says what is checked, and how well.
"""

from __future__ import annotations

from research.citations.checking import check
from research.citations.judge import JUDGE_SCHEMA, doubtful, judge_messages, judged
from research.citations.ledger import Ledger, shown, told
from research.citations.marks import MARK, Statement, cited, normalised, statements, uncited, without_marks
from research.citations.urls import clean

__all__ = [
    "JUDGE_SCHEMA", "MARK", "Ledger", "Statement", "check", "cited", "clean", "doubtful", "judge_messages", "judged",
    "normalised", "shown", "statements", "told", "uncited", "without_marks",
]  # fmt: skip
