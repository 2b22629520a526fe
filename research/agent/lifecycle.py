"""Driving a run to its one terminal event, and checking its answer."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from research import prompts
from research.agent import final_report, plan_text
from research.agent.amending import with_numbers, with_reader
from research.agent.context import Steps
from research.agent.judging import judge
from research.agent.judging_parts import judge_parts
from research.agent.outcome import failed_search, objections, outcome_of, refused
from research.agent.planning import plan_first
from research.agent.remembering import keep, recall
from research.agent.run import Run
from research.citations import check, cited, clean, uncited, without_marks
from research.errors import ConfigError, NeedsInput, ProviderError, RunPaused, Stopped
from research.events.events import Event, Paused, RunFailed, RunFinished, RunStarted, Status, WaitingForUser, Warned
from research.events.view import fold
from research.parsing.report_sections import without_plans
from research.types import Answer, Checked, Citation, Outcome, Part


def execute(run: Run, run_id: str, saved: Callable[[], Iterable[Event]] = list) -> Iterator[Event]:
    """Drive a run to its one terminal event, or to a pause; yield its events with run, seq and time filled in.

    `saved` returns all events of the run that have been saved.
    """
    seq = run.context.journal.next_seq
    run.context.run_id = run_id
    for event in _events(run):
        before = _learn(run, run_id, saved, event) if isinstance(event, RunFinished) else ()
        if isinstance(event, RunFinished | Paused | WaitingForUser):
            event = msgspec.structs.replace(event, sent=run.context.egress.taken())
        for each in (*before, event):
            yield msgspec.structs.replace(each, run=run_id, seq=seq, time=time.time())
            seq += 1


def _learn(run: Run, run_id: str, saved: Callable[[], Iterable[Event]], finished: RunFinished) -> Iterator[Event]:
    """Add the run's findings to the memory, if its recipe says so."""
    if run.recipe.remember == "off":
        return
    try:
        last = msgspec.structs.replace(finished, run=run_id, time=time.time())
        yield from keep(run.recipe, run.context, fold([*saved(), last]))
    except Exception as error:  # noqa: BLE001 - a failure to learn from the answer must not lose the answer
        yield Warned(kind="memory", text=f"Nothing was kept in the memory: {type(error).__name__}: {error}")


def _events(run: Run) -> Iterator[Event]:
    yield from run.context.mark(
        RunStarted(
            question=run.question,
            recipe=run.recipe,
            earlier=run.context.journal.earlier,
            given=run.context.journal.given,
        )
    )
    for text in run.context.services.notices:
        yield from run.context.mark(Warned(kind="tool", text=text))
    try:
        yield from recall(run.question, run.recipe, run.context)
        yield from plan_first(run)
        answer = yield from run.work()
    except (NeedsInput, RunPaused) as pause:
        if not run.context.stop.is_set():  # only the first branch's error arrives; another may have been stopped
            if isinstance(pause, RunPaused):
                yield Paused(reason=pause.reason)
            else:  # once the other branches have stopped, because only the reply may follow it
                yield WaitingForUser(agent=pause.agent, prompt=pause.prompt, site=pause.site, plan=pause.plan)
            return
        answer = Answer(run.known(), "stopped")
    except Stopped:
        answer = Answer(run.known(), "stopped")
    except (ConfigError, ProviderError) as error:
        yield RunFailed(error=str(error), traceback="")
        run.context.failure = str(error)
        answer = Answer("", "failed")
    except Exception as error:  # noqa: BLE001 - any other error ends the run as failed, with its traceback recorded
        yield RunFailed(error=f"{type(error).__name__}: {error}", traceback=traceback.format_exc())
        run.context.failure = f"{type(error).__name__}: {error}"
        answer = Answer("", "failed")
    try:
        finished = yield from _finish(run, answer)
    except RunPaused as pause:
        yield Paused(reason=pause.reason)
        return
    except Exception as error:  # noqa: BLE001 - a failed check must not lose the answer
        yield RunFailed(error=f"the report could not be checked: {error}", traceback=traceback.format_exc())
        report = answer.report or answer.text
        finished = RunFinished(
            status="failed", outcome="failed", answer=answer.text, report=report, seconds=run.context.meter.seconds
        )
    yield finished


def _finish(run: Run, answer: Answer) -> Steps[RunFinished]:
    """Check the answer; label one that cites no source the run saw."""
    if answer.checked is not None:
        return _checked(run, answer, answer.checked)
    if answer.outcome not in ("stopped", "failed"):
        answer = yield from with_numbers(run, (yield from with_reader(run, answer)))
    sources, user_text = run.context.ledger.sources, "\n".join(run.context.user_texts)
    outcome = answer.outcome
    text, removed = clean(answer.text, sources, user_text)
    report, more = clean(answer.report, sources, user_text)
    short, parts = without_marks(clean(answer.short, sources, user_text)[0]), answer.parts
    removed = tuple(dict.fromkeys([*removed, *more]))
    if outcome not in ("stopped", "failed") and not {source.n for source in sources} & set(cited(f"{text}\n{report}")):
        if not sources:
            tried = run.context.tool_calls
            unseen: Outcome = "tool_errors" if tried and not any(seen.ok for _, seen in tried) else "no_evidence"
            ended, outcome = outcome, run.context.cut_by or unseen
            text, report, short, parts = final_report.without_sources(run, outcome, text, ended), "", "", ()
        else:
            outcome = "no_evidence" if outcome in ("answered", "rejected") else outcome
            if not refused(parts):
                text = prompts.text("uncited", run.language) + "\n\n" + text
    if outcome == "failed":
        text, report = final_report.failed(run, text, report), ""
    report = final_report.with_answer(text, report, run.language)
    citations = check(report or text, sources, run.context.computed)
    if report:  # the model's words often repeat the answer
        citations = tuple({(each.n, each.claim): each for each in citations}.values())
    if outcome not in ("stopped", "failed"):
        citations = yield from judge(run, citations, report or text)
        parts = yield from judge_parts(run, parts, citations)
    told = sources and not refused(parts)  # a refusal says what was done and needs no source
    unsourced = uncited(without_plans(report or text), run.question, run.context.computed) if told else ()
    if outcome in ("answered", "rejected"):
        outcome = yield from _worth(run, outcome, text, citations, parts)
    empty = outcome == "no_evidence" or (outcome == "tool_errors" and not sources)
    if empty and (why := failed_search(run.context.tool_calls)):
        outcome, short, parts = "tool_errors", "", ()
        text = final_report.after_failed_search(run, why, text)
        report = report and final_report.after_failed_search(run, why, report)
    done = plan_text.done(run.context.plan, parts, run.language) if outcome not in ("stopped", "failed") else ()
    if done:
        report = plan_text.with_plan(report or text, done, run.language)
    statuses: dict[str, Status] = {"stopped": "stopped", "failed": "failed"}
    return RunFinished(
        status=statuses.get(outcome, "completed"),
        outcome=outcome,
        answer=text,
        report=_with_notice(run, report or text),
        citations=citations,
        uncited=unsourced,
        removed=removed,
        short="" if outcome == "no_evidence" else short,
        parts=parts,
        plan=done,
        seconds=run.context.meter.seconds,
    )


def _with_notice(run: Run, report: str) -> str:
    """Return the report; if a server cut the run's prompts, with a note below that something may be missing."""
    return f"{report}\n\n{prompts.text('to_user/cut', run.language)}" if run.context.cut_prompts.found else report


def _worth(
    run: Run, outcome: Outcome, text: str, citations: Sequence[Citation], parts: Sequence[Part]
) -> Steps[Outcome]:
    """Return the outcome of an answer by its structure, then by the answer checks that are installed."""
    found = outcome_of(citations, parts)
    if found == "no_evidence":
        return found
    wrong = objections(run.question, text, citations)
    for finding in wrong:
        yield from run.context.mark(Warned(agent=run.agent, kind="check", text=finding))
    return "rejected" if wrong or outcome == "rejected" else found


def _checked(run: Run, answer: Answer, checked: Checked) -> RunFinished:
    """Return the end of a run whose framework has checked the citations itself."""
    return RunFinished(
        status="completed",
        outcome=answer.outcome,
        answer=answer.text,
        report=_with_notice(run, answer.report),
        citations=checked.citations,
        uncited=checked.uncited,
        short=answer.short,
        parts=answer.parts,
        seconds=run.context.meter.seconds,
    )
