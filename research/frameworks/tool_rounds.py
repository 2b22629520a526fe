"""Native multi-round tool calling: one framework whose options cover three published systems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from research import plugins
from research.agent.context import Steps
from research.agent.model_call import Terms
from research.agent.run import Run
from research.agent.work import Loop, Work
from research.plugins import Range, framework
from research.text import numbers
from research.types import Answer, ToolSpec


def _work(options: Mapping[str, Any]) -> Work:
    return [Loop(rounds=options["rounds"], largest=3 * options["max_tokens"])]


@framework("Tool rounds", when="For a strong language model that knows how to use tools.", work=_work)
def tool_rounds(
    run: Run,
    *,
    rounds: Annotated[int, Range(1, 2048), "Rounds with tools before the last call without them."] = 10,
    max_tokens: Annotated[
        int, Range(1000, 1_000_000), "Prompt size in tokens; at three times as much the loop ends."
    ] = 32_000,
    adaptive: Annotated[bool, "Fewer rounds for simple questions, up to the limit for complex ones."] = False,
    fail_fast: Annotated[bool, "A failed tool ends the loop; the answer knows about the error."] = False,
    offer: Annotated[Literal["all", "search first"], "Tools offered in the first round."] = "all",
    ask: Annotated[bool, "The agent may ask you for what is missing, and waits for your reply."] = True,
) -> Steps[Answer]:
    """Loop while the model calls tools, several at once; it stops by itself, at the limit, or to ask you.

    Sources: Agentica's multi-round agent (`rounds=10`, stop at 3 x max_tokens, reasoning kept); sequential tool rounds
    for Claude (`rounds=2, fail_fast=True`: tools in every middle call, none in the last).
    Deliberate changes: the forced last answer is a request of its own, and the calls of a round run in parallel.
    """
    if not ask:
        run.ask_nobody()
    limit = min(rounds, 2 + 2 * _complexity(run.question)) if adaptive else rounds
    while run.transcript.length < limit:
        if run.prompt_tokens > 3 * max_tokens:
            return (yield from run.conclude("tokens"))
        reply = yield from run.ask(tools=_offered(run, offer), terms=Terms(rounds=limit))
        if reply.answer:
            return Answer.of(reply)
        observations = yield from run.use(reply)
        if fail_fast and not all(seen.ok for seen in observations):
            return (yield from run.conclude("tool_errors"))
    return (yield from run.conclude("rounds"))


def _complexity(question: str) -> int:
    """Return a rough count of what has to be looked up: clauses, and numbers such as years."""
    clauses = len(re.findall(r"[,;，；、]|\b(?:and|or|than|versus|vs|compared)\b|和|与|比", question))
    return 1 + clauses + len(set(numbers(question)))


def _offered(run: Run, offer: str) -> list[ToolSpec] | None:
    if offer == "search first" and run.transcript.length == 0:
        traits = [(tool, plugins.tool.traits(tool.name)) for tool in run.tools]
        return [tool for tool, has in traits if has.searches and not has.scholar] or None
    return None
