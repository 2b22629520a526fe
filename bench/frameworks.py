"""Measure the cost of each framework and context strategy against `react` / `full`: python -m bench.frameworks

Asks every n-th question of the built-in set `factbook` (split `dev`) with the offline model, once for each recipe, and
prints the table of docs/frameworks.md: requests to the model, tool calls and tokens a question, each also as a multiple of
`react` / `full`.  Tokens are estimated at four characters each, and are those of the whole run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from msgspec import Struct

import research
from bench.printing import table
from research import plugins
from research.config.settings import load
from research.defaults import CONTEXTS, FRAMEWORKS
from research.evaluation import load as load_questions
from research.workbench.workbench import Workbench

BASE = ("react", "full")
RECIPES = [
    *((framework, plugins.framework.get(framework).default_context) for framework in FRAMEWORKS),
    *((BASE[0], context) for context in CONTEXTS if context != BASE[1]),
]
HEAD = ("recipe", "requests", "× react", "tool calls", "× react", "tokens", "× react")


class Cost(Struct, frozen=True):
    """The cost of one run, or the mean of several."""

    requests: float
    tool_calls: float
    tokens: float


def measure(bench: Workbench, questions: Sequence[str], framework: str, context: str) -> Cost:
    """Return the mean cost of a question."""
    views = [research.run(each, workbench=bench, framework=framework, context=context) for each in questions]
    return Cost(
        mean(view.model_calls for view in views),
        mean(view.tool_calls for view in views),
        mean(view.prompt_tokens + view.completion_tokens for view in views),
    )


def lines(costs: Mapping[str, Cost]) -> str:
    """Return the costs in Markdown; the others are compared with the first."""
    base = next(iter(costs.values()))
    return table(
        HEAD,
        [
            [
                name,
                f"{cost.requests:.1f}",
                f"{cost.requests / base.requests:.1f}",
                f"{cost.tool_calls:.1f}",
                f"{cost.tool_calls / base.tool_calls:.1f}",
                f"{cost.tokens:,.0f}",
                f"{cost.tokens / base.tokens:.1f}",
            ]
            for name, cost in costs.items()
        ],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, help="an existing home folder, to avoid indexing")
    parser.add_argument("--every", type=int, default=8, help="ask every n-th question; default 8")
    arguments = parser.parse_args()
    questions = [each.question for each in load_questions("factbook").questions[:: arguments.every]]
    with tempfile.TemporaryDirectory() as folder:
        bench = Workbench(load(home=arguments.home or Path(folder)))
        bench.prepare((), lambda *_: None)
        costs = {
            f"{framework} / {context}": measure(bench, questions, framework, context) for framework, context in RECIPES
        }
    print(lines(costs))
    print(f"\n{len(questions)} questions, model `extractive`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
