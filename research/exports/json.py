"""A run as one JSON object, printed by `run --json` and `show --json`. Scripts rely on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from research.auditing.trial import score, to_fix
from research.events.audit_findings import AuditedSource, AuditedStatement
from research.events.events import Edited, Event, ReportEdited, encode
from research.events.recipe import Recipe
from research.events.view import RunView, agent_status, kinds, searched
from research.exports.progress import entries
from research.types import Source


def as_dict(view: RunView, events: Sequence[Event] | None = None) -> dict[str, Any]:
    """Return a run as builtins, with its events if given.  Keys may be added, but never renamed."""
    result: dict[str, Any] = {
        "run_id": view.run,
        "question": view.question,
        "recipe": _recipe(view.recipe),
        "status": view.status,
        "agent_status": agent_status(view),
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
        "usage": {
            "model_calls": view.model_calls,
            "tool_calls": view.tool_calls,
            "prompt_tokens": view.prompt_tokens,
            "completion_tokens": view.completion_tokens,
            **_cached(view.cached_tokens),
            "estimated": view.estimated,
            "cost_usd": view.cost_usd,
        },
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
    """Return a cited source; `also` lists its other addresses, `memory` is its entry if the run saw it only there.

    `notes` say what was left out, and the date of a copy.
    """
    more: dict[str, Any] = {"memory": source.memory, "also": source.also, "notes": source.notes}
    more |= {"class": source.kind, "retracted": source.retracted}
    found = {"n": source.n, "url": source.url, "title": source.title, "quote": source.quote}
    return {**found, **{name: value for name, value in more.items() if value}}


def _cached(tokens: int) -> dict[str, int]:
    """Return how many prompt tokens services read from their caches, if any."""
    return {"cached_tokens": tokens} if tokens else {}


def _calls(view: RunView) -> list[dict[str, Any]]:
    """Return the answered requests to models."""
    return [
        {
            "agent": r.agent,
            "purpose": r.purpose,
            "model": r.model,
            "prompt_tokens": r.usage.prompt_tokens,
            "completion_tokens": r.usage.completion_tokens,
            **_cached(r.usage.cache_read_tokens),
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
    if places := searched(view):
        found["searched"] = [
            {"name": name, "searches": each.searches, "results": each.results} for name, each in places.items()
        ]
    if found_kinds := kinds(view):
        found["source_classes"] = found_kinds
    if view.plan:
        found["plan"] = _plan(view)
    if view.given is not None:
        found["audit"] = _audit(view)
    if view.sent is not None:
        found["left_this_machine"] = [msgspec.to_builtins(each) for each in view.sent]
    if view.edits:
        found["edits"] = [_edit(edit) for edit in view.edits]
    if view.recalled is not None:
        seen = view.recalled
        found["recalled"] = {"ok": seen.ok, "entries": list(entries(seen)), "text": seen.text}
    if view.remembered is not None:
        found["remembered"] = {"added": list(view.remembered.added), "known": list(view.remembered.known)}
    if view.recipe.framework_options.get("include_source_str"):
        found["source_str"] = "\n\n".join(
            f"[{each.n}] {each.title}\n{each.url}\n{each.quote}" for each in view.seen_sources
        )
    if view.status == "waiting_input":
        found["prompt"] = view.answer
    if view.error:
        found["error"] = view.error
    if view.outcome in ("rounds", "tokens", "cost", "time", "loop"):
        found["loop_status"] = "max_rounds_reached" if view.outcome == "rounds" and view.reports else "incomplete"
    return found


def _plan(view: RunView) -> dict[str, Any]:
    """Return the plan; once the run has ended, each item says whether the report answers it."""
    done = {part.text: {"status": part.status, "reason": part.reason} for part in view.plan_done}
    items = [
        {"question": item.question, "sources": list(item.sources), **done.get(item.question, {})} for item in view.plan
    ]
    found: dict[str, Any] = {"approved": view.approved, "items": items}
    if view.forecast:
        found["estimate"] = msgspec.to_builtins(view.forecast)
    return found


def _audit(view: RunView) -> dict[str, Any]:
    """Return the findings about a report: equal for equal report and sources."""
    statements = sorted(view.statements.values(), key=lambda each: each.n)
    sources = {each.n: each for each in sorted(view.audited.values(), key=lambda each: each.n)}
    return {
        "title": view.given.title if view.given else "",
        "score": msgspec.to_builtins(score(statements)),
        "fix_first": [each.n for each in to_fix(statements, sources)],
        "statements": [_full(each) for each in statements],
        "sources": [_full(each) for each in sources.values()],
        "miscounts": msgspec.to_builtins(view.miscounts),
        "notes": list(view.audit_notes),
    }


def _full(each: AuditedStatement | AuditedSource) -> dict[str, Any]:
    return {name: msgspec.to_builtins(value) for name, value in msgspec.structs.asdict(each).items()}


def _edit(edit: Edited | ReportEdited) -> dict[str, str]:
    """Return an edit by the user: new and old text.  `call` is "report" for the evolving report."""
    if isinstance(edit, ReportEdited):
        return {"call": "report", "by": "user", "text": edit.report, "was": edit.was}
    return {"call": edit.observation.call_id, "by": "user", "text": edit.observation.text, "was": edit.was}
