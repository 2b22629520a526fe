"""ReWOO: plan once, gather all evidence, solve once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from research.agent import prompts
from research.agent.context import Steps
from research.agent.parsing import PlanStep, read_plan
from research.agent.parsing.calls import offered
from research.agent.run import Run
from research.agent.work import ANSWER, Call, Loop, Span, Work
from research.errors import FormatError, ProviderError
from research.plugins import Range, framework
from research.text import clip
from research.types import Answer, Reply, ToolCall, ToolSpec

LLM = ToolSpec(
    "LLM",
    "Ask the model itself about evidence that is named by its #E number.",
    {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
)


def _work(options: Mapping[str, Any]) -> Work:
    return [
        Call(purpose="plan", reads=Span(0, 1_000)),
        Call(purpose="worker", count=Span(0, 5), reads=Span(0, ANSWER.high)),
        Loop(rounds=1, purpose="solve", least=1, forced=0, earlier=Span(1, 12)),
    ]


@framework(
    "ReWOO",
    when="The plan is known: what to look up does not depend on what is found first.",
    note="shapes the evidence that the solver sees",
    refuses={"evolving": "ReWOO has no rounds between which a report could evolve"},
    purposes={"plan": "planner", "worker": "researcher", "solve": "writer"},
    steps=("plan", "solve"),
    work=_work,
    forkable=False,
)
def rewoo(run: Run, *, concurrency: Annotated[int, Range(1, 16), "Model workers at once."] = 5) -> Steps[Answer]:
    """One call plans all steps, tools gather the evidence, one call solves.  Cheap where the plan can be known ahead.

    Two model calls, plus one for each `LLM[...]` step, whatever the number of steps; steps that do not need each other
    run at the same time.  The context strategy shapes the evidence that the solver sees.
    Source: Xu et al. 2023, "ReWOO: Decoupling Reasoning from Observations" (arXiv:2305.18323).
    """
    tools = [*run.tools, LLM]
    listing = "\n".join(f"- {tool.name}[…]: {tool.description}" for tool in tools)
    brief = run.brief("rewoo_plan", question=run.question, tools=listing)
    reply = yield from run.ask("plan", messages=brief, tools=(), reads=lambda reply: _steps(reply, tools))
    steps = _steps(reply, tools)
    evidence: dict[str, str] = {}
    for wave in _waves(steps):
        ready = [msgspec.structs.replace(step, input=_filled(step.input, evidence)) for step in wave]
        looked_up = [step for step in ready if step.tool != LLM.name]
        if looked_up:
            calls = tuple(_call(run, step, evidence) for step in looked_up)
            why = "\n".join(f"#{step.id}: {step.why}" for step in looked_up)
            seen = yield from run.use(Reply(run.written(why, calls), calls=calls, reasoning=reply.reasoning))
            evidence |= {step.id: each.text for step, each in zip(looked_up, seen, strict=True)}
        asked = [step for step in ready if step.tool == LLM.name]
        answers = yield from run.together([_worker(run, step) for step in asked], concurrency)
        for step, answer in zip(asked, answers, strict=True):
            evidence[step.id] = answer
            run.add_round(Reply(text=f"#{step.id} = LLM[…]"), hint=answer)
    plan = "\n".join(f"Plan: {step.why}\n#{step.id} = {step.tool}[{step.input}]" for step in steps)
    reply = yield from run.ask("solve", extra=prompts.text("rewoo_solve", run.language, plan=plan), tools=())
    return Answer(reply.answer)


def _steps(reply: Reply, tools: Sequence[ToolSpec]) -> tuple[PlanStep, ...]:
    """Return the plan in a reply.  Raises `FormatError` if any step is invalid."""
    reading = read_plan(reply.answer, offered(tools))
    if reading.kind != "plan":
        raise FormatError(reading.message)
    return reading.steps


def _waves(steps: Sequence[PlanStep]) -> Iterator[list[PlanStep]]:
    """Yield groups of independent steps; references only point backwards, so this ends."""
    done: set[str] = set()
    remaining = list(steps)
    while remaining:
        wave = [step for step in remaining if done >= set(step.deps)]
        yield wave
        done |= {step.id for step in wave}
        remaining = [step for step in remaining if step not in wave]


def _filled(text: str, evidence: Mapping[str, str]) -> str:
    """Return the input with its references replaced by evidence; `#E1` does not match in `#E10`."""
    return re.sub(r"#(E\d+)", lambda match: evidence.get(match.group(1), match.group()), text)


def _call(run: Run, step: PlanStep, evidence: Mapping[str, str]) -> ToolCall:
    """Return a step as a call; its input is a JSON object, or the tool's first argument."""
    schema = next(tool for tool in run.tools if tool.name == step.tool).parameters
    names: list[str] = schema.get("required", []) or list(schema["properties"])
    arguments: dict[str, Any] = {names[0]: step.input} if names else {}
    try:
        given = json.loads(step.input)
        arguments = given if isinstance(given, dict) else arguments
    except json.JSONDecodeError:
        pass  # plain text, as in the paper
    if "url" in names and (
        found := re.search(r"<(\S{1,40}://\S{1,2000}?)>|(\S{1,40}://\S{1,2000})", str(arguments.get("url", "")))
    ):
        arguments["url"] = found.group(1) or found.group(2)
    if "query" in names:
        arguments["query"] = clip(str(arguments.get("query", "")), 300)
    if "goal" in names:
        arguments.setdefault("goal", run.question)
    return ToolCall(f"{run.agent.replace('/', '-')}-{step.id}", step.tool, arguments)


def _worker(run: Run, step: PlanStep) -> Steps[str]:
    """Return the evidence of an `LLM[...]` step; if the model fails, a note that there is none."""
    worker = run.child(step.id.lower())
    try:
        reply = yield from worker.ask("worker", messages=worker.brief("worker", task=step.input), tools=())
    except ProviderError as error:
        return f"(no evidence: {error})"
    return reply.answer
