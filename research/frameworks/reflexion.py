"""Reflexion: try, judge, reflect, try again."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from research.citations import check, cited
from research.errors import ConfigError, LimitReached, ProviderError
from research.registry import Range, framework
from research.run import Run, Steps
from research.text import clip, tokens
from research.types import Answer

KEPT = 3
"""Reflections that are remembered: the last three, as in the paper."""
TRAJECTORY = 12_000
"""Characters of a failed trial that the reflection is written from."""


@framework(
    "Reflexion", inner="react", when="A failed try can be told from a good one, and there is budget to try again."
)
def reflexion(
    run: Run,
    *,
    trials: Annotated[int, Range(1, 10), "Attempts at most."] = 3,
    rounds: Annotated[int, Range(1, 100), "Rounds of each attempt."] = 15,
    evaluator: Annotated[
        Literal["self", "heuristic", "gold"], "Who judges an attempt; gold is an oracle, for evaluation."
    ] = "heuristic",
    memory: Annotated[
        Literal["none", "last_trial", "reflexion", "both"], "What the next attempt is told of the last ones."
    ] = "reflexion",
    gold: Annotated[str, "The right answer, for the gold evaluator."] = "",
) -> Steps[Answer]:
    """A ReAct attempt, a verdict, a verbal reflection, and another attempt that has read it.  Where retries are allowed.

    Source: Shinn et al. 2023, "Reflexion: Language Agents with Verbal Reinforcement Learning" (arXiv:2303.11366).
    Deliberate change: when no verdict or reflection is to be had, the last attempt's answer stands.
    """
    if evaluator == "gold" and not gold.strip():
        raise ConfigError("framework.evaluator=gold needs the right answer: framework.gold=TEXT")
    reflections: tuple[str, ...] = ()
    for number in range(1, trials + 1):
        trial = run.child(f"trial-{number}", framework="react", framework_options={"rounds": rounds})
        trial.transcript = msgspec.structs.replace(trial.transcript, reflections=reflections)
        answer = yield from run.delegate(trial)
        try:
            problem = yield from _judge(run, answer, evaluator, gold)
            if not problem or number == trials:
                break
            told = yield from _reflect(run, trial, problem, memory)
        except (LimitReached, ProviderError):
            break
        reflections = tuple(told) if memory == "last_trial" else (*reflections, *told)[-KEPT:]
    return answer


def _reflect(run: Run, trial: Run, problem: str, memory: str) -> Steps[list[str]]:
    """What the next attempt is told of this one."""
    told = []
    if memory in ("last_trial", "both"):
        told.append(clip(_trajectory(trial), TRAJECTORY // 4))
    if memory in ("reflexion", "both"):
        brief = run.brief("reflect", question=run.question, trajectory=_trajectory(trial), problem=problem)
        reply = yield from run.ask("reflect", messages=brief, tools=())
        told.append(reply.answer)
    return told


def _judge(run: Run, answer: Answer, evaluator: str, gold: str) -> Steps[str]:
    """What is wrong with an attempt; empty when it will do."""
    if evaluator == "gold":
        wanted, given = (f" {' '.join(tokens(text))} " for text in (gold, answer.text))
        return "" if wanted.strip() and wanted in given else "The answer is not the right one."
    if evaluator == "heuristic":
        return _problem(run, answer)
    quotes = "\n".join(f"[{source.n}] {source.title}: {source.quote}" for source in run.shared.ledger.sources)
    brief = run.brief("evaluate", question=run.question, answer=answer.text, evidence=clip(quotes, TRAJECTORY))
    reply = yield from run.ask("evaluate", messages=brief, tools=())
    return "" if reply.answer.strip().lower().startswith(("pass", "通过")) else reply.answer


def _problem(run: Run, answer: Answer) -> str:
    """What code alone can see: an early end, no evidence, citations that do not hold."""
    if answer.outcome != "answered":
        return f"The attempt ended by its limit: {answer.outcome}."
    sources = run.shared.ledger.sources
    if not set(cited(answer.text)) & {source.n for source in sources}:
        return "The answer cites no source that was seen."
    bad = [c.claim for c in check(answer.text, sources, run.computed) if c.status in ("unsupported", "dead")]
    return f"Not supported by the source it cites: {bad[0]}" if bad else ""


def _trajectory(trial: Run) -> str:
    """The attempt in words, its end kept when it is too long."""
    lines = []
    for interaction in trial.transcript.interactions:
        lines.append(f"Thought: {interaction.reply.thinking}")
        for call, seen in zip(interaction.reply.calls, interaction.observations, strict=False):
            lines.append(f"Action: {call.name} {call.arguments}\nObservation: {clip(seen.text, 500)}")
    return "\n".join(lines)[-TRAJECTORY:]
