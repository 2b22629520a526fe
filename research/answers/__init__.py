"""The answer gate: what a question asks for, and whether a report with its checked citations answers it.

May import citations, text and types."""

from __future__ import annotations

from research.answers.asking import Asked, parts_of
from research.answers.assessing import Assessment, assess
from research.answers.kinds import Kind, kind_of

__all__ = ["Asked", "Assessment", "Kind", "assess", "kind_of", "parts_of"]
