"""Measure the time and memory of a model file in this process: python -m bench.gguf FILE; prints a Markdown table.

One reply to a short question, without tools, at temperature 0: the time until the file is loaded and the first word is
written, the tokens a second after that, and the memory of the whole process.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

from bench.printing import machine, table
from research.errors import ConfigError
from research.models.gguf import GgufModel
from research.types import Completion, Message, Request

TOKENS = 200


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.gguf", description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="a GGUF model file")
    arguments = parser.parse_args()
    started = time.perf_counter()
    try:
        model = GgufModel(arguments.file)
    except ConfigError as error:
        parser.error(str(error))
    request = Request((Message("user", "Tell me about the mountains of Japan."),), max_tokens=TOKENS, temperature=0.0)
    first, tokens = 0.0, 0
    for piece in model.stream(request):
        first = first or time.perf_counter()
        if isinstance(piece, Completion) and piece.usage:
            tokens = piece.usage.completion_tokens
    speed = (tokens - 1) / (time.perf_counter() - first)
    # Linux counts in KB, macOS in bytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    print(f"{machine()}; {tokens} tokens\n")
    print(
        table(
            (arguments.file.name, "found"),
            [
                ["load and first word", f"{first - started:.1f} s"],
                ["memory of the process", f"{peak:.0f} MB"],
                ["tokens a second", f"{speed:.0f}"],
            ],
        )
    )


if __name__ == "__main__":
    main()
