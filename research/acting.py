"""Using tools: each call gets exactly one observation, in the order asked, and repetition is noticed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from research import prompts
from research.citations import told
from research.errors import LimitReached
from research.events import ToolFinished, ToolStarted, Warned
from research.toolbox import Local
from research.types import Observation, ToolCall

if TYPE_CHECKING:
    from research.run import Run, Steps

CIRCLES = (1, 2, 3)
"""So many actions, three times one after the other, are a loop."""


def observe(run: Run, calls: Sequence[ToolCall], local: Mapping[str, Local]) -> Steps[tuple[Observation, ...]]:
    journal, tools = run.shared.journal, run.shared.tools
    fresh = [call for call in calls if journal.observation(call.id) is None]
    if fresh:
        run.check_rest()
    if fresh or not all(journal.started(call.id) for call in calls):  # new, or refused before
        run.shared.meter.admit()
    run.shared.meter.spend_tool_calls(len(calls))
    observations: list[Observation] = []
    with ExitStack() as stack:
        begun = {
            call.id: stack.enter_context(tools.begin(call, local.get(call.name), run.shared.guard.check))
            for call in fresh
        }
        for call in fresh:
            if not journal.started(call.id):
                yield ToolStarted(agent=run.agent, call=call)
        for call in calls:
            recorded = journal.observation(call.id)
            if recorded is None:
                # In the order asked, so that sources get the same numbers every time.
                result = begun[call.id].result()
                sources = tuple(run.shared.ledger.add(passage) for passage in result.passages)
                recorded = Observation(
                    call.id,
                    call.name,
                    told(result.text, sources) or "(nothing)",
                    result.ok,
                    sources,
                    result.seconds,
                    result.cached,
                    result.private,
                    result.images,
                )
                run.shared.guard.saw(recorded)
                yield ToolFinished(agent=run.agent, observation=recorded)
            observations.append(recorded)
            if call.name not in local:
                run.shared.tried.append((call, recorded))
            if recorded.name == "python" and recorded.ok:
                run.shared.computed.append(recorded.text)
    run.check_stop()
    return tuple(observations)


def refuse(run: Run, call_id: str, name: str, why: str) -> Steps[Observation]:
    """The failed observation of a call that is not run."""
    seen = Observation(call_id, name, why, ok=False)
    if run.shared.journal.observation(call_id) is None:
        yield ToolFinished(agent=run.agent, observation=seen)
    return seen


def watch_for_loops(run: Run, calls: Sequence[ToolCall]) -> Steps[str]:
    """A hint the first time the actions repeat themselves, `LimitReached` the second time."""
    run.actions.append(json.dumps([[c.name, c.arguments] for c in calls], sort_keys=True))
    done = run.actions
    if not any(len(done) >= 3 * n and done[-n:] == done[-2 * n : -n] == done[-3 * n : -2 * n] for n in CIRCLES):
        return ""
    if run.hinted:
        raise LimitReached("loop")
    run.hinted = True
    hint = prompts.text("loop", run.language)
    yield from run.mark(Warned(agent=run.agent, kind="loop", text=hint))
    return hint
