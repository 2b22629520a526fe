"""Evolving report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from research.agent.context import Steps
from research.agent.conversation import as_text
from research.agent.run import Run
from research.agent.work import ANSWER, Call, History, HistorySize, Span
from research.errors import LimitReached, ProviderError
from research.events.transcript import Composed, Summary
from research.plugins import Range, context, framework
from research.text import clip
from research.types import Message


def _keeps(options: Mapping[str, Any], rounds: int) -> int:
    return 1


def _shows(options: Mapping[str, Any], per_token: float) -> HistorySize:
    room = options["observation"] / per_token + ANSWER.high
    return lambda behind, each: min(1, behind) * min(each, room)


def _scribe_calls(options: Mapping[str, Any], history: History) -> list[Call]:
    if history.framework.writes_report or history.loop.report:
        return []
    agents, growth = history.loop.agents, history.growth
    count = Span(agents.low * (history.loop.least - 1), agents.high * history.rounds)
    return [Call(purpose="scribe", count=count, reads=Span(growth.low, growth.high + ANSWER.high))]


@context(
    "Evolving report",
    when="Keeps one report up to date; for dozens of rounds.",
    purposes={"scribe": "summariser"},
    shows_report=True,
    keeps=_keeps,
    shows=_shows,
    extra=_scribe_calls,
)
def evolving(
    run: Run,
    *,
    observation: Annotated[int, Range(500, 100_000), "Characters shown of the last observations."] = 12_000,
) -> Steps[Composed]:
    """Question, report, last action and last observation; constant size whatever the number of rounds.  For deep tasks.

    IterResearch writes the report in the same call; for other frameworks a scribe call merges each round into it.
    Source: the workspace of IterResearch (arXiv:2511.07327).
    """
    merged = None
    if not framework.get(run.recipe.framework).writes_report and run.transcript.report_covers < run.transcript.length:
        merged = yield from _merged(run)
    system, question = run.head()
    report = (merged.text if merged else "") or run.transcript.report
    words = f"{question.content}\n\n<report>\n{report}\n</report>" if report else question.content
    if not run.transcript.length:
        return Composed([system, Message("user", words)])
    last = run.round(run.transcript.length - 1)
    share = observation // max(1, len(last.observations))
    bounded = tuple(msgspec.structs.replace(seen, text=clip(seen.text, share)) for seen in last.observations)
    # Without the thinking: the report has all that matters.
    calls = msgspec.structs.replace(last.reply, text=run.written("", last.reply.calls), thinking="", report="")
    turn = run.protocol.turn(msgspec.structs.replace(last, reply=calls, observations=bounded))
    return Composed([system, Message("user", words), *turn], report=merged)


def _merged(run: Run) -> Steps[Summary]:
    """Merge the new rounds into the report, once per round; a failed request leaves the report unchanged."""
    covers = run.transcript.length
    seen = as_text(run.without_repeats(run.turns(run.transcript.report_covers)))
    brief = run.brief("scribe", question=run.question, report=run.transcript.report, observation=seen)
    try:
        reply = yield from run.ask("scribe", messages=brief, tools=())
    except (ProviderError, LimitReached):
        return Summary("", covers)
    return Summary(reply.answer, covers)
