"""A tool: it says what a die shows."""

from __future__ import annotations

import threading
from typing import Annotated

from pydantic import Field

from research.events.recipe import Recipe
from research.plugins import tool
from research.tools.host import Host
from research.tools.spec import spec_of
from research.types import Passage, Tool, ToolOutput, ToolSpec


class Dice:
    """Always shows a four."""

    timeout_s = 5.0

    @property
    def spec(self) -> ToolSpec:
        return spec_of(self.__call__, "dice", "Throw a die.")

    def __call__(self, sides: Annotated[int, Field(description="Sides of the die.")] = 6) -> ToolOutput:
        return ToolOutput(passages=(Passage("https://example.org/dice", "Dice", f"A die with {sides} sides shows 4."),))


@tool("Dice")
def dice(host: Host, recipe: Recipe, stop: threading.Event) -> Tool:
    """Throw a die."""
    return Dice()
