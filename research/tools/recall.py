"""`recall`: what earlier runs found and the user noted, from the memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from research.errors import ToolError
from research.memory.recalling import BROKEN, Stands, recall
from research.tools import spec_of
from research.types import ToolOutput, ToolSpec

if TYPE_CHECKING:
    from research.memory.memory import Memory


class RecallTool:
    """At most 5 entries, each with who wrote it, where it was learned, and the quote of its source."""

    timeout_s = 30.0

    def __init__(self, memory: Callable[[], Memory], stands: Stands = lambda entry: True) -> None:
        self._memory = memory
        self._stands = stands

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
            return recall(self._memory(), query, stands=self._stands)
        except BROKEN as error:
            raise ToolError(str(error)) from error
