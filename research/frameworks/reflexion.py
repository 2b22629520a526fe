"""Reflexion: try, judge, reflect, try again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec.structs import replace

from research import defaults
from research.agent.context import Steps
from research.agent.run import Run
from research.agent.work import ANSWER, Call, Loop, Span, Work
from research.citations import check, cited
from research.errors import ConfigError, LimitReached, ProviderError
from research.events.events import Warned
from research.plugins import Range, framework
from research.text import clip, tokens
from research.types import FAILS, Answer

REFLECTIONS = 3
"""Number of latest reflections that an attempt sees, as in the paper."""
VERDICT = 500
"""Characters shown of the last verdict."""
TRAJECTORY = 12_000
"""Characters of a failed attempt that the reflection is based on."""


def _work(options: Mapping[str, Any]) -> Work:
    trials = options["trials"]
    judged = Span(1, trials) if options["evaluator"] == "self" else Span(0, 0)
    reflected = Span(0, trials - 1) if options["memory"] in ("reflexion", "both") else Span(0, 0)
    return [
        Loop(rounds=options["rounds"], agents=Span(1, trials), notes=3 * ANSWER.high),
        Call(purpose="evaluate", count=judged, reads=Span(50, 4_000)),
        Call(purpose="reflect", count=reflected, reads=Span(50, 4_000)),
    ]


@framework(
    "Reflexion",
    when="When a first try may fail and can be repeated.",
    note="applies inside each trial",
    purposes={"evaluate": "critic", "reflect": "critic"},
    work=_work,
    forkable=False,
    oracle={"evaluator": "gold"},
    told_by="gold",
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
    Deliberate change: when a verdict or reflection fails, the last attempt's answer is returned;
    when the last verdict is FAIL, the outcome is `rejected`.
    """
    if evaluator == "gold" and not gold.strip():
        raise ConfigError("framework.evaluator=gold needs the right answer: framework.gold=TEXT")
    reflections: tuple[str, ...] = ()
    for number in range(1, trials + 1):
        trial = run.child(f"trial-{number}", framework=defaults.FRAMEWORK, framework_options={"rounds": rounds})
        trial.remind(reflections)
        answer = yield from run.delegate(trial)
        try:
            problem = yield from _judge(run, answer, evaluator, gold)
            if not problem:
                break
            last = number == trials
            agent, which = (run.agent, "The last verdict") if last else (trial.agent, "The verdict on this attempt")
            text = f"{which} is FAIL: {clip(problem, VERDICT)}"
            yield from run.context.mark(Warned(agent=agent, kind="model", text=text))
            if last:
                return replace(answer, outcome="rejected" if answer.outcome == "answered" else answer.outcome)
            notes = yield from _reflect(run, trial, problem, memory)
        except (LimitReached, ProviderError):
            break
        reflections = tuple(notes) if memory == "last_trial" else (*reflections, *notes)[-REFLECTIONS:]
    return answer


def _reflect(run: Run, trial: Run, problem: str, memory: str) -> Steps[list[str]]:
    """Return the next attempt's view of this one."""
    notes = []
    if memory in ("last_trial", "both"):
        notes.append(clip(_trajectory(trial), TRAJECTORY // 4))
    if memory in ("reflexion", "both"):
        brief = run.brief("reflect", question=run.question, trajectory=_trajectory(trial), problem=problem)
        reply = yield from run.ask("reflect", messages=brief, tools=())
        notes.append(reply.answer)
    return notes


def _judge(run: Run, answer: Answer, evaluator: str, gold: str) -> Steps[str]:
    """Return the problem of an attempt; empty if it is good."""
    if evaluator == "gold":
        wanted, given = (f" {' '.join(tokens(text))} " for text in (gold, answer.text))
        return "" if wanted.strip() and wanted in given else "The answer is not the right one."
    if evaluator == "heuristic":
        return _problem(run, answer)
    quotes = "\n".join(f"[{source.n}] {source.title}: {source.quote}" for source in run.context.ledger.sources)
    brief = run.brief("evaluate", question=run.question, answer=answer.text, evidence=clip(quotes, TRAJECTORY))
    reply = yield from run.ask("evaluate", messages=brief, tools=())
    return "" if reply.answer.strip().lower().startswith(("pass", "通过")) else reply.answer


def _problem(run: Run, answer: Answer) -> str:
    """Return a problem that code can find: an early end, no sources, unsupported citations; empty if none."""
    if answer.outcome != "answered":
        return f"The attempt ended by its limit: {answer.outcome}."
    sources = run.context.ledger.sources
    if not set(cited(answer.text)) & {source.n for source in sources}:
        return "The answer cites no source that was seen."
    bad = [c.claim for c in check(answer.text, sources, run.context.computed) if c.status in FAILS]
    return f"Not supported by the source it cites: {bad[0]}" if bad else ""


def _trajectory(trial: Run) -> str:
    """Return the attempt as text; if it is too long, its end."""
    lines = []
    for interaction in trial.transcript.interactions:
        lines.append(f"Thought: {interaction.reply.thinking}")
        for call, seen in zip(interaction.reply.calls, interaction.observations, strict=False):
            lines.append(f"Action: {call.name} {call.arguments}\nObservation: {clip(seen.text, 500)}")
    return "\n".join(lines)[-TRAJECTORY:]
