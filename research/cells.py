"""Which context strategy makes sense with which framework, and why not where not: form, command line and docs use it."""

from __future__ import annotations

FRAMEWORKS = ("react", "tool_rounds", "iter_research", "rewoo", "reflexion", "parallel", "supervisor")
CONTEXTS = ("full", "window", "resum", "evolving")

OFF: dict[tuple[str, str], str] = {
    ("rewoo", "evolving"): "ReWOO has no rounds between which a report could evolve",
}
"""Cells that are refused, with the reason."""

NOTES: dict[str, str] = {
    "react": "shapes what the model sees in each round",
    "tool_rounds": "shapes what the model sees in each round",
    "iter_research": "evolving is the system of the paper; the others keep its report and add history, for comparison",
    "rewoo": "shapes the evidence that the solver sees",
    "reflexion": "applies inside each trial",
    "parallel": "applies inside each run; runs of IterResearch always use the evolving report",
    "supervisor": "applies to the supervisor and inside each researcher",
}
"""What a strategy does in each framework."""


def refusal(framework: str, context: str) -> str | None:
    """Why this pair is off, or None."""
    return OFF.get((framework, context))


def default_context(framework: str) -> str:
    """The strategy a framework starts with."""
    return "evolving" if framework == "iter_research" else "full"


def table() -> str:
    """The cells as a Markdown table."""
    lines = ["| framework | " + " | ".join(CONTEXTS) + " | the strategy … |", "|---" * (len(CONTEXTS) + 2) + "|"]
    for framework in FRAMEWORKS:
        cells = [refusal(framework, context) or "yes" for context in CONTEXTS]
        lines.append(f"| {framework} | " + " | ".join(cells) + f" | {NOTES[framework]} |")
    return "\n".join(lines)
