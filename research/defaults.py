"""Names of our own plug-ins needed outside their files: defaults, and the order in which they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

OFFLINE = "extractive"
"""The model that needs no key, file or network."""
FACTBOOK = "factbook"
"""The collection of the library that every home has: the sample documents."""
PAGES = "pages"
"""The collection of the library with the pages that earlier runs have read."""
FRAMEWORK = "react"
CONTEXT = "full"
FRAMEWORKS = (FRAMEWORK, "tool_rounds", "iter_research", "rewoo", "reflexion", "parallel", "supervisor")
AUDIT = "audit"
"""The framework that checks a report; it takes no question, so no list offers it."""
CONTEXTS = (CONTEXT, "window", "resum", "evolving")
OWN_DOCUMENTS = "Also searches the user's own documents:"
"""A line in the description of the tool `search`, before the names of the user's collections."""
PAGES_READ = "Also searches copies of web pages that earlier runs have read."
"""Describes the tool `search` where it searches them."""
FACTBOOK_LANGUAGE = "The World Factbook in the library is in English: search it with English words."
"""Describes the tool `search` where it searches the Factbook."""
AUDIT_TOOLS = ("search", "visit")
"""The tools that check a report; it searches only if it has documents to search."""
TOOLS = (*AUDIT_TOOLS, "python")
"""The tools of a run whose recipe names none; `QUERY` joins them where a collection has a table."""
QUERY = "query"
RECALL = "recall"
"""The tool whose result starts a run whose recipe recalls."""
PROMPT_TOOLS = ("search", "scholar", "visit", QUERY, RECALL, "python")
"""Our tools in the order in which the system prompt lists them."""
ORDER = (*FRAMEWORKS, *CONTEXTS, *TOOLS, QUERY, "scholar", RECALL)

COMPARED = (
    (FRAMEWORK, CONTEXT),
    ("iter_research", "evolving"),
    ("tool_rounds", "full"),
    (FRAMEWORK, "resum"),
    ("parallel", "full"),
)
"""Default framework and context strategy of a comparison's columns."""
EVALUATED = (f"{FRAMEWORK}/{CONTEXT}", "iter_research/evolving", "rewoo/full")
"""Default recipes of an evaluation, as `FRAMEWORK/CONTEXT`."""


def unless_default(tools: Iterable[str]) -> tuple[str, ...] | None:
    """Return tools for `Workbench.recipe`: None for the defaults, which tables extend."""
    chosen = tuple(tools)
    return None if set(chosen) == set(TOOLS) else chosen


def ordered(names: Iterable[str], order: Sequence[str] = ORDER) -> list[str]:
    """Return each name once, in that order; plug-ins of other packages come last, by name."""
    return sorted(set(names), key=lambda name: (order.index(name) if name in order else len(order), name))
