"""ReWOO: plan once, gather all evidence, solve once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from research import prompts
from research.errors import FormatError, ProviderError
from research.parsing import PlanStep, read_plan
from research.parsing.calls import offered
from research.registry import Range, framework
from research.run import Run, Steps
from research.text import clip
from research.transcript import Interaction
from research.types import Answer, Reply, ToolCall, ToolSpec

LLM = ToolSpec(
    "LLM",
    "Ask the model itself about evidence that is named by its #E number.",
    {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
)


@framework("ReWOO", loop=False, when="The plan is known: what to look up does not depend on what is found first.")
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
            run.transcript = run.transcript.add(Interaction(Reply(text=f"#{step.id} = LLM[…]"), hint=answer))
    plan = "\n".join(f"Plan: {step.why}\n#{step.id} = {step.tool}[{step.input}]" for step in steps)
    reply = yield from run.ask("solve", extra=prompts.text("rewoo_solve", run.language, plan=plan), tools=())
    return Answer(reply.answer)


def _steps(reply: Reply, tools: Sequence[ToolSpec]) -> tuple[PlanStep, ...]:
    """The plan in a reply.  Raises `FormatError`: nothing runs before the whole plan is sound."""
    reading = read_plan(reply.answer, offered(tools))
    if reading.kind != "plan":
        raise FormatError(reading.message)
    return reading.steps


def _waves(steps: Sequence[PlanStep]) -> Iterator[list[PlanStep]]:
    """Steps in groups that need nothing of each other; references only point backwards, so this ends."""
    done: set[str] = set()
    left = list(steps)
    while left:
        wave = [step for step in left if done >= set(step.deps)]
        yield wave
        done |= {step.id for step in wave}
        left = [step for step in left if step not in wave]


def _filled(text: str, evidence: Mapping[str, str]) -> str:
    """The input with the evidence it names; `#E1` is not the beginning of `#E10`."""
    return re.sub(r"#(E\d+)", lambda match: evidence.get(match.group(1), match.group()), text)


def _call(run: Run, step: PlanStep, evidence: Mapping[str, str]) -> ToolCall:
    """A step as a call: its input is a JSON object, or the tool's first argument."""
    schema = next(tool for tool in run.tools if tool.name == step.tool).parameters
    names: list[str] = schema.get("required", []) or list(schema["properties"])
    arguments: dict[str, Any] = {names[0]: step.input} if names else {}
    try:
        given = json.loads(step.input)
        arguments = given if isinstance(given, dict) else arguments
    except json.JSONDecodeError:
        pass  # plain words, as in the paper
    if "url" in names and (found := re.search(r"<(\S+://\S+?)>|(\S+://\S+)", str(arguments.get("url", "")))):
        arguments["url"] = found.group(1) or found.group(2)
    if "query" in names:
        arguments["query"] = clip(str(arguments.get("query", "")), 300)
    if "goal" in names:
        arguments.setdefault("goal", run.question)
    return ToolCall(f"{run.agent.replace('/', '-')}-{step.id}", step.tool, arguments)


def _worker(run: Run, step: PlanStep) -> Steps[str]:
    """The evidence of an `LLM[...]` step; that there is none is evidence too."""
    worker = run.child(step.id.lower())
    try:
        reply = yield from worker.ask("worker", messages=worker.brief("worker", task=step.input), tools=())
    except ProviderError as error:
        return f"(no evidence: {error})"
    return reply.answer
