"""`recall`: searches the memory for earlier findings and the user's notes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from research.errors import ToolError
from research.events.recipe import Recipe
from research.memory import recalling
from research.memory.recalling import MEMORY_ERRORS, SourceCheck
from research.plugins import tool
from research.tools.host import Host
from research.tools.spec import spec_of
from research.types import Tool, ToolOutput, ToolSpec

if TYPE_CHECKING:
    from research.memory.entries import Memory


class RecallTool:
    """Returns at most 5 entries, each with its author, the run it comes from, and the quote of its source."""

    timeout_s = 30.0

    def __init__(self, memory: Callable[[], Memory], still_says: SourceCheck = lambda entry: True) -> None:
        self._memory = memory
        self._still_says = still_says

    @property
    def spec(self) -> ToolSpec:
        return spec_of(
            self.__call__,
            "recall",
            "Ask the memory of earlier research and of the user's notes. Returns what was learned then, with its source, "
            "numbered like search results. Ask it before searching.",
        )

    def __call__(
        self, query: Annotated[str, Field(description="What you want to know, in a few words.", min_length=1)]
    ) -> ToolOutput:
        try:
            return recalling.recall(self._memory(), query, still_says=self._still_says)
        except MEMORY_ERRORS as error:
            raise ToolError(str(error)) from error


@tool("Recall", recalls=True)
def recall(host: Host, recipe: Recipe, stop: threading.Event) -> Tool:
    """Ask the memory of earlier research and of the user's notes."""
    return RecallTool(lambda: host.memory, recalling.library_check(host.indexed_library))
