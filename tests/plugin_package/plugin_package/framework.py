"""A framework: search once, then answer, as often as wished."""

from __future__ import annotations

from typing import Annotated

from research.agent.context import Steps
from research.agent.run import Run
from research.plugins import Range, framework
from research.types import Answer


@framework("Echo twice", when="A test needs a framework of another package.", prompt="echo")
def echo_twice(run: Run, *, rounds: Annotated[int, Range(1, 100), "Rounds before the answer."] = 30) -> Steps[Answer]:
    """Ask the model, use the tools it calls, and answer with its last words."""
    while run.transcript.length < rounds:
        reply = yield from run.ask()
        if reply.answer:
            return Answer(reply.answer)
        yield from run.use(reply)
    return (yield from run.conclude("rounds"))
