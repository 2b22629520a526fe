"""A run as one JSON object: what `run --json` and `show --json` print, and scripts rely on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from research.events import Edited, Event, ReportEdited, encode
from research.progress import entries
from research.view import RunView


def as_dict(view: RunView, events: Sequence[Event] | None = None) -> dict[str, Any]:
    """Keys are added over time, never renamed."""
    recipe = view.recipe
    result: dict[str, Any] = {
        "run_id": view.run,
        "question": view.question,
        "recipe": {
            **msgspec.to_builtins(recipe),
            "framework": recipe.framework,
            "context": recipe.context,
            "model": recipe.model,
            "options": {"framework": recipe.framework_options, "context": recipe.context_options},
            "hash": recipe.hash,
        },
        "status": view.status,
        "outcome": view.outcome,
        "answer": view.answer,
        "report": view.report,
        "sources": [
            {
                "n": source.n,
                "url": source.url,
                "title": source.title,
                "quote": source.quote,
                # Only where nothing but the memory showed it: the id of its entry.
                **({"memory": source.memory} if source.memory else {}),
            }
            for source in view.cited_sources
        ],
        "citations": [
            {"n": c.n, "claim": c.claim, "status": c.status, "quote": c.quote, "reason": c.reason}
            for c in view.citations
        ],
        "uncited": list(view.uncited),
        "removed": list(view.removed),
        "rounds": view.round_count(),
        "usage": {
            "model_calls": view.model_calls,
            "tool_calls": view.tool_calls,
            "prompt_tokens": view.prompt_tokens,
            "completion_tokens": view.completion_tokens,
            "estimated": view.estimated,
            "cost_usd": view.cost_usd,
        },
        "calls": [
            {
                "agent": r.agent,
                "purpose": r.purpose,
                "model": r.model,
                "prompt_tokens": r.usage.prompt_tokens,
                "completion_tokens": r.usage.completion_tokens,
                "seconds": round(r.seconds, 3),
            }
            for r in view.rounds
            if r.usage is not None
        ],
        "seconds": round(view.seconds, 3),
    }
    if view.edits:
        result["edits"] = [_edit(edit) for edit in view.edits]
    if view.recalled is not None:
        seen = view.recalled
        result["recalled"] = {"ok": seen.ok, "entries": list(entries(seen)), "text": seen.text}
    if view.remembered is not None:
        result["remembered"] = {"added": list(view.remembered.added), "known": list(view.remembered.known)}
    if view.status == "waiting_input":
        result["prompt"] = view.answer
    if view.error:
        result["error"] = view.error
    if events is not None:
        result["events"] = [msgspec.json.decode(encode(event)) for event in events]
    return result


def _edit(edit: Edited | ReportEdited) -> dict[str, str]:
    """What the user wrote in the place of what; `call` is "report" for the evolving report."""
    if isinstance(edit, ReportEdited):
        return {"call": "report", "by": "user", "text": edit.report, "was": edit.was}
    return {"call": edit.observation.call_id, "by": "user", "text": edit.observation.text, "was": edit.was}
