"""Searching the memory before a run's first round, and adding the run's findings to it at its end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from research import citations, prompts
from research.agent.context import RunContext, Steps
from research.defaults import RECALL
from research.errors import ToolError
from research.events.events import Recalled, Remembered, Warned
from research.events.recipe import RECALL_MOST, Recipe
from research.events.view import RunView
from research.memory import Entry, recalling
from research.memory.learning import everything, new_findings
from research.text import clip
from research.types import Observation

LESSONS: Mapping[str, Callable[[RunView], tuple[Entry, ...]]] = {"findings": new_findings, "everything": everything}
"""For each value of `Recipe.remember`, the function that returns the entries to add."""


def recall(question: str, recipe: Recipe, context: RunContext) -> Steps[None]:
    """Search the memory once for the question, if the recipe says so, and emit the result as an event."""
    if not recipe.recall or context.services.memory is None or context.recalled is not None:
        return
    try:
        memory = context.services.memory()
        found = recalling.recall(memory, question, min(recipe.recall, RECALL_MOST), context.services.still_says)
        with suppress(*recalling.MEMORY_ERRORS):  # recording the use may fail; the entries are still valid
            memory.touch([passage.memory for passage in found.passages if passage.memory])
    except (*recalling.MEMORY_ERRORS, ToolError) as error:
        seen = Observation("", RECALL, str(error), ok=False)
    else:
        sources = tuple(context.ledger.add(each) for each in found.passages if not context.tools.refusal(each))
        text = citations.tool_result_text(found.text, sources)
        seen = Observation("", RECALL, text, sources=sources, private=found.private)
    context.recalled = seen
    context.guard.observe(seen)
    yield Recalled(query=question, observation=seen)


def quoted(seen: Observation, language: str, room: int) -> str:
    """Return the recalled entries as quoted material for a prompt, in about `room` characters; empty if there are none.

    If room runs short, the last sources are left out whole, so that each number keeps its source.
    """
    if not seen.private:
        return ""
    head, *sources = seen.text.split("\n\n")  # entries contain no blank lines: each of their lines begins with "> "
    fitting, remaining = [], max(room - len(head), room * 3 // 4)
    for each in sources:
        remaining -= len(each) + 2
        if remaining < 0:
            break
        fitting.append(each)
    head = clip(head, room - sum(len(each) + 2 for each in fitting))
    return prompts.quoted("recalled", prompts.text("recalled", language, entries="\n\n".join([head, *fitting])))


def keep(recipe: Recipe, context: RunContext, view: RunView) -> Steps[None]:
    """Add the findings of the ended run to the memory, as its recipe says."""
    lessons = LESSONS.get(recipe.remember)
    if lessons is None or context.services.memory is None or view.status != "completed":
        return
    if context.journal.take_mark(Remembered()):
        return  # added before the interruption; those that the user deleted since must stay deleted
    # Ids are hashes of the content, so a run that continues after a crash adds nothing twice.
    entries = [msgspec.structs.replace(entry, id=_id(entry)) for entry in lessons(view)]
    own = {entry.id for entry in entries}
    try:
        added = context.services.memory().add(entries)
    except recalling.MEMORY_ERRORS as error:
        yield from context.mark(Warned(kind="memory", text=f"Nothing was kept in the memory: {error}"))
        return
    ids = dict.fromkeys(each.id for each in added)
    yield Remembered(added=tuple(n for n in ids if n in own), known=tuple(n for n in ids if n not in own))


def _id(entry: Entry) -> str:
    content = "\0".join([entry.run, entry.kind, entry.url, entry.text])
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:16]
