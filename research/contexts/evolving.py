"""Evolving report."""

from __future__ import annotations

from typing import Annotated

import msgspec

from research.asking import transcribed
from research.errors import LimitReached, ProviderError
from research.registry import Range, context, framework
from research.run import Run, Steps
from research.text import clip
from research.types import Message


@context("Evolving report", when="Dozens of rounds: what counts is kept in the report.")
def evolving(
    run: Run,
    *,
    observation: Annotated[int, Range(500, 100_000), "Characters shown of the last observations."] = 12_000,
) -> Steps[list[Message]]:
    """Question, report, last action and last observation; constant size whatever the number of rounds.  For deep tasks.

    IterResearch writes the report in the same call; for other frameworks a scribe call merges each round into it.
    Source: the workspace of IterResearch (arXiv:2511.07327).
    """
    if not framework.get(run.recipe.framework).traits.get("context") and run.transcript.length:
        yield from _scribe(run)
    system, question = run.head()
    report = run.transcript.report
    told = f"{question.content}\n\n<report>\n{report}\n</report>" if report else question.content
    if not run.transcript.length:
        return [system, Message("user", told)]
    last = run.remembered(run.transcript.length - 1)
    share = observation // max(1, len(last.observations))
    bounded = tuple(msgspec.structs.replace(seen, text=clip(seen.text, share)) for seen in last.observations)
    # The thinking is dropped on purpose: what matters of it has to be in the report.
    calls = msgspec.structs.replace(last.reply, text=run.written("", last.reply.calls), thinking="", report="")
    turn = run.protocol.turn(msgspec.structs.replace(last, reply=calls, observations=bounded))
    return [system, Message("user", told), *turn]


def _scribe(run: Run) -> Steps[None]:
    """Merge what is new into the report, once a round; a failed call keeps the report as it was."""
    if run.scribed == run.transcript.length:
        return
    first, run.scribed = run.scribed, run.transcript.length
    seen = transcribed(run.turns(first))
    brief = run.brief("scribe", question=run.question, report=run.transcript.report, observation=seen)
    try:
        reply = yield from run.ask("scribe", messages=brief, tools=())
    except (ProviderError, LimitReached):
        return
    yield from run.report(reply.answer)
