"""What families of models want, as data: names age, so a rule that depends on one belongs here."""

from __future__ import annotations

import re
from typing import Final, Literal

RESPONSES: Final[dict[str, str]] = {
    # Their reasoning needs the Responses API as soon as tools are offered, or they are served by no other.
    "api.openai.com": r"gpt-5\.[4-9]|gpt-5(\.\d)?-(pro|codex)|gpt-[6-9]|o[1-9]-pro|codex-|computer-use-|.*-deep-research",
    # Chat completions are deprecated there.
    "api.x.ai": r"grok-",
}
"""By host, the models that are asked through the Responses API, as a pattern of the beginning of their names."""


MARKS: Final[dict[str, str]] = {"openrouter.ai": "anthropic/"}
"""By host, the models whose prompts are cached where `cache_control` says so, in the same form."""


def wants_marks(host: str, model: str) -> bool:
    """Return whether a model of this host caches the parts of a prompt that are marked, and no others."""
    pattern = MARKS.get(host)
    return bool(pattern and re.match(pattern, model))


def api_of(host: str, model: str) -> Literal["chat", "responses"]:
    """Return the API of OpenAI that a model of this host wants."""
    pattern = RESPONSES.get(host)
    return "responses" if pattern and re.match(pattern, model) else "chat"
