"""Measure the gain of running at once: `parallel` with n branches against n runs one after the other.

    python -m bench.branches [--branches 2 4 8] [--rounds 20]

The model takes 200 ms and the tool 50 ms (`bench.provider`), so that there is something to wait for.  The branches and the
runs they are compared with are `react` / `full`.  Efficiency is the speed-up as a share of the possible one; `parallel`
also makes one more request, for the synthesis.  Prints one Markdown table.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.engine import Ours, provider
from bench.printing import machine, table

LLM_MS, TOOL_MS = 200, 50


def lines(branches: Sequence[int], rounds: int, llm_ms: float = LLM_MS, tool_ms: float = TOOL_MS) -> Iterator[str]:
    """Return the rows of the table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, provider(llm_ms) as port:
        ours = Ours(Path(folder), port, tool_ms / 1_000)
        single = ours.recipe("react/full", rounds)
        ours.run(ours.recipe("react/full", 1))
        for n in branches:
            options = {
                "framework.n": n,
                "framework.concurrency": n,
                "framework.branch": "react",
                "framework.rounds": rounds + 2,
            }
            at_once = ours.bench.recipe(
                framework="parallel", model=f"openai:rounds-{rounds}", options=options, judge="off"
            )
            together = ours.run(at_once)[1]
            one_by_one = sum(ours.run(single)[1] for _ in range(n))
            gain = one_by_one / together
            rows.append([f"{n}", f"{one_by_one:.1f} s", f"{together:.1f} s", f"{gain:.1f} x", f"{gain / n:.0%}"])
    yield table(["branches", "one after the other", "`parallel`", "speed-up", "efficiency"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.branches", description=__doc__.splitlines()[0])
    parser.add_argument("--branches", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    print(f"{machine()}\n")
    for line in lines(arguments.branches, arguments.rounds):
        print(line)


if __name__ == "__main__":
    main()
