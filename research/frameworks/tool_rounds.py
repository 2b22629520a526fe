"""Native multi-round tool calling: one framework whose options cover three published systems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from research.agent.context import Steps
from research.agent.run import Run
from research.agent.work import Loop, Work
from research.plugins import Range, framework
from research.text import numbers
from research.types import Answer, Reply, ToolSpec


def _work(options: Mapping[str, Any]) -> Work:
    return [Loop(rounds=options["rounds"], largest=3 * options["max_tokens"])]


@framework("Tool rounds", when="The model calls tools well by itself, and may ask you for what is missing.", work=_work)
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
    for Claude (`rounds=2, fail_fast=True`: tools in every middle call, none in the last); ToolAgentBase (clarify or act).
    Deliberate changes: the forced last answer is a request of its own, and the calls of a round run in parallel.
    """
    limit = min(rounds, 2 + 2 * _complexity(run.question)) if adaptive else rounds
    while run.transcript.length < limit:
        if run.prompt_tokens > 3 * max_tokens:
            return (yield from run.conclude("tokens"))
        reply = yield from run.ask(tools=_offered(run, offer))
        if reply.answer:
            if ask and asks_user(reply):
                yield from run.ask_user(reply)
                continue
            return Answer(reply.answer)
        observations = yield from run.use(reply)
        if fail_fast and not all(seen.ok for seen in observations):
            return (yield from run.conclude("tool_errors"))
    return (yield from run.conclude("rounds"))


def asks_user(reply: Reply) -> bool:
    """Return whether a reply without calls asks the user for something instead of answering.

    It must end with a question or request information.  Long or cited answers do not count, nor do offers to do more.
    """
    text = reply.answer.strip()
    if len(text) > 600 or re.search(r"\[\d+\]", text):
        return False
    last = re.split(r"(?<=[.!?。！？])\s*", text.rstrip("\"'”」) "))[-1] or text
    asks = last.rstrip().endswith(("?", "？")) and _OFFER.search(last) is None
    return asks or _PLEA.search(text) is not None


_OFFER = re.compile(
    r"\b(?:would you like|do you want me|shall I|can I help|anything else|want to know more)\b|"
    r"还(?:需要|想|有)|需要我|要我|要不要",
    re.IGNORECASE,
)
_PLEA = re.compile(
    r"\b(?:please (?:tell|specify|provide|clarify|let me know|give me)|could you (?:tell|specify|clarify)|which one do you mean|"
    r"I need (?:to know|more)|let me know (?:which|what|where|when))\b|请(?:问|告诉|提供|说明|明确|指定)",
    re.IGNORECASE,
)


def _complexity(question: str) -> int:
    """Return a rough count of what has to be looked up: clauses, and numbers such as years."""
    clauses = len(re.findall(r"[,;，；、]|\b(?:and|or|than|versus|vs|compared)\b|和|与|比", question))
    return 1 + clauses + len(set(numbers(question)))


def _offered(run: Run, offer: str) -> list[ToolSpec] | None:
    if offer == "search first" and run.transcript.length == 0:
        return [tool for tool in run.tools if tool.name == "search"] or None
    return None
