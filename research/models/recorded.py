"""`recorded:RUN`: plays the model's part of a saved run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from research.errors import ConfigError
from research.events import Event, Replied
from research.models.scripted import ScriptCall, ScriptedModel, ScriptLine
from research.registry import provider
from research.types import Model

if TYPE_CHECKING:
    from collections.abc import Iterable

    from research.workbench import Workbench


@provider("Recorded run")
def recorded(run_id: str, workbench: Workbench) -> Model:
    """The replies of a saved run in their order, for each agent and purpose."""
    row = workbench.store.run(run_id)
    lines = list(_lines(workbench.store.events(row.id)))
    if not lines:
        raise ConfigError(f"recorded:{run_id}: that run holds no reply of a model")
    return ScriptedModel(lines, name=f"recorded:{row.id}")


def _lines(events: Iterable[Event]) -> Iterable[ScriptLine]:
    for event in events:
        if isinstance(event, Replied):
            reply = event.reply
            # Under the tagged protocol the calls stand in the text already.
            tagged = "<tool_call>" in reply.text or "<action>" in reply.text
            calls = () if tagged else tuple(ScriptCall(call.name, call.arguments) for call in reply.calls)
            yield ScriptLine(reply.text, calls, reply.reasoning, purpose=event.purpose, agent=event.agent)
