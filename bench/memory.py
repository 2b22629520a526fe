"""Measure the memory with 100,000 entries; prints ratios and seconds in one Markdown table.

    python -m bench.memory [--entries 100000] [--dimension 384]

Entries are short sentences of invented words, frequent and rare ones as in language (Zipf), each with its own source and a
random unit vector: no encoder runs.  The bare product is `matrix @ vector` by numpy on a matrix of the same numbers, timed
alternately with the searches, with a different query each time.  Peak memory is that of a process which opens the memory,
searches and adds 1,000 entries, less that of one which has only imported the code.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.printing import machine, table
from research.memory import Entry, Filters
from research.memory.entries import Memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDS = 31
WORDS, VOCABULARY = 14, 30_000
STILL = {"OPENBLAS_THREAD_TIMEOUT": "4"}
"""Let the threads of BLAS sleep after a product.  By default they wait busily for a tenth of a second, on the core that the
next search by words needs, and the bench would time the leftovers of the bare product."""


class Drawn:
    """An encoder that returns random vectors made in advance, so that encoding takes no time."""

    def __init__(self, dimension: int) -> None:
        self.id = f"drawn:{dimension}"
        self.dimension = dimension
        self._random = np.random.default_rng(1)
        self._store = unit(self._random, 4_096, dimension)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # A few thousand directions, each turned a little: cheaper than drawing all, and no two are equal.
        rows = self._store[self._random.integers(0, len(self._store), len(texts))]
        rows = rows + np.roll(self._store[self._random.integers(0, len(self._store), len(texts))], 7, axis=1)
        made: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return made


def unit(random: np.random.Generator, count: int, dimension: int) -> NDArray[np.float32]:
    rows = random.standard_normal((count, dimension), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def sentences(count: int, seed: int) -> list[str]:
    # Zipf's law without its head: the most frequent words are stop words, which a query leaves out.
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(30, 30 + VOCABULARY)
    drawn = random.choice(VOCABULARY, (count, WORDS), p=weights / weights.sum())
    return [" ".join(f"w{number}" for number in line) for line in drawn.tolist()]


def entries(count: int, seed: int) -> list[Entry]:
    return [
        Entry(text, "finding", provenance="model", run=f"run-{n % 50}", url=f"https://example.org/{seed}/{n}", title="")
        for n, text in enumerate(sentences(count, seed))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.memory", description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--measure", metavar="FILE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(Path(arguments.measure), arguments.entries, arguments.dimension)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.sqlite"
        memory = Memory(path, Drawn(arguments.dimension), arguments.entries)
        started = time.perf_counter()
        memory.add(entries(arguments.entries, 1))
        filled = time.perf_counter() - started
        memory.close()
        command = [sys.executable, "-m", "bench.memory", "--measure", str(path)]
        command += ["--entries", str(arguments.entries), "--dimension", str(arguments.dimension)]
        row = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, env=os.environ | STILL).stdout)
    print(f"{machine()}; filled in {filled:.0f} s\n\n{lines(row)}")


def lines(found: dict[str, Sequence[str]]) -> str:
    """Return a table with a row per measurement; `found` holds the result and the target by name."""
    return table(("measured", "found", "wanted"), ([name, *each] for name, each in found.items()))


def measure(path: Path, count: int, dimension: int) -> dict[str, tuple[str, str]]:
    """Measure in a separate process; return for each measurement the result and the target."""
    sys.modules.setdefault("pandas", None)  # type: ignore[arg-type]  # as on the command line
    bare = _resident()
    size = count * dimension * 4
    started = time.perf_counter()
    memory = Memory(path, Drawn(dimension), count)
    memory.entries(limit=25)
    memory.count()
    memory.search("w3 w50", 5)
    opened = time.perf_counter() - started
    new = entries(1_000, 2)
    started = time.perf_counter()
    memory.add(new)
    added = time.perf_counter() - started
    peak = _peak() - bare
    matrix = unit(np.random.default_rng(3), count, dimension)
    vector = matrix[0].copy()
    times: dict[str, list[float]] = {}
    for query in sentences(ROUNDS, 4):
        few, many = " ".join(query.split()[:3]), query
        steps: dict[str, Callable[[], Any]] = {
            "bare": lambda: matrix @ vector,
            "short": lambda few=few: memory.search(few, 5),  # type: ignore[misc]
            "long": lambda many=many: memory.search(many, 5),  # type: ignore[misc]
            "filtered": lambda few=few: memory.search(few, 5, Filters(runs=("run-3",))),  # type: ignore[misc]
        }
        for name, step in steps.items():
            started = time.perf_counter()
            step()
            times.setdefault(name, []).append(time.perf_counter() - started)
    ms = {name: 1_000 * statistics.median(each) for name, each in times.items()}

    def ratio(name: str) -> str:
        return f"{ms[name] / ms['bare']:.2f} x ({ms[name]:.1f} ms of {ms['bare']:.1f} ms)"

    return {
        "top 5 for 3 words, of the bare product": (ratio("short"), "1.5 x"),
        f"top 5 for {WORDS} words": (ratio("long"), "1.5 x"),
        "top 5 of one run in 50": (ratio("filtered"), ""),
        "1,000 added, without encoding": (f"{added:.2f} s", "2 s"),
        "opened, listed and searched once": (f"{opened:.2f} s", "2 s"),
        "peak memory, of the matrix": (
            f"{peak / size:.2f} x ({peak / 2**20:.0f} MB of {size / 2**20:.0f} MB)",
            "2.2 x",
        ),
    }


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _peak() -> int:
    # `ru_maxrss` would begin with the peak of the parent process.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1_024


if __name__ == "__main__":
    main()
