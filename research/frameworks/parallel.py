"""Parallel sampling and synthesis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec.structs import replace

from research.agent.context import Steps
from research.agent.run import Run
from research.agent.work import ANSWER, Call, Loop, Span, Work, work_of
from research.citations import cited
from research.errors import LimitReached, ProviderError
from research.parsing.answer_account import with_account
from research.plugins import Range, framework
from research.text import clip
from research.types import Answer


def _context_of(branch: str) -> str:
    """Return the strategy that a branch requires; empty: the recipe's."""
    entry = framework.get(branch)
    return entry.default_context if entry.writes_report else ""


def _work(options: Mapping[str, Any]) -> Work:
    n, branch = options["n"], framework.get(options["branch"])
    inner = work_of(branch, branch.filled({"rounds": options["rounds"]}))
    context = _context_of(branch.id)
    each = [part for part in inner if isinstance(part, Loop)]
    return [
        *(replace(part, agents=Span(n, n), context=context) for part in each),
        Call(purpose="synthesise", reads=Span(n * 10, n * 2 * ANSWER.high)),
    ]


@framework(
    "Parallel sampling",
    when="When the answer must be reliable, at several times the cost.",
    note="applies inside each run; runs of IterResearch always use the evolving report",
    purposes={"synthesise": "writer"},
    work=_work,
    forkable=False,
)
def parallel(
    run: Run,
    *,
    n: Annotated[int, Range(2, 16), "Independent runs."] = 3,
    branch: Annotated[Literal["iter_research", "react", "tool_rounds"], "Framework of each run."] = "iter_research",
    rounds: Annotated[int, Range(1, 100), "Rounds of each run."] = 15,
    spread: Annotated[float, Range(0, 2), "Temperatures of the runs, from 0 up to this; 0 leaves them alone."] = 0.0,
    sees: Annotated[
        Literal["report", "last-k"], "What the synthesis sees of a run: its report, or its last steps."
    ] = "report",
    k: Annotated[int, Range(1, 20), "Last steps shown with `last-k`."] = 3,
    concurrency: Annotated[int, Range(1, 16), "Runs at once."] = 4,
) -> Steps[Answer]:
    """Several independent runs on one budget; one call reads only their reports and answers and decides.  For reliability.

    Agreement is a hint, not a vote; runs that fail are dropped and counted.  When the budget allows no synthesis, the
    first answer that cites a source is returned.
    Source: the Research-Synthesis mode of Tongyi DeepResearch (arXiv:2510.24701).
    """
    context = _context_of(branch) or run.recipe.context
    children = [
        run.child(
            f"run-{number}",
            framework=branch,
            context=context,
            framework_options={"rounds": rounds},
            context_options=run.recipe.context_options if context == run.recipe.context else {},
            temperature=spread * (number - 1) / (n - 1) if spread else run.recipe.temperature,
        )
        for number in range(1, n + 1)
    ]
    answers = yield from run.together([_branch(run, child) for child in children], concurrency)
    good = [(child, answer) for child, answer in zip(children, answers, strict=True) if answer is not None]
    if not good:
        return Answer(run.known(), "failed")
    candidates = "\n\n".join(
        f'<candidate n="{number}" outcome="{answer.outcome}">\n{_excerpt(child, answer, sees, k)}\n</candidate>'
        for number, (child, answer) in enumerate(good, 1)
    )
    brief = run.brief(
        "synthesise", question=run.question, candidates=candidates, finished=str(len(good)), failed=str(n - len(good))
    )
    try:
        reply = yield from run.ask("synthesise", messages=brief, tools=())
    except (LimitReached, ProviderError) as error:
        first = next((answer for _, answer in good if cited(answer.text)), good[0][1])
        return replace(first, outcome=error.limit if isinstance(error, LimitReached) else "failed", report="")
    return Answer.of(reply)


def _branch(run: Run, child: Run) -> Steps[Answer | None]:
    try:
        return (yield from run.delegate(child))
    except ProviderError:
        return None  # the caller counts the failure; other runs continue


def _excerpt(child: Run, answer: Answer, sees: str, k: int) -> str:
    """Return the synthesis's view of a run: its last steps or report, and its answer."""
    last = f"Answer: {with_account(answer.text, answer.short, answer.parts)}"
    if sees == "last-k":
        steps = [
            f"{call.name} {call.arguments}\n{clip(seen.text, 1000)}"
            for interaction in child.transcript.interactions[-k:]
            for call, seen in zip(interaction.reply.calls, interaction.observations, strict=False)
        ]
        return "\n".join([*steps, last])
    return "\n".join(filter(None, [child.transcript.report, last]))
