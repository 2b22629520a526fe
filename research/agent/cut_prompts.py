"""Notices servers that cut prompts silently, by the tokens that they report."""

from __future__ import annotations

from research.types import Usage

CUT_TO_TOKENS = 1000
"""Tokens that a server reads at least when it cuts a prompt: no context is smaller.  One that reports less counts otherwise,
or only what it had not read before."""


class CutPrompts:
    """What the servers of a run's models report to have read of its prompts."""

    def __init__(self, *, found: bool) -> None:
        self.found = found
        """Whether a server has cut a prompt of the run."""
        self._counting_otherwise: set[str] = set()

    def notice(self, model: str, usage: Usage | None, sent: int) -> str:
        """Return what to say of a server that has read far less than was sent; empty if it has not, or counts otherwise."""
        read = usage.prompt_tokens if usage and not usage.estimated else 0
        if not read or 2 * read >= sent:
            return ""
        if read < CUT_TO_TOKENS:
            self._counting_otherwise.add(model)
        if model in self._counting_otherwise:
            return ""
        self.found = True
        return (
            f"{model} reports that it read {read:,} of about {sent:,} tokens: its server has probably cut the prompt. "
            "Give it a larger context (for Ollama, OLLAMA_CONTEXT_LENGTH)."
        )
