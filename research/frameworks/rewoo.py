"""ReWOO: plan once, gather all evidence, solve once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from research import prompts
from research._util.said import say
from research.agent.context import Steps
from research.agent.run import Run
from research.agent.tool_calls import MOST_CALLS
from research.agent.work import ANSWER, Call, Loop, Span, Work
from research.errors import FormatError, LimitReached, ProviderError
from research.parsing import PlanStep, read_plan
from research.parsing.calls import offered
from research.parsing.relaxed import Malformed, decode_all
from research.plugins import Range, framework
from research.text import clip
from research.types import Answer, Reply, ToolCall, ToolSpec

LLM = ToolSpec(
    "LLM",
    "Ask the model itself about evidence that is named by its #E number.",
    {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
)
_NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?")


def _work(options: Mapping[str, Any]) -> Work:
    return [
        Call(purpose="plan", reads=Span(0, 1_000)),
        Call(purpose="worker", count=Span(0, 5), reads=Span(0, ANSWER.high)),
        *([Call(purpose="replan", count=Span(0, 2), reads=Span(0, 2_000))] if options["replan"] else []),
        Loop(rounds=1, purpose="solve", least=1, forced=0, earlier=Span(1, 12)),
    ]


@framework(
    "ReWOO",
    when="When it is clear at once what to look up; needs few requests.",
    note="shapes the evidence that the solver sees",
    refuses={"evolving": "ReWOO has no rounds between which a report could evolve"},
    purposes={"plan": "planner", "replan": "planner", "worker": "researcher", "solve": "writer"},
    steps=("plan", "solve"),
    work=_work,
    forkable=False,
)
def rewoo(
    run: Run,
    *,
    concurrency: Annotated[int, Range(1, 16), "Model workers at once."] = 5,
    replan: Annotated[bool, "A step that fails is planned again, alone, by one more request."] = True,
) -> Steps[Answer]:
    """One call plans all steps, tools gather the evidence, one call solves.  Cheap where the plan can be known ahead.

    Two model calls, plus one for each `LLM[...]` step and each failed one, whatever the number of steps; steps that do
    not need each other run at the same time.  The context strategy shapes the evidence that the solver sees.
    Source: Xu et al. 2023, "ReWOO: Decoupling Reasoning from Observations" (arXiv:2305.18323).
    Deliberate change: a failed step is planned again once, because later steps build on its evidence.
    """
    tools = [*run.tools, run.worded(LLM)]
    system, task = run.brief("rewoo_plan", question=run.question, tools=_listing(tools))
    brief = [msgspec.structs.replace(system, content=system.content + run.budget()), task]
    reply = yield from run.ask("plan", messages=brief, tools=(), reads=lambda reply: _steps(reply, tools))
    steps = list(_steps(reply, tools))
    evidence: dict[str, str] = {}
    for wave in _waves(steps):
        looked_up = [step for step in wave if step.tool != LLM.name]
        failed = yield from _look_up(run, looked_up, evidence, reply)
        for step in failed if replan else ():
            better = yield from _planned_again(run, step, evidence, tools)
            if better:
                steps[steps.index(step)] = better
                yield from _look_up(run, [better], evidence, reply, attempt="-again")
        asked = [step for step in wave if step.tool == LLM.name]
        answers = yield from run.together([_worker(run, step, evidence) for step in asked], concurrency)
        for step, answer in zip(asked, answers, strict=True):
            evidence[step.id] = answer
            run.add_round(Reply(text=f"#{step.id} = LLM[…]"), hint=answer)
    plan = "\n".join(f"Plan: {step.why}\n{_written(step)}" for step in steps)
    run.offer(())
    reply = yield from run.ask("solve", extra=prompts.text("rewoo_solve", run.language, plan=plan))
    return Answer.of(reply)


def _listing(tools: Sequence[ToolSpec]) -> str:
    return "\n".join(f"- {tool.name}[…]: {tool.description}" for tool in tools)


def _written(step: PlanStep) -> str:
    return f"#{step.id} = {step.tool}[{step.input}]"


def _steps(reply: Reply, tools: Sequence[ToolSpec]) -> tuple[PlanStep, ...]:
    """Return the plan in a reply.  Raises `FormatError` if any step is invalid."""
    reading = read_plan(reply.answer, offered(tools))
    if reading.kind != "plan":
        raise FormatError(reading.message)
    return reading.steps


def _waves(steps: Sequence[PlanStep]) -> Iterator[list[PlanStep]]:
    """Yield groups of independent steps, as many as one reply may call; references only point backwards, so this ends."""
    done: set[str] = set()
    remaining = list(steps)
    while remaining:
        wave = [step for step in remaining if done >= set(step.deps)][:MOST_CALLS]
        yield wave
        done |= {step.id for step in wave}
        remaining = [step for step in remaining if step not in wave]


def _look_up(
    run: Run, steps: Sequence[PlanStep], evidence: dict[str, str], plan: Reply, attempt: str = ""
) -> Steps[list[PlanStep]]:
    """Run the steps' tools at once and add their evidence; return the steps that failed."""
    if not steps:
        return []
    calls = tuple(_call(run, step, evidence, attempt) for step in steps)
    why = "\n".join(f"#{step.id}: {step.why}" for step in steps)
    seen = yield from run.use(Reply(run.written(why, calls), calls=calls, reasoning=plan.reasoning))
    evidence |= {step.id: each.text for step, each in zip(steps, seen, strict=True)}
    return [step for step, each in zip(steps, seen, strict=True) if not each.ok]


def _planned_again(
    run: Run, step: PlanStep, evidence: Mapping[str, str], tools: Sequence[ToolSpec]
) -> Steps[PlanStep | None]:
    """Return a step to replace a failed one, by a separate request; None if the model names none."""
    callable_tools = [tool for tool in tools if tool.name != LLM.name]
    known = [f"#{name}: {clip(text, 500)}" for name, text in evidence.items() if name != step.id]
    planner = run.child(f"{step.id.lower()}-again")
    brief = planner.brief(
        "rewoo_replan", question=run.question, tools=_listing(callable_tools), step=_written(step),
        error=clip(evidence[step.id], 1_000), evidence=prompts.escape("\n".join(known)) or "-",
    )  # fmt: skip

    def read(reply: Reply) -> PlanStep:
        # Earlier evidence is not in this reply, so it is given as steps that references can point at.
        done = "".join(f"#{name} = {LLM.name}[-]\n" for name in evidence if name != step.id)
        found = _steps(msgspec.structs.replace(reply, answer=done + reply.answer), [*callable_tools, LLM])[-1]
        if found.id != step.id or found.tool == LLM.name:
            raise FormatError(say("The reply is not one step of the form #{id} = tool[input].", id=step.id))
        return found

    try:
        reply = yield from planner.ask("replan", messages=brief, tools=(), reads=read)
    except ProviderError:
        return None  # the failed step's error stays its evidence
    except LimitReached as limit:
        if limit.limit != "failed":
            raise
        return None
    return read(reply)


def _filled(value: Any, evidence: Mapping[str, str]) -> Any:
    """Return a value with its references replaced by evidence; `#E1` does not match in `#E10`."""
    if isinstance(value, dict):
        return {name: _filled(each, evidence) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, evidence) for each in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"[#＃](E\d+)", lambda match: evidence.get(match.group(1), match.group()), value)


def _in_code(code: str, evidence: Mapping[str, str]) -> str:
    """Return Python code with its references replaced by a number, or else by a string that holds the evidence."""

    def literal(match: re.Match[str]) -> str:
        text = evidence.get(match[2], match[0]).strip()
        return text.replace(",", "") if _NUMBER.fullmatch(text) and not match[1] else repr(text)

    return re.sub(r"(\"{3}|'{3}|[\"'])?[#＃](E\d+)(?(1)\1)", literal, code)


def _arguments(step: PlanStep, spec: ToolSpec) -> dict[str, Any]:
    """Return a step's input as arguments: a JSON object naming any of them, or else the text as the first."""
    known = spec.parameters.get("properties", {})
    names: list[str] = spec.parameters.get("required", []) or list(known)
    try:
        given = decode_all(step.input)
    except Malformed:
        given = None  # plain text, as in the paper
    if isinstance(given, dict) and (not names or given.keys() & known.keys()):
        return given
    return {names[0]: step.input} if names else {}


def _call(run: Run, step: PlanStep, evidence: Mapping[str, str], attempt: str = "") -> ToolCall:
    """Return a step as a call, with evidence filled into its arguments."""
    spec = next(tool for tool in run.tools if tool.name == step.tool)
    given = _arguments(step, spec)
    arguments: dict[str, Any] = {
        name: _in_code(value, evidence) if name == "code" and isinstance(value, str) else _filled(value, evidence)
        for name, value in given.items()
    }
    names = spec.parameters.get("properties", {})
    if "url" in names and (
        found := re.search(r"<(\S{1,40}://\S{1,2000}?)>|(\S{1,40}://\S{1,2000})", str(arguments.get("url", "")))
    ):
        arguments["url"] = found.group(1) or found.group(2)
    if "query" in names:
        arguments["query"] = clip(str(arguments.get("query", "")), 300)
    if "goal" in names:
        arguments.setdefault("goal", run.question)
    return ToolCall(f"{run.agent.replace('/', '-')}-{step.id}{attempt}", step.tool, arguments)


def _worker(run: Run, step: PlanStep, evidence: Mapping[str, str]) -> Steps[str]:
    """Return the evidence of an `LLM[...]` step; if the model fails, a note that there is none."""
    worker = run.child(step.id.lower())
    task = str(_filled(_arguments(step, LLM).get("prompt", step.input), evidence))
    try:
        reply = yield from worker.ask("worker", messages=worker.brief("worker", task=task), tools=())
    except ProviderError as error:
        return f"(no evidence: {error})"
    return reply.answer
