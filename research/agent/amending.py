"""Ask again before an answer is kept: for the numbers of its sources, and for the short answer in its passages."""

from __future__ import annotations

from msgspec.structs import replace

from research import prompts
from research.agent import span_reader as reader
from research.agent.context import Steps, if_possible
from research.agent.model_call import Terms
from research.agent.run import Run
from research.citations import cited
from research.citations.marks import normalised, without_lost
from research.events.recipe import Recipe, provider_of
from research.types import Answer, Part

_READ = {
    "en": "A language model read this in the passages that the offline planner chose.",
    "zh": "由语言模型从离线规划器选出的段落中读出。",
}


def with_numbers(run: Run, answer: Answer) -> Steps[Answer]:
    """Return the answer with the source numbers that the model gives when asked; unchanged if it gives none.

    It is asked only if the answer has nothing but foreign marks, such as `[web:1]`.
    """
    known = {source.n for source in run.context.ledger.sources}
    text = f"{answer.text}\n{answer.report}"
    lost = without_lost(normalised(text))[1]
    if not (known and lost) or known & set(cited(text)):
        return answer
    form = prompts.text(f"answer_{run.protocol.name}", run.language)
    marks = ", ".join(dict.fromkeys(lost))
    asked = prompts.text("numbers", run.language, marks=marks, answer=answer.text, form=form)
    reply = yield from if_possible(run.ask("conclude", extra=asked, tools=()))
    return replace(answer, text=reply.answer) if reply and known & set(cited(reply.answer)) else answer


def with_reader(run: Run, answer: Answer) -> Steps[Answer]:
    """Return the answer with what the recipe's reader found in the cited passages; unchanged if it found nothing.

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
    return replace(answer, text=text, short=found.answer, parts=parts)


def reads(recipe: Recipe) -> bool:
    """Return whether a run of this recipe may ask a reader."""
    return provider_of(recipe.model).written_by == "rules" and bool({"reader", "read"} & recipe.roles.keys())
