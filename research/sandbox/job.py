"""What goes into the process that runs a model's code, and what comes out.  All of the latter may be forged."""

from __future__ import annotations

from msgspec import Struct

OUTPUT_CHARACTERS = 2000
"""Longest output of `run_python`, the mark of the cut included."""

TRACEBACK_CHARACTERS = 1000
"""How much of the end of a traceback is told."""

PLOTS = 4
"""Most plots of one call."""

PLOT_BYTES = 300_000
"""Longest PNG of a plot."""

PLOT_PIXELS = 2400
"""Largest width and height of a plot."""


class Job(Struct, frozen=True):
    code: str
    timeout_s: float


class Result(Struct, frozen=True):
    output: str = ""
    """The first characters of it."""
    length: int = 0
    """Characters of the whole output."""
    error: str = ""
    """Traceback, when the code failed."""
    images: tuple[bytes, ...] = ()
    """Plots, as PNG."""
    unsealed: str = ""
    """Why the process could not be sealed; the code did not run then."""


def out_of_time(timeout_s: float) -> str:
    return f"the code was stopped after {timeout_s:g} s: make it do less"


class Head:
    """Keeps the beginning of what is written to it, and counts the rest."""

    def __init__(self) -> None:
        self.text = ""
        self.length = 0

    def add(self, text: str) -> None:
        self.text += text[: OUTPUT_CHARACTERS - len(self.text)]
        self.length += len(text)
