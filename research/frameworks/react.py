"""ReAct."""

from __future__ import annotations

from typing import Annotated

from research.agent.context import Steps
from research.agent.model_call import Terms
from research.agent.run import Run
from research.plugins import Range, framework
from research.types import Answer


@framework("ReAct", when="For a fact or two; the usual choice.")
def react(
    run: Run,
    *,
    rounds: Annotated[int, Range(1, 2048), "Rounds before the forced answer."] = 30,
    must_act: Annotated[bool, "With native calls, every reply must call a tool; final_answer is the answer."] = False,
) -> Steps[Answer]:
    """Think, act, observe until the model answers; best for fewer than ten steps.

    Source: Yao et al. 2023, "ReAct: Synergizing Reasoning and Acting in Language Models" (arXiv:2210.03629).
    Deliberate change: the limit of rounds ends in a forced answer instead of none.
    """
    while run.transcript.length < rounds:
        reply = yield from run.ask(terms=Terms(must_act=must_act, rounds=rounds))
        if reply.answer:
            return Answer.of(reply)
        yield from run.use(reply)
    return (yield from run.conclude("rounds"))
