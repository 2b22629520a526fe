"""`python`: calculate and plot, out of process and without files or network."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from research.errors import ConfigError, ToolError
from research.events.recipe import Recipe
from research.plugins import tool
from research.tools.host import Host
from research.tools.spec import spec_of
from research.types import Tool, ToolOutput, ToolSpec

if TYPE_CHECKING:
    from research.sandbox.interpreter import Choice

_DESCRIPTIONS = {
    "cpython": "Run Python code to calculate; what it prints, or the value of its last line, comes back. numpy and the "
    "calculating part of the standard library are there; matplotlib figures left open are shown. No files, no network.",
    "monty": "Run Python code to calculate; print the result. A small Python: no numpy, no statistics, no plots, no "
    "files, no network.",
    None: "Switched off on this machine.",
}


class PythonTool:
    """Runs code in the sandbox of `research.sandbox`."""

    timeout_s = 45.0
    """A little more than the sandbox allows, so that its message arrives."""

    def __init__(
        self,
        choice: Choice = "auto",
        stop: threading.Event | None = None,
        calculating: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`choice` limits where code may run; a set `stop` ends the code; code runs within `calculating()`."""
        self._choice = choice
        self._stop = stop
        self._calculating = calculating

    @property
    def spec(self) -> ToolSpec:
        """Describes the sandbox of this machine; the first read takes a second, because it tests the sandbox."""
        from research.sandbox import state

        return spec_of(self.__call__, "python", _DESCRIPTIONS[state(self._choice).backend])

    def __call__(self, code: Annotated[str, Field(description="Python code.", min_length=1)]) -> ToolOutput:
        from research.sandbox import run_python

        try:
            with self._calculating():
                return run_python(code, stop=self._stop, choice=self._choice)
        except ConfigError as error:
            raise ToolError(str(error)) from error


@tool("Python", calculates=True)
def python(host: Host, recipe: Recipe, stop: threading.Event) -> Tool:
    """Calculate and plot in a sandbox without files and network."""
    return PythonTool(host.settings.python_tool, stop, host.calculating)
