"""Titles of frameworks, context strategies and outcomes, in the language of the page."""

from __future__ import annotations

from pages.parts.shared.language import later, t
from research import plugins
from research.events.recipe import Recipe, model_title

ENDINGS = {
    "answered": later("Answered"),
    "partly_answered": later("Partly answered"),
    "rejected": later("Last verdict: FAIL"),
    "rounds": later("Round limit"),
    "tokens": later("Token limit"),
    "cost": later("Cost limit"),
    "time": later("Time limit"),
    "tool_errors": later("Tools failed"),
    "loop": later("Stuck in a loop"),
    "no_evidence": later("No answer found"),
    "needs_input": later("Waiting for you"),
    "stopped": later("Stopped"),
    "failed": later("Failed"),
    "running": later("Not finished"),
}
"""Title of each outcome."""
LOOKS = {
    "answered": ("green", "check_circle"),
    "partly_answered": ("orange", "rule"),
    "rejected": ("orange", "rule"),
    "no_evidence": ("gray", "search_off"),
    "failed": ("red", "error"),
    "tool_errors": ("red", "error"),
    "needs_input": ("blue", "contact_support"),
    "stopped": ("gray", "stop_circle"),
}
"""Colour and Material symbol of an outcome, the same on every page; those of a limit are orange and a flag.

Whether the citations of an answer hold has a sign of its own.
"""
TINTS = {"green": "#2c8a50", "orange": "#b06c12", "red": "#cc4a3d", "blue": "#3a86b8", "gray": "#7a8087"}
"""These colours in tables and charts, legible on the page in both themes; the sign and the word say the same."""


CHECKS = {
    "answered": ("blue", "gavel", later("Checked")),
    "no_evidence": ("gray", "help", later("Nothing could be judged")),
}
"""Colour, Material symbol and title of an outcome of a check, which answers nothing and is no verdict on the report."""


def look(outcome: str, *, audit: bool = False) -> tuple[str, str]:
    """Return colour and Material symbol of an outcome; `audit`: of a check of a report."""
    if audit and outcome in CHECKS:
        return CHECKS[outcome][:2]
    return LOOKS.get(outcome, ("orange", "flag"))


def ending(outcome: str, *, audit: bool = False) -> str:
    """Return the title of an outcome; `audit`: of a check of a report."""
    return t(CHECKS[outcome][2] if audit and outcome in CHECKS else ENDINGS[outcome])


def framework(name: str) -> str:
    """Return the title of a framework."""
    return t(plugins.framework.title(name))


def way(given: Recipe) -> str:
    """Return how a run works: framework and strategy, without the strategy where nobody chooses one."""
    return " / ".join(map(t, given.titles))


def recipe(given: Recipe) -> str:
    """Return framework, strategy and model of a recipe as one line."""
    return f"{way(given)} / {model(given.model)}"


def context(name: str) -> str:
    """Return the title of a context strategy."""
    return t(plugins.context.title(name))


def model(name: str) -> str:
    """Return what a reader calls a model."""
    return t(model_title(name))
