"""ReSum: summarise when the context fills up."""

from __future__ import annotations

from typing import Annotated

import msgspec

from research import tokens
from research.asking import transcribed
from research.errors import FormatError, LimitReached, ProviderError
from research.registry import Range, context
from research.run import Run, Steps
from research.transcript import Summary
from research.types import Message


@context("ReSum", when="Ten to thirty rounds, whose early findings still count.")
def resum(
    run: Run,
    *,
    max_tokens: Annotated[int, Range(1_000, 1_000_000), "Largest prompt, in tokens."] = 32_000,
    threshold: Annotated[float, Range(0.1, 1.0), "Share of it at which the history is summarised."] = 0.9,
) -> Steps[list[Message]]:
    """The whole history until it fills the window, then a summary of it and what comes after.  For medium tasks.

    A failed or empty summary keeps the history and is tried again in the next round.
    Source: Wu et al. 2025, "ReSum: Unlocking Long-Horizon Search Intelligence via Context Summarization"
    (arXiv:2509.13313).
    """
    run.bound = max_tokens
    messages = _messages(run)
    covered = run.transcript.summary.covers if run.transcript.summary else 0
    if run.tokens(messages, run.recipe.model) <= threshold * max_tokens or run.transcript.length == covered:
        return messages
    previous = run.transcript.summary.text if run.transcript.summary else ""
    turns, upto = run.turns(covered), run.transcript.length
    brief = _brief(run, turns, previous)
    # Rounds that would make the summariser's own prompt too long stay as they are and wait for the next summary.
    while tokens.count_messages(brief, run.recipe.model) > threshold * max_tokens and upto > covered + 1:
        upto -= 1
        brief = _brief(run, turns[: len(turns) - len(run.turns(upto))], previous)
    try:
        reply = yield from run.ask("summarise", messages=brief, tools=())
    except (ProviderError, FormatError, LimitReached):
        return messages
    if not reply.answer.strip():
        return messages
    summary = Summary(reply.answer, upto)
    run.transcript = msgspec.structs.replace(run.transcript, summary=summary)
    return _messages(run)


def _brief(run: Run, turns: list[Message], previous: str) -> list[Message]:
    return run.brief("summarise", question=run.question, history=transcribed(turns), previous=previous)


def _messages(run: Run) -> list[Message]:
    summary = run.transcript.summary
    if summary is None:
        return run.head() + run.turns()
    system, question = run.head()
    told = f"{question.content}\n\n<previous_research_summary>\n{summary.text}\n</previous_research_summary>"
    return [system, Message("user", told), *run.turns(summary.covers)]
