"""Parallel sampling and synthesis."""

from __future__ import annotations

from typing import Annotated, Literal

from research.citations import cited
from research.errors import LimitReached, ProviderError
from research.registry import Range, framework
from research.run import Run, Steps
from research.text import clip
from research.types import Answer


@framework("Parallel sampling", inner="branch", when="The answer must be reliable, and may cost several times as much.")
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

    Agreement is a hint, not a vote; runs that fail are dropped and counted.  When the budget leaves no synthesis, the
    first answer with a source stands.
    Source: the Research-Synthesis mode of Tongyi DeepResearch (arXiv:2510.24701).
    """
    context = "evolving" if branch == "iter_research" else run.recipe.context
    # Nobody could answer several runs that ask at once.
    options = {"rounds": rounds, "ask": False} if branch == "tool_rounds" else {"rounds": rounds}
    children = [
        run.child(
            f"run-{number}", framework=branch, context=context, framework_options=options,
            context_options=run.recipe.context_options if context == run.recipe.context else {},
            temperature=spread * (number - 1) / (n - 1) if spread else run.recipe.temperature,
        )
        for number in range(1, n + 1)
    ]  # fmt: skip
    answers = yield from run.together([_branch(run, child) for child in children], concurrency)
    good = [(child, answer) for child, answer in zip(children, answers, strict=True) if answer is not None]
    if not good:
        return Answer(run.known(), "failed")
    candidates = "\n\n".join(
        f'<candidate n="{number}" outcome="{answer.outcome}">\n{_shown(child, answer, sees, k)}\n</candidate>'
        for number, (child, answer) in enumerate(good, 1)
    )
    brief = run.brief(
        "synthesise", question=run.question, candidates=candidates, finished=str(len(good)), failed=str(n - len(good))
    )
    try:
        reply = yield from run.ask("synthesise", messages=brief, tools=())
    except (LimitReached, ProviderError) as error:
        first = next((answer for _, answer in good if cited(answer.text)), good[0][1])
        return Answer(first.text, error.limit if isinstance(error, LimitReached) else "failed")
    return Answer(reply.answer)


def _branch(run: Run, child: Run) -> Steps[Answer | None]:
    try:
        return (yield from run.delegate(child))
    except ProviderError:
        return None  # counted by the caller; the others go on


def _shown(child: Run, answer: Answer, sees: str, k: int) -> str:
    """A run as the synthesis sees it: never the whole trajectory."""
    if sees == "last-k":
        steps = [
            f"{call.name} {call.arguments}\n{clip(seen.text, 1000)}"
            for interaction in child.transcript.interactions[-k:]
            for call, seen in zip(interaction.reply.calls, interaction.observations, strict=False)
        ]
        return "\n".join([*steps, f"Answer: {answer.text}"])
    return "\n".join(filter(None, [child.transcript.report, f"Answer: {answer.text}"]))
