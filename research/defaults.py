"""Names of our own plug-ins that data outside their files needs: defaults, and the order in which they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

OFFLINE = "extractive"
"""The model that needs no key, file or network."""
FRAMEWORK = "react"
CONTEXT = "full"
FRAMEWORKS = (FRAMEWORK, "tool_rounds", "iter_research", "rewoo", "reflexion", "parallel", "supervisor")
CONTEXTS = (CONTEXT, "window", "resum", "evolving")
TOOLS = ("search", "visit", "python")
"""The tools of a run whose recipe names none."""
PROMPT_TOOLS = ("search", "scholar", "visit", "recall", "python")
"""Our tools in the order in which the system prompt lists them."""
ORDER = (*FRAMEWORKS, *CONTEXTS, *TOOLS, "scholar", "recall")

COMPARED = (
    (FRAMEWORK, CONTEXT),
    ("iter_research", "evolving"),
    ("tool_rounds", "full"),
    (FRAMEWORK, "resum"),
    ("parallel", "full"),
)
"""Framework and context strategy that the columns of a comparison start with."""
EVALUATED = (f"{FRAMEWORK}/{CONTEXT}", "iter_research/evolving", "rewoo/full")
"""Recipes that an evaluation starts with, as `FRAMEWORK/CONTEXT`."""


def ordered(names: Iterable[str], order: Sequence[str] = ORDER) -> list[str]:
    """Return each name once, in that order; plug-ins of other packages come last, by name."""
    return sorted(set(names), key=lambda name: (order.index(name) if name in order else len(order), name))
