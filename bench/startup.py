"""Measure how long the command line, a run and the app take to start; prints one Markdown table.

    python -m bench.startup [--repeat 5]

The fastest of several starts, each in a fresh process over a home folder whose library is indexed; from the second start
on, files are in the disk's cache.  A run counts until it reports its first round, the app until it answers at the address.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.printing import machine, table
from bench.serving import prepare, served

QUESTION = "What is the capital of France?"
EMPTY = "an empty program"
ROWS = (EMPTY, "`--help`", "`run`: its first round", "the app: `/_stcore/health`", "the app: `/api/health`")


def seconds(home: Path, repeat: int) -> list[float]:
    """Return the fastest start of each row."""
    steps: tuple[Callable[[], None], ...] = (
        lambda: python("-c", "pass"),
        lambda: python("-m", "research", "--help"),
        lambda: first_round(home),
        lambda: answered(home, "_stcore/health"),
        lambda: answered(home, "api/health"),
    )
    return [min(timed(step) for _ in range(repeat)) for step in steps]


def timed(step: Callable[[], None]) -> float:
    started = time.perf_counter()
    step()
    return time.perf_counter() - started


def python(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def first_round(home: Path) -> None:
    command = [sys.executable, "-m", "research", "run", QUESTION, "--home", str(home)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = next((line for line in process.stderr if line.startswith("round 1")), "")
        process.kill()
    if not first:
        raise RuntimeError("the run ended before its first round")


def answered(home: Path, address: str) -> None:
    with served(home, address):
        pass


def lines(found: list[float]) -> Iterator[str]:
    """Return the table; `found` has the order of `ROWS`, in seconds."""
    rows = [[name, f"{each:.2f} s", f"{each / found[0]:.0f} x"] for name, each in zip(ROWS, found, strict=True)]
    yield table(["from its command to", "found", f"of {EMPTY}"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.startup", description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        for line in lines(seconds(Path(folder), arguments.repeat)):
            print(line)


if __name__ == "__main__":
    main()
