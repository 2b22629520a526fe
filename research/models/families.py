"""What model families want, as data: names age, so rules that depend on one belong here."""

from __future__ import annotations

import re
from typing import Final, Literal

RESPONSES: Final[dict[str, str]] = {
    # With tools their reasoning needs the Responses API, or no other API serves them.
    "api.openai.com": r"gpt-5\.[4-9]|gpt-5(\.\d)?-(pro|codex)|gpt-[6-9]|o[1-9]-pro|codex-|computer-use-|.*-deep-research",
    # Chat completions are deprecated there.
    "api.x.ai": r"grok-",
}
"""By host, a pattern for the start of names of models that use the Responses API."""


MARKS: Final[dict[str, str]] = {"openrouter.ai": "anthropic/"}
"""By host, likewise the models that cache prompts where `cache_control` says so."""


def wants_marks(host: str, model: str) -> bool:
    """Return whether a model of this host caches only the marked parts of a prompt."""
    pattern = MARKS.get(host)
    return bool(pattern and re.match(pattern, model))


def api_of(host: str, model: str) -> Literal["chat", "responses"]:
    """Return the API of OpenAI that a model of this host wants."""
    pattern = RESPONSES.get(host)
    return "responses" if pattern and re.match(pattern, model) else "chat"
