"""IterResearch: an evolving report instead of a growing history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from research.agent.context import Steps
from research.agent.model_call import Reads
from research.agent.run import Run
from research.agent.work import Loop, Work
from research.errors import FormatError
from research.plugins import Range, framework
from research.text import estimate_tokens
from research.types import Answer, Reply


def _work(options: Mapping[str, Any]) -> Work:
    rounds = options["rounds"]
    return [Loop(rounds=rounds - 1, least=min(2, rounds), report=options["report_tokens"])]


@framework(
    "IterResearch",
    when="Many steps: dozens of rounds, whose history would outgrow the model.",
    note="evolving is the system of the paper; the others keep its report and add history, for comparison",
    default_context="evolving",
    writes_report=True,
    work=_work,
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
    """Return a check that every reply has a report; the model is asked once to shorten one that is too long."""
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
