"""Driving a run to its one terminal event, and judging how it ended."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator

import msgspec

from research import prompts
from research.citations import check, cited, clean, uncited
from research.citations.judge import JUDGE_SCHEMA, doubtful, judge_messages, judged
from research.errors import ConfigError, LimitReached, NeedsInput, ProviderError, Rests, Stopped
from research.events import Event, Paused, RunFailed, RunFinished, RunStarted, Warned
from research.remembering import keep, recall
from research.run import Run, Steps
from research.text import clip
from research.types import Answer, Citation, Outcome, Status, ToolCall
from research.view import fold

TRIED = 20
"""Calls that a run without any source lists."""


def execute(run: Run, run_id: str, saved: Callable[[], Iterable[Event]] = list) -> Iterator[Event]:
    """Drive a run to its one terminal event, or to a rest; the events come stamped with run, seq and time.

    `saved` gives all events of the run that are on record.
    """
    seq = run.shared.journal.next_seq
    for event in _life(run):
        before = _kept(run, run_id, saved, event) if isinstance(event, RunFinished) else ()
        for each in (*before, event):
            yield msgspec.structs.replace(each, run=run_id, seq=seq, time=time.time())
            seq += 1


def _kept(run: Run, run_id: str, saved: Callable[[], Iterable[Event]], finished: RunFinished) -> Iterator[Event]:
    """What the memory keeps of the run, where its recipe wants that."""
    if run.recipe.remember == "off":
        return
    try:
        last = msgspec.structs.replace(finished, run=run_id, time=time.time())
        yield from keep(run, fold([*saved(), last]))
    except Exception as error:  # noqa: BLE001 - the answer is there, whatever goes wrong while it is learned from
        yield Warned(kind="memory", text=f"Nothing was kept in the memory: {type(error).__name__}: {error}")


def _life(run: Run) -> Iterator[Event]:
    yield from run.mark(RunStarted(question=run.question, recipe=run.recipe, earlier=run.shared.journal.earlier))
    for text in run.shared.notices:
        yield from run.mark(Warned(kind="tool", text=text))
    try:
        yield from recall(run)
        answer = yield from run.work()
    except (NeedsInput, Rests) as rest:
        if not run.shared.stop.is_set():  # of branches the first to rest is heard, and another may have been stopped
            if isinstance(rest, Rests):
                yield Paused(reason=rest.reason)
            return
        answer = Answer(run.known(), "stopped")
    except Stopped:
        answer = Answer(run.known(), "stopped")
    except (ConfigError, ProviderError) as error:
        yield RunFailed(error=str(error), traceback="")
        answer = Answer(f"{error}\n\n{run.known()}", "failed")
    except Exception as error:  # noqa: BLE001 - the last stop: the run ends as failed, with its traceback on record
        yield RunFailed(error=f"{type(error).__name__}: {error}", traceback=traceback.format_exc())
        answer = Answer(run.known(), "failed")
    try:
        finished = yield from _finish(run, answer)
    except Rests as rest:
        yield Paused(reason=rest.reason)
        return
    except Exception as error:  # noqa: BLE001 - the words are kept whatever goes wrong while they are judged
        yield RunFailed(error=f"the report could not be checked: {error}", traceback=traceback.format_exc())
        report = answer.report or answer.text
        finished = RunFinished(
            status="failed", outcome="failed", answer=answer.text, report=report, seconds=run.shared.meter.seconds
        )  # fmt: skip
    yield finished


def _finish(run: Run, answer: Answer) -> Steps[RunFinished]:
    """Judge the answer: what cites no source that was seen is not research, and is not presented as such."""
    sources, said = run.shared.ledger.sources, "\n".join(run.shared.words)
    outcome = answer.outcome
    text, removed = clean(answer.text, sources, said)
    report, more = clean(answer.report, sources, said)
    removed = tuple(dict.fromkeys([*removed, *more]))
    if outcome not in ("stopped", "failed") and not {source.n for source in sources} & set(cited(report or text)):
        if not sources:
            tried = run.shared.tried
            outcome = "tool_errors" if tried and not any(seen.ok for _, seen in tried) else "no_evidence"
            text, report = _nothing_seen(run, outcome, text), ""
        else:
            outcome = "no_evidence" if outcome == "answered" else outcome
            text = prompts.text("uncited", run.language) + "\n\n" + text
    embedder = run.shared.embedder() if run.shared.embedder and sources else None
    citations = check(report or text, sources, run.computed, embedder)
    if outcome not in ("stopped", "failed"):
        citations = yield from _judged(run, citations)
    statuses: dict[str, Status] = {"stopped": "stopped", "failed": "failed"}
    return RunFinished(
        status=statuses.get(outcome, "completed"),
        outcome=outcome,
        answer=text,
        report=report or text,
        citations=citations,
        uncited=uncited(report or text, run.question, run.computed) if sources else (),
        removed=removed,
        seconds=run.shared.meter.seconds,
    )


def _judged(run: Run, citations: tuple[Citation, ...]) -> Steps[tuple[Citation, ...]]:
    """The doubtful verdicts as a model sees them, where the recipe names one for it; a failed judge changes nothing."""
    batch = doubtful(citations)
    if not batch or not {"judge", "verify"} & run.recipe.roles.keys():
        return citations
    try:
        messages = judge_messages(batch, run.shared.ledger.sources)
        reply = yield from run.ask("verify", messages=messages, tools=(), schema=JUDGE_SCHEMA)
    except (LimitReached, ProviderError, Stopped):
        return citations
    except Rests as rest:
        if rest.reason:  # the judge cannot be reached; who paused the run gets the verdicts later
            return citations
        raise
    verdicts = dict(zip(batch, judged(reply.answer, batch), strict=True))
    return tuple(verdicts.get(each, each) for each in citations)


def _nothing_seen(run: Run, outcome: Outcome, words: str) -> str:
    """What stands in place of a report when no source was seen: what was tried, and nothing that reads like research."""
    language = run.language
    parts = [prompts.text("tool_errors" if outcome == "tool_errors" else "unseen", language)]
    # The last ones, each once: a model that repeats itself fills no page.
    lines = dict.fromkeys(f"- {_shown(call)}: {_on_a_line(seen.text)}" for call, seen in run.shared.tried)
    if lines:
        parts.append("\n".join([prompts.text("tried", language), "", *list(lines)[-TRIED:]]))
    if outcome != "tool_errors" and words.strip():
        quoted = "\n".join(f"> {line}" for line in words.strip().splitlines())
        parts.append(prompts.text("own_words", language) + "\n\n" + quoted)
    return "\n\n".join(parts)


def _shown(call: ToolCall) -> str:
    """A call on one line, as code that holds no code."""
    arguments = ", ".join(str(value) for value in call.arguments.values())
    return "`" + clip(f"{call.name}({arguments})".replace("`", "'").replace("\n", " "), 120) + "`"


def _on_a_line(text: str) -> str:
    return clip(" ".join(text.split()) or "nothing", 200)
