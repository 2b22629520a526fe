"""Explain why a claim gets no better verdict.  `_util/said_zh.toml` has the Chinese of the texts."""

from __future__ import annotations

from collections.abc import Iterable

from research._util.said import translated
from research.types import Citation, Reason


def because(text: str, /, **values: object) -> Reason:
    """Return a reason; `values` fill the placeholders of its text."""
    return Reason(text, tuple((name, str(value)) for name, value in values.items()))


def one_line(reasons: Iterable[Reason]) -> str:
    """Return reasons in English, on one line."""
    return "; ".join(map(str, reasons))


def told(citation: Citation, language: str) -> str:
    """Return the reason for a verdict in that language; in English if it was saved without the parts of the reason."""
    said = []
    for each in citation.reasons:
        ours = translated(each.text, language)
        if ours == each.text and each.values:  # English, or not a text of ours, whose slots may be anything
            return citation.reason
        said.append(ours.format(**dict(each.values)) if each.values else ours)
    return ("；" if language == "zh" else "; ").join(said) or citation.reason
