"""Explain why a claim gets no better verdict.  `make words` collects the texts for translation."""

from __future__ import annotations

from collections.abc import Iterable

from research.types import Reason


def because(text: str, /, **values: object) -> Reason:
    """Return a reason; `values` fill the placeholders of its text."""
    return Reason(text, tuple((name, str(value)) for name, value in values.items()))


def one_line(reasons: Iterable[Reason]) -> str:
    """Return reasons in English, on one line."""
    return "; ".join(map(str, reasons))
