"""IterResearch: an evolving report instead of a growing history."""

from __future__ import annotations

from typing import Annotated

from research.asking import Reads
from research.errors import FormatError
from research.registry import Range, framework
from research.run import Run, Steps
from research.text import estimate_tokens
from research.types import Answer, Reply


@framework(
    "IterResearch",
    context="evolving",
    when="Many steps: dozens of rounds, whose history would outgrow the model.",
)
def iter_research(
    run: Run,
    *,
    rounds: Annotated[int, Range(1, 2048), "Rounds; the last is the forced answer, without tools."] = 100,
    report_tokens: Annotated[int, Range(200, 20_000), "Largest report; a longer one has to be tightened."] = 2_000,
) -> Steps[Answer]:
    """Each round rewrites a report and takes one action; only report and last observation go on.  For many steps.

    State s_i = (question, report_{i-1}, action_{i-1}, observation_{i-1}).
    Source: Chen et al. 2025, "IterResearch: Rethinking Long-Horizon Agents with Interaction Scaling"
    (arXiv:2511.07327).  Deliberate change: the report is bounded by re-asking, otherwise the state is not constant.
    When the last round brings no answer, the report is the answer.
    """
    while run.transcript.length < rounds - 1:
        reply = yield from run.ask(reads=_reads(report_tokens))
        yield from run.report(reply.report)
        if reply.answer:
            return Answer(reply.answer)
        yield from run.use(reply)
    return (yield from run.conclude("rounds"))


def _reads(report_tokens: int) -> Reads:
    """Every reply carries a report; one that is too long is asked to be tightened once."""
    asked_to_tighten = False

    def reads(reply: Reply) -> None:
        nonlocal asked_to_tighten
        if not reply.report:
            raise FormatError(
                "The reply held no <report>. Write the whole updated report in <report> tags, then one action."
            )
        if estimate_tokens(reply.report) > report_tokens and not asked_to_tighten:
            asked_to_tighten = True
            raise FormatError(
                f"The report is longer than {report_tokens} tokens. Tighten it and send everything again."
            )

    return reads
