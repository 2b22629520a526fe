"""Asking once for the numbers of sources, where an answer has only marks of another program, such as `[web:1]`."""

from __future__ import annotations

from msgspec.structs import replace

from research import prompts
from research.agent.context import Steps, if_possible
from research.agent.run import Run
from research.citations import cited
from research.citations.marks import normalised, without_lost
from research.types import Answer


def with_numbers(run: Run, answer: Answer) -> Steps[Answer]:
    """Return the answer with the numbers that the model gives when it is asked for them; unchanged if it gives none."""
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
