"""IterResearch: an evolving report instead of a growing history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from research._util.said import say
from research.agent.context import Steps
from research.agent.conversation import as_text
from research.agent.model_call import Reads, Terms
from research.agent.run import Run
from research.agent.work import Loop, Work
from research.errors import FormatError, LimitReached, ProviderError
from research.events.events import Warned
from research.parsing.report_sections import cut_at_section
from research.plugins import Range, framework
from research.text import estimate_tokens
from research.types import Answer, Reply


def _work(options: Mapping[str, Any]) -> Work:
    rounds = options["rounds"]
    return [Loop(rounds=rounds - 1, least=min(2, rounds), report=options["report_tokens"])]


@framework(
    "IterResearch",
    when="For long research in dozens of rounds.",
    note="evolving is the system of the paper; the others keep its report and add history, for comparison",
    default_context="evolving",
    purposes={"scribe": "summariser", "condense": "summariser"},
    writes_report=True,
    work=_work,
)
def iter_research(
    run: Run,
    *,
    rounds: Annotated[int, Range(1, 2048), "Rounds; the last is the forced answer, without tools."] = 100,
    report_tokens: Annotated[int, Range(200, 20_000), "Largest report; a longer one is condensed, then cut."] = 2_000,
    must_act: Annotated[bool, "With native calls, every reply must call a tool; final_answer is the answer."] = False,
) -> Steps[Answer]:
    """Each round rewrites a report and takes one action; only report and last observation go on.  For many steps.

    State s_i = (question, report_{i-1}, action_{i-1}, observation_{i-1}); the result is the answer and the last report.
    Source: Chen et al. 2025, "IterResearch: Rethinking Long-Horizon Agents with Interaction Scaling"
    (arXiv:2511.07327).  Deliberate changes: a report over the limit is condensed by one more request and then cut at a
    section, otherwise the state is not constant; a model that calls a tool and writes no report beside the call is asked
    for the report in a request of its own.
    When the last round brings no answer, the report is the answer.
    """
    while run.transcript.length < rounds - 1:
        reads = _reads(run.protocol.name == "native")
        reply = yield from run.ask(reads=reads, terms=Terms(report=True, must_act=must_act, rounds=rounds))
        yield from _rewrite(run, reply.report, report_tokens)
        if reply.answer:
            return Answer.of(reply)
        yield from run.use(reply, most=1)
    return (yield from run.conclude("rounds"))


def _reads(native: bool) -> Reads:
    """Return a check that a tagged reply has a report; it is requested once more.

    Many models write no text beside a native call, so asking them again is useless.
    """
    asked_again = native

    def reads(reply: Reply) -> None:
        nonlocal asked_again
        if not reply.report and not asked_again:
            asked_again = True
            raise FormatError(
                say("The reply held no <report>. Write the whole updated report in <report> tags, then one action.")
            )

    return reads


def _rewrite(run: Run, report: str, limit: int) -> Steps[None]:
    """Replace the report by that of the reply, or by one that contains the last observation; bound its size."""
    if not report and run.transcript.length > run.transcript.report_covers:
        seen = as_text(run.without_repeats(run.turns(run.transcript.length - 1)))
        report = yield from _asked(run, "scribe", report=run.transcript.report, observation=seen)
    if estimate_tokens(report) > limit:
        shorter = yield from _asked(run, "condense", report=report, limit=str(limit))
        report = shorter or report
    if (over := estimate_tokens(report)) > limit:
        report = cut_at_section(report, limit)
        text = f"The report has {over} tokens, more than the limit of {limit}: its last sections were cut."
        yield from run.context.mark(Warned(agent=run.agent, kind="context", text=text))
    yield from run.report(report)


def _asked(run: Run, purpose: str, **values: str) -> Steps[str]:
    """Return the reply to a request outside the conversation; empty if it fails, or if an earlier version did not make it."""
    if run.recorded_purpose() not in ("", purpose):
        return ""
    brief = run.brief(purpose, question=run.question, **values)
    try:
        reply = yield from run.ask(purpose, messages=brief, tools=())
    except (ProviderError, LimitReached):
        return ""
    return reply.answer
