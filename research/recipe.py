"""A recipe: everything that was chosen for a run, frozen, hashable and shown in full."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from msgspec import Struct

ROLES: dict[str, tuple[str, ...]] = {
    "planner": ("plan", "outline"),
    "researcher": ("act", "research", "worker"),
    "summariser": ("summarise", "scribe"),
    "writer": ("conclude", "solve", "synthesise", "introduce", "finish"),
    "critic": ("evaluate", "reflect"),
    "judge": ("verify",),
}
"""What a model may be chosen for, and the purposes of requests that belong to it.  A `judge` checks the citations of the
finished report; without one that is done by rules alone."""


REMEMBER = ("off", "findings", "everything")
"""Nothing; statements that their sources support; these, every passage that was read, and the report."""
RECALL_MOST = 20


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
    """Another model for a role or a single purpose, e.g. `{"summariser": "openai:gpt-5-nano"}` (see `ROLES`)."""
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
    recall: int = 0
    """Entries of the memory that are put before the first round, quoted; at most `RECALL_MOST`."""
    remember: str = "off"
    """What is kept in the memory when the run has ended: one of `REMEMBER`."""
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
        # Every field: msgspec leaves a default out only where it is the very same object.
        fields = msgspec.structs.asdict(self) | {"budget": msgspec.structs.asdict(self.budget)}
        return hashlib.sha256(msgspec.json.encode(fields, order="deterministic")).hexdigest()[:12]

    def model_for(self, purpose: str) -> str:
        """Name of the model that is asked for this purpose."""
        role = next((role for role, purposes in ROLES.items() if purpose in purposes), "")
        return self.roles.get(purpose) or self.roles.get(role) or self.model

    @property
    def label(self) -> str:
        return f"{self.framework} / {self.context} / {self.model}"
