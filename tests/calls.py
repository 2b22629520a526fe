"""A call of a tool, begun and waited for."""

from __future__ import annotations

from research.agent.toolbox import Check, Result, Toolbox
from research.types import ToolCall


def used(tools: Toolbox, call: ToolCall, check: Check | None = None) -> Result:
    """What comes of the call.  Raises as `PendingCall.result`."""
    with tools.begin(call, check=check) as begun:
        return begun.result()
