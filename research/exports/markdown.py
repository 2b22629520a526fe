"""The cited report as Markdown: front matter, body, numbered references."""

from __future__ import annotations

import datetime
import json

from research.text import clip
from research.view import RunView


def markdown(view: RunView) -> str:
    """One file, readable by people, static-site generators and pandoc."""
    started = datetime.datetime.fromtimestamp(view.started, datetime.UTC)
    front = {
        "title": view.question,
        "date": started.isoformat(timespec="seconds"),
        "run": view.run,
        "framework": view.recipe.framework,
        "context": view.recipe.context,
        "model": view.recipe.model,
        "recipe": view.recipe.hash,
        "status": view.status,
        "outcome": view.outcome,
        "rounds": view.round_count(),
        "model_calls": view.model_calls,
        "tool_calls": view.tool_calls,
        "prompt_tokens": view.prompt_tokens,
        "completion_tokens": view.completion_tokens,
        "tokens_estimated": view.estimated,
        "cost_usd": view.cost_usd,
        "seconds": round(view.seconds, 1),
    }
    # A JSON value is a YAML value: quoting is right whatever the question holds.
    head = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in front.items())
    parts = [f"---\n{head}\n---", f"# {clip(' '.join(view.question.split()), 200)}", view.report.strip()]
    references = [
        f"[{source.n}] {source.title}. <{source.url}>\n"
        + "\n".join(f"    > {line}" for line in source.quote.splitlines())
        for source in view.cited_sources
    ]
    if references:
        parts.append("## References\n\n" + "\n\n".join(references))
    return "\n\n".join(part for part in parts if part) + "\n"
