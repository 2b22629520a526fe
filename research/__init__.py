"""Research Workbench: research agents whose every step can be watched, replayed, compared and checked.

    import research

    view = research.run("What was France's real GDP in 2024?", model="extractive")
    print(view.report)

    for event in research.stream("…"):      # the same, event by event
        print(event)

    view = await research.arun("…")         # from async code

The names in `__all__` are the public API: other modules may change between versions.  A run is a list of events, `Event`
is the union of their types, and `fold` turns them into a `RunView`.  Each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from research.errors import (
        ConfigError,
        FormatError,
        LimitReached,
        ProviderError,
        StoreUnavailable,
        ToolError,
        WorkbenchError,
    )
    from research.events.events import Event
    from research.events.recipe import Budget, Recipe
    from research.events.view import RunView, fold
    from research.plugins import Range, context, framework, provider, register, scorer, searcher, tool
    from research.types import Citation, Source
    from research.workbench.auditing import audit
    from research.workbench.running import arun, astream, run, stream
    from research.workbench.workbench import Workbench

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "Citation",
    "ConfigError",
    "Event",
    "FormatError",
    "LimitReached",
    "ProviderError",
    "Range",
    "Recipe",
    "RunView",
    "Source",
    "StoreUnavailable",
    "ToolError",
    "Workbench",
    "WorkbenchError",
    "arun",
    "astream",
    "audit",
    "context",
    "fold",
    "framework",
    "provider",
    "register",
    "run",
    "scorer",
    "searcher",
    "stream",
    "tool",
]

_MODULES = {
    "research.errors": (
        "ConfigError",
        "FormatError",
        "LimitReached",
        "ProviderError",
        "StoreUnavailable",
        "ToolError",
        "WorkbenchError",
    ),
    "research.events.events": ("Event",),
    "research.events.recipe": ("Budget", "Recipe"),
    "research.events.view": ("RunView", "fold"),
    "research.plugins": ("Range", "context", "framework", "provider", "register", "scorer", "searcher", "tool"),
    "research.types": ("Citation", "Source"),
    "research.workbench.auditing": ("audit",),
    "research.workbench.running": ("arun", "astream", "run", "stream"),
    "research.workbench.workbench": ("Workbench",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'research' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
