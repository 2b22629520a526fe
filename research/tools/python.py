"""`python`: calculate, out of process and without files or network."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from research.tools import spec_of
from research.types import ToolOutput, ToolSpec


class PythonTool:
    """Runs code in the sandbox of `research.sandbox`."""

    timeout_s = 35.0
    """A little more than the sandbox itself allows, so that its own message arrives."""

    @property
    def spec(self) -> ToolSpec:
        return spec_of(self.__call__, "python", "Run Python code to calculate; print the result. No files, no network.")

    def __call__(
        self, code: Annotated[str, Field(description="Python code that prints its result.", min_length=1)]
    ) -> ToolOutput:
        from research.sandbox import run_python

        return ToolOutput(run_python(code))
