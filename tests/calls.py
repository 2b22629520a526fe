"""Make a tool call and wait for its result."""

from __future__ import annotations

from research.agent.toolbox import Check, Result, Toolbox
from research.types import ToolCall


def used(tools: Toolbox, call: ToolCall, check: Check | None = None) -> Result:
    """Return the result of the call.  Raises what `PendingCall.result` raises."""
    with tools.begin(call, check=check) as begun:
        return begun.result()
