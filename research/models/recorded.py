"""`recorded:RUN`: replay the model's replies of a saved run."""

from __future__ import annotations

from collections.abc import Iterable

from research.errors import ConfigError
from research.events.events import Event, Replied
from research.models.host import Host
from research.models.scripted import ScriptCall, ScriptedModel, ScriptLine
from research.plugins import provider
from research.types import Model


@provider("Recorded run", local=True, written_by="script")
def recorded(run_id: str, host: Host) -> Model:
    """The replies of a saved run in their order, for each agent and purpose."""
    row = host.store.run(run_id)
    lines = list(_lines(host.store.events(row.id)))
    if not lines:
        raise ConfigError(f"recorded:{run_id}: the run contains no model replies; name a run with at least one")
    return ScriptedModel(lines, name=f"recorded:{row.id}")


def _lines(events: Iterable[Event]) -> Iterable[ScriptLine]:
    for event in events:
        if isinstance(event, Replied):
            reply = event.reply
            # Under the tagged protocol the text already contains the calls.
            tagged = "<tool_call>" in reply.text or "<action>" in reply.text
            calls = () if tagged else tuple(ScriptCall(call.name, call.arguments) for call in reply.calls)
            yield ScriptLine(reply.text, calls, reply.reasoning, purpose=event.purpose, agent=event.agent)
