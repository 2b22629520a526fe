"""The messages to and from the process that runs a model's code.  The code may have forged any part of a `Result`."""

from __future__ import annotations

from msgspec import Struct

OUTPUT_CHARACTERS = 2000
"""Maximum length of the output of `run_python`, including the truncation notice."""

TRACEBACK_CHARACTERS = 1000
"""Characters kept from the end of a traceback."""

PLOTS = 4
"""Maximum number of plots per call."""

PLOT_BYTES = 300_000
"""Maximum size of a plot's PNG file."""

PLOT_PIXELS = 2400
"""Maximum width and height of a plot."""


SEED = 0
"""Where random numbers begin."""


class Job(Struct, frozen=True):
    """Code to run and the seconds it may take."""

    code: str
    timeout_s: float


class Result(Struct, frozen=True):
    """What the code printed, drew or raised."""

    output: str = ""
    """The first `OUTPUT_CHARACTERS` characters of the output."""
    length: int = 0
    """Characters of the whole output."""
    error: str = ""
    """The traceback, when the code failed."""
    images: tuple[bytes, ...] = ()
    """Plots, as PNG."""
    unsealed: str = ""
    """Why the process could not be sealed; in that case the code did not run."""


def out_of_time(timeout_s: float) -> str:
    """Return the error message for code that ran into its time limit."""
    return f"the code was stopped after {timeout_s:g} s: make it do less"


class OutputHead:
    """Keeps the first `OUTPUT_CHARACTERS` characters written to it, and counts all of them."""

    def __init__(self) -> None:
        self.text = ""
        self.length = 0

    def add(self, text: str) -> None:
        self.text += text[: OUTPUT_CHARACTERS - len(self.text)]
        self.length += len(text)
