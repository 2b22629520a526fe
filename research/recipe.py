"""A recipe: everything that was chosen for a run, frozen, hashable and shown in full."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from msgspec import Struct


class Budget(Struct, frozen=True, omit_defaults=True):
    """Caps shared by a run and all its children.  None means no cap."""

    tokens: int | None = None
    """Prompt and completion tokens together."""
    usd: float | None = None
    """Cost in US dollars; calls of unknown price do not count, and the run says so."""
    seconds: float | None = None
    """Wall time."""
    tool_calls: int | None = None


class Recipe(Struct, frozen=True, omit_defaults=True):
    """What to do with a question.  Comparing means: the same question, several recipes."""

    framework: str = "react"
    framework_options: dict[str, Any] = {}
    context: str = "full"
    context_options: dict[str, Any] = {}
    model: str = "extractive"
    roles: dict[str, str] = {}
    """Another model for a purpose, e.g. `{"summarise": "openai:gpt-5-nano"}`."""
    protocol: str = "auto"
    """`native`, `tagged`, or `auto`: native where the model has it."""
    tools: tuple[str, ...] = ("search", "visit", "python")
    search: tuple[str, ...] = ("library",)
    folders: tuple[str, ...] = ()
    """The user's own document folders, absolute paths, searched as part of the library."""
    scholar: tuple[str, ...] = ("openalex", "arxiv", "semantic_scholar")
    """Services that the `scholar` tool asks, where it is among the tools."""
    mcp: tuple[str, ...] = ()
    """MCP servers of the configuration file whose tools are offered, by name."""
    budget: Budget = Budget()
    temperature: float | None = None
    """Sampling temperature; None leaves it to the provider."""
    language: str = "auto"
    """`en`, `zh`, or `auto`: the language of the question."""
    prompts: str = ""
    """Hash of the prompt files the run was started with."""

    @property
    def hash(self) -> str:
        """Twelve hex digits that change when anything in the recipe does."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:12]

    @property
    def label(self) -> str:
        return f"{self.framework} / {self.context} / {self.model}"
