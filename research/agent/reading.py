"""Letting a language model read the short answer out of the passages that the offline planner cites."""

from __future__ import annotations

import msgspec

from research import plugins
from research.agent import span_reader as reader
from research.agent.context import Steps, if_possible
from research.agent.model_call import Terms
from research.agent.run import Run
from research.events.recipe import Recipe
from research.types import Answer, Part

_READ = {
    "en": "A language model read this in the passages that the offline planner chose.",
    "zh": "由语言模型从离线规划器选出的段落中读出。",
}


def with_reader(run: Run, answer: Answer) -> Steps[Answer]:
    """Return the answer with what the recipe's reader found in the passages it cites; unchanged if that is nothing.

    Only the offline planner has a reader: a language model that plans also reads.  A reader that fails changes nothing.
    """
    if not reads(run.recipe):
        return answer
    seen = reader.passages(answer.text, run.context.ledger.sources)
    if not seen:
        return answer
    messages = reader.messages(run.question, seen)
    reply = yield from if_possible(run.ask("read", messages=messages, tools=(), terms=Terms(schema=reader.SCHEMA)))
    found = reader.read(reply.answer, answer.short, seen) if reply else None
    if found is None:
        return answer
    text = reader.taken_up(answer.text, found, _READ[run.language])
    parts = tuple(Part(part.text, "answered") for part in answer.parts)
    return msgspec.structs.replace(answer, text=text, short=found.answer, parts=parts)


def reads(recipe: Recipe) -> bool:
    """Return whether a run of this recipe may ask a reader."""
    return plugins.provider_of(recipe.model).written_by == "rules" and bool({"reader", "read"} & recipe.roles.keys())
