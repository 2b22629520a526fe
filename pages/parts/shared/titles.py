"""Titles of frameworks, context strategies and outcomes, in the language of the page."""

from __future__ import annotations

from pages.parts.shared.language import later, t
from research import plugins
from research.errors import ConfigError

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


def framework(name: str) -> str:
    """Return the title of a framework; an imported run may name an unknown one."""
    try:
        return t(plugins.framework.get(name).title)
    except ConfigError:
        return name


def context(name: str) -> str:
    """Return the title of a context strategy; an imported run may name an unknown one."""
    try:
        return t(plugins.context.get(name).title)
    except ConfigError:
        return name
