"""What a run takes from the memory before its first round, and what it leaves there at its end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from research import citations, prompts
from research.errors import ToolError
from research.events import Recalled, Remembered, Warned
from research.memory import Entry, recalling
from research.memory.learning import everything, findings
from research.recipe import RECALL_MOST
from research.text import clip
from research.types import Observation
from research.view import RunView

if TYPE_CHECKING:
    from research.run import Run, Steps

LESSONS: Mapping[str, Callable[[RunView], tuple[Entry, ...]]] = {"findings": findings, "everything": everything}
"""What each policy keeps of a run."""


def recall(run: Run) -> Steps[None]:
    """Ask the memory once about the question, where the recipe wants it; it is on record what it gave."""
    shared, wanted = run.shared, run.recipe.recall
    if not wanted or shared.memory is None or shared.recalled is not None:
        return
    try:
        memory = shared.memory()
        found = recalling.recall(memory, run.question, min(wanted, RECALL_MOST), shared.stands)
        with suppress(*recalling.BROKEN):  # what was recalled is there, whether or not it is kept longer for that
            memory.freshen([passage.memory for passage in found.passages if passage.memory])
    except (*recalling.BROKEN, ToolError) as error:
        seen = Observation("", "recall", str(error), ok=False)
    else:
        sources = tuple(shared.ledger.add(passage) for passage in found.passages)
        text = citations.told(found.text, sources)
        seen = Observation("", "recall", text, sources=sources, private=found.private)
    shared.recalled = seen
    shared.guard.saw(seen)
    yield Recalled(query=run.question, observation=seen)


def told(seen: Observation, language: str, room: int) -> str:
    """What was recalled, as quoted material for a prompt, in about `room` characters; empty when that is nothing.

    Where there is no room for all of it the last sources are left out whole, so that each number has its source.
    """
    if not seen.private:
        return ""
    head, *sources = seen.text.split("\n\n")  # a line of an entry is never empty: it is quoted
    fitting, left = [], max(room - len(head), room * 3 // 4)
    for each in sources:
        left -= len(each) + 2
        if left < 0:
            break
        fitting.append(each)
    head = clip(head, room - sum(len(each) + 2 for each in fitting))
    return prompts.quoted("recalled", prompts.text("recalled", language, entries="\n\n".join([head, *fitting])))


def keep(run: Run, view: RunView) -> Steps[None]:
    """Put what the ended run has taught into the memory, as its recipe says."""
    lessons = LESSONS.get(run.recipe.remember)
    if lessons is None or run.shared.memory is None or view.status != "completed":
        return
    if run.shared.journal.recalls(Remembered()):
        return  # before it was cut off: what was forgotten since stays forgotten
    # Ids follow from what they say: a run that goes on after a crash keeps nothing twice.
    entries = [msgspec.structs.replace(entry, id=_id(entry)) for entry in lessons(view)]
    own = {entry.id for entry in entries}
    try:
        added = run.shared.memory().add(entries)
    except recalling.BROKEN as error:
        yield from run.mark(Warned(kind="memory", text=f"Nothing was kept in the memory: {error}"))
        return
    ids = dict.fromkeys(each.id for each in added)
    yield Remembered(added=tuple(n for n in ids if n in own), known=tuple(n for n in ids if n not in own))


def _id(entry: Entry) -> str:
    said = "\0".join([entry.run, entry.kind, entry.url, entry.text])
    return hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()[:16]
