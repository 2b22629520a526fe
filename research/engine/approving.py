"""Approving the plan that a run waits with."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from research.agent import plan_text as plans
from research.errors import ConfigError
from research.events.events import Event, PlanApproved, PlanItem, PlanProposed, WaitingForUser
from research.store import RunRow

_YES = re.compile(r"(?:y|yes|ok|okay|go|start|approved?|是|好|好的|可以|同意|批准|开始)[.!。！]?", re.I)


def approval(
    row: RunRow, events: Sequence[Event], reply: str, plan: Sequence[PlanItem | str] | None
) -> PlanApproved | None:
    """Return the event that approves the plan of a run; None for a run that does not wait with one.

    Raises `ConfigError` when a plan is given and none is expected, and when the reply to one is not a yes.
    """
    last = events[-1] if events else None
    if not (row.status == "waiting_input" and isinstance(last, WaitingForUser) and last.plan):
        if plan is not None:
            raise ConfigError(f"run {row.id} does not wait for a plan: it is {row.status}")
        return None
    proposed = next(event.items for event in reversed(events) if isinstance(event, PlanProposed))
    if plan is None and not _YES.fullmatch(reply):
        raise ConfigError(
            f"run {row.id} waits until its plan is approved: resume it with --plan FILE, or with --reply yes for the plan "
            "as it is"
        )
    items = plans.checked(list(proposed if plan is None else plan), plans.sources_of(row.recipe))
    return PlanApproved(run=row.id, seq=last.seq + 1, time=time.time(), items=items)
