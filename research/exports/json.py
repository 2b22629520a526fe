"""A run as one JSON object, as printed by `run --json` and `show --json`.  Scripts rely on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from research.events.events import Edited, Event, ReportEdited, encode
from research.events.recipe import Recipe
from research.events.view import RunView
from research.exports.progress import entries
from research.types import Source


def as_dict(view: RunView, events: Sequence[Event] | None = None) -> dict[str, Any]:
    """Return a run as builtins, with its events if given.  Keys may be added, but never renamed."""
    result: dict[str, Any] = {
        "run_id": view.run,
        "question": view.question,
        "recipe": _recipe(view.recipe),
        "status": view.status,
        "outcome": view.outcome,
        "answer": view.short or view.answer,
        "report": view.report,
        "sources": [_source(source) for source in view.cited_sources],
        "citations": [
            {
                "n": c.n,
                "claim": c.claim,
                "status": c.status,
                "quote": c.quote,
                "reason": c.reason,
                **({"by": c.by} if c.by else {}),
                **({"judgements": msgspec.to_builtins(c.judgements)} if c.judgements else {}),
            }
            for c in view.citations
        ],
        "uncited": list(view.uncited),
        "removed": list(view.removed),
        "rounds": view.round_count(),
        "usage": _usage(view),
        "calls": _calls(view),
        "seconds": round(view.seconds, 3),
        **_optional(view),
    }
    if events is not None:
        result["events"] = [msgspec.json.decode(encode(event)) for event in events]
    return result


def _recipe(recipe: Recipe) -> dict[str, Any]:
    return {
        **msgspec.to_builtins(recipe),
        "framework": recipe.framework,
        "context": recipe.context,
        "model": recipe.model,
        "options": {"framework": recipe.framework_options, "context": recipe.context_options},
        "hash": recipe.hash,
    }


def _source(source: Source) -> dict[str, Any]:
    """Return a cited source; `memory` is the id of its entry if the run saw it only in the memory."""
    memory = {"memory": source.memory} if source.memory else {}
    return {"n": source.n, "url": source.url, "title": source.title, "quote": source.quote, **memory}


def _usage(view: RunView) -> dict[str, Any]:
    return {
        "model_calls": view.model_calls,
        "tool_calls": view.tool_calls,
        "prompt_tokens": view.prompt_tokens,
        "completion_tokens": view.completion_tokens,
        "estimated": view.estimated,
        "cost_usd": view.cost_usd,
    }


def _calls(view: RunView) -> list[dict[str, Any]]:
    """Return the answered requests to models."""
    return [
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
    ]


def _optional(view: RunView) -> dict[str, Any]:
    """Return the keys that only some runs have."""
    found: dict[str, Any] = {}
    if view.parts:
        found["parts"] = [{"text": p.text, "status": p.status, "reason": p.reason} for p in view.parts]
    if view.edits:
        found["edits"] = [_edit(edit) for edit in view.edits]
    if view.recalled is not None:
        seen = view.recalled
        found["recalled"] = {"ok": seen.ok, "entries": list(entries(seen)), "text": seen.text}
    if view.remembered is not None:
        found["remembered"] = {"added": list(view.remembered.added), "known": list(view.remembered.known)}
    if view.status == "waiting_input":
        found["prompt"] = view.answer
    if view.error:
        found["error"] = view.error
    return found


def _edit(edit: Edited | ReportEdited) -> dict[str, str]:
    """Return an edit by the user: new and old text.  `call` is "report" for the evolving report."""
    if isinstance(edit, ReportEdited):
        return {"call": "report", "by": "user", "text": edit.report, "was": edit.was}
    return {"call": edit.observation.call_id, "by": "user", "text": edit.observation.text, "was": edit.was}
