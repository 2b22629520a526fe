"""Asking the user for a missing detail: the tool that models call, and whether a reply in plain text does the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from research import prompts
from research.citations import cited
from research.types import Reply, ToolSpec

ASK_USER: Final = "ask_user"
"""The tool whose result is the user's reply."""
LONGEST: Final = 600
"""Characters of a reply that may be a question; longer ones are answers."""
_CLOSING: Final = " \n\t*_~`\"'”’」』)）]"
"""Characters that may follow the question mark."""


def ask_user_spec(language: str) -> ToolSpec:
    """Return the tool that asks the user."""
    asked = {"type": "string", "description": prompts.text("ask_user_question", language)}
    schema = {"type": "object", "properties": {"question": asked}, "required": ["question"]}
    return ToolSpec(ASK_USER, prompts.text("ask_user", language), schema)


def question_in(arguments: Mapping[str, Any]) -> str:
    """Return the question of a call that asks the user; empty if it has none."""
    question = arguments.get("question")
    return question.strip() if isinstance(question, str) else ""


def asks_user(reply: Reply) -> bool:
    """Return whether a reply in plain text asks the user: short, without a call, source or account, and a question at its end."""
    text = reply.answer.rstrip(_CLOSING)
    plain = not (reply.calls or reply.errors or reply.short or reply.parts)
    return plain and text.endswith(("?", "？")) and len(text) <= LONGEST and not cited(text)
