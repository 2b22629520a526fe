"""ReSum: summarise when the context fills up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Annotated, Any

from research.agent.context import Steps
from research.agent.conversation import as_text
from research.agent.run import Run
from research.agent.work import Call, History, HistorySize, Span
from research.errors import FormatError, LimitReached, ProviderError
from research.events.transcript import Composed, Summary
from research.plugins import Range, context
from research.types import Message


def _bound(options: Mapping[str, Any]) -> int:
    return int(options["max_tokens"])


def _shows(options: Mapping[str, Any], per_token: float) -> HistorySize:
    # One round more than fits, because the summary is made after the history has become too long.
    room = options["threshold"] * options["max_tokens"]
    return lambda behind, each: min(behind * each, max(room, each) + each)


def _summaries(options: Mapping[str, Any], history: History) -> list[Call]:
    room, rounds, each = options["threshold"] * options["max_tokens"], history.rounds, history.each
    times = min(rounds, ceil(rounds * each / max(1.0, room - history.head))) if room > history.head else rounds
    count = Span(0, history.loop.agents.high * times)
    return [Call(purpose="summarise", count=count, reads=Span(0, max(room, each) + each))]


@context(
    "ReSum",
    when="Sums up what is old; for ten to thirty rounds.",
    purposes={"summarise": "summariser"},
    bound=_bound,
    shows=_shows,
    extra=_summaries,
)
def resum(
    run: Run,
    *,
    max_tokens: Annotated[int, Range(1_000, 1_000_000), "Largest prompt, in tokens."] = 32_000,
    threshold: Annotated[float, Range(0.1, 1.0), "Share of it at which the history is summarised."] = 0.9,
) -> Steps[Composed]:
    """The whole history until it fills the window, then a summary of it and what comes after.  For medium tasks.

    A failed or empty summary keeps the history and is tried again in the next round.
    Source: Wu et al. 2025, "ReSum: Unlocking Long-Horizon Search Intelligence via Context Summarization"
    (arXiv:2509.13313).
    """
    previous = run.transcript.summary
    unchanged = _composed(run, previous)
    covered = previous.covers if previous else 0
    if run.count_tokens(unchanged.messages) <= threshold * max_tokens or run.transcript.length == covered:
        return unchanged
    turns, upto = run.turns(covered), run.transcript.length
    brief = _brief(run, turns, previous)
    # Rounds that would make the summariser's own prompt too long wait for the next summary.
    while run.count_tokens(brief) > threshold * max_tokens and upto > covered + 1:
        upto -= 1
        brief = _brief(run, turns[: len(turns) - len(run.turns(upto))], previous)
    try:
        reply = yield from run.ask("summarise", messages=brief, tools=())
    except (ProviderError, FormatError, LimitReached):
        return unchanged
    if not reply.answer.strip():
        return unchanged
    return _composed(run, Summary(reply.answer, upto))


def _brief(run: Run, turns: Sequence[Message], previous: Summary | None) -> list[Message]:
    history, earlier = as_text(run.without_repeats(turns)), previous.text if previous else ""
    return run.brief("summarise", question=run.question, history=history, previous=earlier)


def _composed(run: Run, summary: Summary | None) -> Composed:
    system, question = run.head()
    if summary:
        words = f"{question.content}\n\n<previous_research_summary>\n{summary.text}\n</previous_research_summary>"
        question = Message("user", words)
    messages = [system, question, *run.turns(summary.covers if summary else 0)]
    return Composed(run.without_repeats(messages), summary=summary)
