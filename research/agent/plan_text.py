"""A plan as text: parse, check and approve it, quote it in prompts, and report what was done."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from typing import Any

from research import plugins, prompts
from research._util.nul import without_nul
from research._util.said import say
from research.errors import ConfigError, FormatError
from research.events.events import Event, PlanApproved, PlanItem, PlanProposed, WaitingForUser
from research.events.recipe import FOLDERS, Recipe
from research.store import RunRow
from research.text import words_alone
from research.types import Part

MOST = 20
"""Most items of a plan."""
LONGEST = 500
"""Most characters of an item."""

_YES = re.compile(r"(?:y|yes|ok|okay|go|start|approved?|是|好|好的|可以|同意|批准|开始)[.!。！]?", re.I)
_BULLET = re.compile(r"\s{0,8}(?:[-*•]|\d{1,3}[.)、])\s{0,8}(?=\S)")
_SOURCES = re.compile(r"\s{0,8}[\[［]([^\[\]［］]{1,300})[\]］]\s{0,8}\Z")
_COMMA = re.compile(r"\s{0,8}[,，、;；]\s{0,8}")


def sources_of(recipe: Recipe) -> tuple[str, ...]:
    """Return the names of the sources that a plan may name."""
    tools = {name: plugins.tool.traits(name) for name in recipe.tools}
    searched = recipe.search if any(tool.searches and tool.library for tool in tools.values()) else ()
    others = [
        *(name for name, tool in tools.items() if tool.searches and not tool.library),
        *(name for name, tool in tools.items() if tool.recalls),
        *(name for name, tool in tools.items() if tool.reads),
    ]
    return tuple("library" if name == FOLDERS else name for name in (*searched, *others, *recipe.mcp))


def read_items(text: str, sources: Sequence[str]) -> tuple[PlanItem, ...]:
    """Return the plan in a model's reply: the lines of a list.  Raises `FormatError`."""
    lines = [line[mark.end() :] for line in text.splitlines() if (mark := _BULLET.match(line))]
    try:
        return checked([_item(line, sources) for line in lines], sources)
    except ConfigError as error:
        raise FormatError(
            say("{error}. Write one sub-question a line: - sub-question [source]", error=error)
        ) from error


def parse(text: str, sources: Sequence[str]) -> tuple[PlanItem, ...]:
    """Return the plan that a user wrote.  Raises `ConfigError`.

    It is a list with one item a line, or JSON: a list of questions or of `{"question", "sources"}`, an object with such a
    list as `items`, or what `show --json` prints.
    """
    if not text.lstrip().startswith(("{", "[")):
        lines = [_BULLET.sub("", line, count=1) for line in text.splitlines() if line.strip()]
        return checked([_item(line, sources) for line in lines if not line.startswith("#")], sources)
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the plan is not JSON: {error}") from error
    for key in ("plan", "items"):
        given = given.get(key) if isinstance(given, dict) and key in given else given
    return checked(given, sources)


def checked(items: Any, sources: Sequence[str]) -> tuple[PlanItem, ...]:
    """Return the items of a plan: each a text, a `PlanItem` or a mapping of its fields.  Raises `ConfigError`."""
    if not isinstance(items, list | tuple):
        raise ConfigError(f'a plan is a list of {{"question", "sources"}}, not {type(items).__name__}')
    found = {each.question: each for each in (_checked(item, sources) for item in items) if each.question}
    if not found:
        raise ConfigError("the plan has no item; keep at least one")
    if len(found) > MOST:
        raise ConfigError(f"the plan has {len(found)} items; at most {MOST} are accepted")
    return tuple(found.values())


def _checked(item: Any, sources: Sequence[str]) -> PlanItem:
    if isinstance(item, str):
        item = {"question": item}
    elif isinstance(item, PlanItem):
        item = {"question": item.question, "sources": item.sources}
    question, named = (item.get("question"), item.get("sources") or ()) if isinstance(item, dict) else (None, ())
    if not isinstance(question, str) or not isinstance(named, list | tuple):
        raise ConfigError(f'an item of a plan is {{"question": TEXT, "sources": [NAME]}}, not {str(item)[:100]!r}')
    question = " ".join(without_nul(question, str).split())
    if len(question) > LONGEST:
        raise ConfigError(f"the item {question[:60]!r}… has {len(question)} characters; at most {LONGEST} are accepted")
    for name in named:
        if name not in sources:
            raise ConfigError(
                f"the item {question[:60]!r} names the source {str(name)[:60]!r}; known: {', '.join(sources) or 'none'}"
            )
    return PlanItem(question, tuple(dict.fromkeys(named)))


def _item(line: str, sources: Sequence[str]) -> dict[str, object]:
    """Return the item on a line; a bracket at the end names sources if it names an existing one."""
    behind = _SOURCES.search(line)
    names = [name for name in _COMMA.split(behind[1].strip()) if name] if behind else []
    if behind is None or not set(names) & set(sources):
        return {"question": line.strip()}
    return {"question": line[: behind.start()].strip(), "sources": names}


def written(items: Sequence[PlanItem]) -> str:
    """Return the plan as a list that `parse` reads."""
    return "\n".join(f"- {item.question}" + (f" [{', '.join(item.sources)}]" if item.sources else "") for item in items)


def quoted(items: Sequence[PlanItem], language: str) -> str:
    """Return the approved plan for a prompt."""
    return prompts.quoted("plan", prompts.text("plan/plan", language, items=written(items)))


def done(items: Sequence[PlanItem], parts: Sequence[Part], language: str) -> tuple[Part, ...]:
    """Return for each item what the answer says of it; empty if the answer lists no parts.

    Parts match items by wording, or else by order.
    """
    if not parts:
        return ()
    said = {words_alone(part.text): part for part in parts}
    in_order = parts if len(parts) == len(items) else (None,) * len(items)
    silent = prompts.text("plan/unsaid", language)
    return tuple(
        Part(item.question, found.status, found.reason) if found else Part(item.question, "not_found", silent)
        for item, other in zip(items, in_order, strict=True)
        for found in [said.get(words_alone(item.question), other)]
    )


def with_plan(report: str, parts: Sequence[Part], language: str) -> str:
    """Return the report with a section that says which items of the plan were answered."""
    lines = [
        prompts.text("plan/answered", language, question=part.text)
        if part.status == "answered"
        else prompts.text("plan/not_found", language, question=part.text, reason=_because(part.reason, language))
        for part in parts
    ]
    return f"{report}\n\n{prompts.text('plan/done', language, items=chr(10).join(lines))}"


def _because(reason: str, language: str) -> str:
    bare = reason.rstrip(".。")
    return (f"：{bare}" if language == "zh" else f": {bare}") if bare else ""


def approval(
    row: RunRow, events: Sequence[Event], reply: str, plan: Sequence[PlanItem | str] | None
) -> PlanApproved | None:
    """Return the event that approves the plan of a run; None for a run not waiting with one.

    Raises `ConfigError` when a plan is given and none is expected, and when the reply is not a yes.
    """
    last = events[-1] if events else None
    if not (row.status == "waiting_input" and isinstance(last, WaitingForUser) and last.plan):
        if plan is not None:
            raise ConfigError(f"run {row.id} does not wait for a plan: it is {row.status}")
        return None
    proposed = next(event.items for event in reversed(events) if isinstance(event, PlanProposed))
    if plan is None and not _YES.fullmatch(reply):
        raise ConfigError(
            f"run {row.id} waits until its plan is approved: resume it with --plan FILE, or with --reply yes for the plan "
            "as it is"
        )
    items = checked(list(proposed if plan is None else plan), sources_of(row.recipe))
    return PlanApproved(run=row.id, seq=last.seq + 1, time=time.time(), items=items)
