"""Markdown tables."""

from __future__ import annotations

from collections.abc import Sequence


def tabular(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the cells must be Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
