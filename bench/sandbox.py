"""Measure how long a model's code takes in the sealed process, start included: python -m bench.sandbox [--calls N]

Prints a Markdown table: the seconds of the first call, which reads the files of its libraries, and of the others, from
shortest to longest.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from bench.printing import machine, table
from research.errors import ToolError
from research.sandbox import self_test
from research.sandbox.interpreter import run_in

PLAIN = "sum(n * n for n in range(1_000))"
NUMPY = "import numpy as np\nnp.linalg.norm(np.arange(1_000.0))"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])"
CALLS: dict[str, Callable[[], object]] = {
    "CPython, plain calculation": lambda: run_in("cpython", PLAIN),
    "CPython, numpy": lambda: run_in("cpython", NUMPY),
    "CPython, a plot": lambda: run_in("cpython", PLOT),
    "Monty, plain calculation": lambda: run_in("monty", PLAIN),
    "self-test, once a process": self_test,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.sandbox", description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=5, help="calls of each, at least 2; default 5")
    arguments = parser.parse_args()
    if arguments.calls < 2:
        parser.error("--calls: at least 2")
    print(f"{machine()}\n")
    head = ("seconds", "the first call", f"the other {arguments.calls - 1}")
    print(table(head, (row(name, arguments.calls) for name in CALLS)))


def row(name: str, calls: int) -> list[str]:
    """Return a line of the table, with a dash if this machine cannot run such code."""
    found = []
    for _ in range(calls):
        started = time.perf_counter()
        try:
            CALLS[name]()
        except ToolError:
            return [name, "–", "–"]
        found.append(time.perf_counter() - started)
    return [name, f"{found[0]:.2f}", f"{min(found[1:]):.2f} to {max(found[1:]):.2f}"]


if __name__ == "__main__":
    main()
