"""Citations: numbered sources, marks such as `[3]`, and the check of each cited statement against the quotes.

docs/citations.md explains what is checked, and how well.  May import quantities, parsing, types, text and _util."""

from __future__ import annotations

from research.citations.checking import check, check_statements
from research.citations.ledger import Ledger, source_text, tool_result_text
from research.citations.marks import MARK, Statement, cited, normalised, statements, uncited, without_marks
from research.citations.urls import clean

__all__ = [
    "MARK",
    "Ledger",
    "Statement",
    "check",
    "check_statements",
    "cited",
    "clean",
    "normalised",
    "source_text",
    "statements",
    "tool_result_text",
    "uncited",
    "without_marks",
]
