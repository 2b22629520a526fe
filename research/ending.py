"""Driving a run to its one terminal event, and judging how it ended."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator

import msgspec

from research import prompts
from research.citations import check, cited
from research.errors import ConfigError, NeedsInput, ProviderError, Stopped
from research.events import Event, RunFailed, RunFinished, RunStarted
from research.run import Run
from research.types import Answer, Status


def execute(run: Run, run_id: str) -> Iterator[Event]:
    """Drive a run to its one terminal event; the events come stamped with run, seq and time."""
    seq = run.shared.journal.next_seq
    for event in _life(run):
        yield msgspec.structs.replace(event, run=run_id, seq=seq, time=time.time())
        seq += 1


def _life(run: Run) -> Iterator[Event]:
    yield from run.mark(RunStarted(question=run.question, recipe=run.recipe))
    try:
        answer = yield from run.work()
    except NeedsInput:
        return
    except Stopped:
        answer = Answer(run.known(), "stopped")
    except (ConfigError, ProviderError) as error:
        yield RunFailed(error=str(error), traceback="")
        answer = Answer(f"{error}\n\n{run.known()}", "failed")
    except Exception as error:  # noqa: BLE001 - the last stop: the run ends as failed, with its traceback on record
        yield RunFailed(error=f"{type(error).__name__}: {error}", traceback=traceback.format_exc())
        answer = Answer(run.known(), "failed")
    yield _finish(run, answer)


def _finish(run: Run, answer: Answer) -> RunFinished:
    """Judge the answer: what cites no source that was seen is not research, and is not presented as such."""
    sources = run.shared.ledger.sources
    numbers = {source.n for source in sources}
    outcome, text = answer.outcome, answer.text
    if outcome not in ("stopped", "failed") and not numbers & set(cited(text)):
        outcome = "no_evidence" if outcome == "answered" or not sources else outcome
        text = prompts.text("uncited", run.language) + "\n\n" + text
    statuses: dict[str, Status] = {"stopped": "stopped", "failed": "failed"}
    return RunFinished(
        status=statuses.get(outcome, "completed"),
        outcome=outcome,
        answer=text,
        report=answer.report or text,
        citations=check(text, sources, run.computed),
        seconds=run.shared.meter.seconds,
    )
