"""Measure how prompts grow by what reaches the server in each round; prints Markdown tables and draws the curves.

    python -m bench.prompt_growth [--rounds 100] [--svg docs/images/prompt-growth.svg]

A scripted model behind a real OpenAI-compatible server looks something new up in every round and gets 4,000 characters
back.  Sizes are those of the requests as they arrive: messages, calls and tool definitions as JSON, estimated at about 4
characters a token.  The scripted reports and summaries are 1,200 characters long; those of a real model vary, within
`report_tokens` for IterResearch.
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.plots import Panel, draw
from research.agent.budget import Meter
from research.agent.context import RunContext
from research.agent.lifecycle import execute
from research.agent.run import Run
from research.agent.toolbox import Toolbox
from research.events.events import RunFinished
from research.events.recipe import Budget, Recipe
from research.protocols.protocol import ProtocolName
from research.protocols.tagged import write_call
from research.text import estimate_tokens
from research.types import Outcome, ToolOutput, ToolSpec
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.served import openai_model

QUESTION = "What do the hundred chapters of the chronicle say?"
OBSERVATION = 4_000
"""Characters that the tool returns, all of which the model is shown."""
RESUM_TOKENS = 8_000
WINDOW = 5
SHOWN = (1, 5, 10, 25, 50, 75, 100)
"""Rounds in the table."""


class Growth(Struct, frozen=True):
    """What a server saw of one run."""

    prompts: tuple[int, ...]
    """Tokens of each of the agent's requests, in order: one a round, then the one that gave the answer."""
    others: tuple[int, ...]
    """Tokens of the requests between rounds: summaries and those of the scribe."""
    outcome: Outcome

    @property
    def largest(self) -> int:
        return max(*self.prompts, *self.others, 0)


class Chronicle:
    """A tool that returns 4,000 different characters for every page."""

    timeout_s = 10.0
    spec = ToolSpec(
        "chronicle",
        "Read one chapter.",
        {"type": "object", "properties": {"chapter": {"type": "string"}}, "required": ["chapter"]},
    )

    def __call__(self, *args: Any, **arguments: Any) -> ToolOutput:
        words = f"In chapter {arguments['chapter']} the river rose and the bridge held. "
        return ToolOutput((words * (OBSERVATION // len(words) + 1))[:OBSERVATION].rstrip() + ".")


def measure(
    framework: str, context: str, rounds: int = 100, protocol: ProtocolName = "tagged", **options: Any
) -> Growth:
    """Run this many scripted rounds and return what the server saw.  `options` are those of the context strategy."""
    script = _Rounds(rounds, protocol)
    recipe = Recipe(
        framework=framework,
        framework_options={"rounds": rounds if framework != "iter_research" else rounds + 1},
        context=context,
        context_options=options,
        protocol=protocol,
    )
    outcome, _ = _run(recipe, script)
    return Growth(tuple(script.prompts), tuple(script.others), outcome)


def rewoo_calls(steps: int) -> int:
    """Return the model calls, counted at the server, of a plan with this many steps."""
    plan = "\n".join(f"Plan: read chapter {n}\n#E{n} = chronicle[{n}]" for n in range(1, steps + 1))
    _, requests = _run(Recipe(framework="rewoo", protocol="tagged"), [FakeReply(plan), FakeReply("It held.")])
    return len(requests)


class _Rounds:
    """Play the model's part: a new chapter every round, a report if one is kept, and the answer at the end."""

    def __init__(self, rounds: int, protocol: ProtocolName) -> None:
        self.prompts: list[int] = []
        self.others: list[int] = []
        self._rounds = rounds
        self._protocol = protocol
        self._lock = threading.Lock()

    def __call__(self, body: Body) -> FakeReply:
        system = body["messages"][0]["content"]
        acts = body["messages"][1]["content"].startswith(QUESTION)  # briefs of the workbench begin differently
        size = estimate_tokens(json.dumps([body["messages"], body.get("tools")], ensure_ascii=False))
        with self._lock:
            (self.prompts if acts else self.others).append(size)
            chapter = len(self.prompts)
        if not acts:
            return FakeReply(_notes(len(self.others)))
        report = f"<report>\n{_notes(chapter)}\n</report>\n" if "<report>" in system else ""
        if chapter > self._rounds:
            return FakeReply(f"{report}<answer>The bridge held.</answer>")
        thought = f"<think>Chapter {chapter} is next.</think>\n{report}"
        if self._protocol == "native":
            return FakeReply(thought, calls=[("chronicle", {"chapter": str(chapter)})])
        return FakeReply(thought + write_call("chronicle", chapter=str(chapter)))


def _notes(number: int) -> str:
    """Return a different report or summary of 1,200 characters each time."""
    return (f"Up to chapter {number} the river rose and the bridge held. " * 25)[:1_200]


def _run(recipe: Recipe, script: Any) -> tuple[Outcome, list[Body]]:
    with FakeOpenAI(script) as server:
        model = openai_model("fake", base_url=server.base_url, api_key="", native=recipe.protocol == "native")
        shared = RunContext(lambda name: model, Toolbox([Chronicle()]), meter=Meter(Budget()))
        *_, last = execute(Run(QUESTION, recipe, shared), "bench")
        if not isinstance(last, RunFinished) or last.status != "completed":
            raise RuntimeError(f"{recipe.label} did not end as it should: {last}")
        return last.outcome, server.requests


def curves(rounds: int) -> dict[str, Growth]:
    """Return every curve of the picture, by its name."""
    return {
        "react / full": measure("react", "full", rounds),
        "react / window": measure("react", "window", rounds, k=WINDOW),
        "react / resum": measure("react", "resum", rounds, max_tokens=RESUM_TOKENS),
        "react / evolving": measure("react", "evolving", rounds),
        "iter_research / evolving": measure("iter_research", "evolving", rounds),
    }


def table(found: dict[str, Growth], rounds: int) -> str:
    """Return the sizes at some rounds as a Markdown table."""
    shown = [number for number in SHOWN if number <= rounds]
    lines = [
        f"| prompt tokens in round | {' | '.join(map(str, shown))} | largest, with summaries | all requests together |",
        f"|---|{'---:|' * (len(shown) + 2)}",
    ]
    for name, growth in found.items():
        cells = [f"{growth.prompts[number - 1]:,}" for number in shown]
        together = sum(growth.prompts) + sum(growth.others)
        lines.append(f"| {name} | {' | '.join(cells)} | {growth.largest:,} | {together:,} |")
    return "\n".join(lines)


def rewoo_table(counts: Sequence[int] = (5, 20, 50)) -> str:
    """Return the model calls of ReWOO as a Markdown table."""
    lines = [
        f"| steps of the plan | {' | '.join(map(str, counts))} |\n|---|{'---:|' * len(counts)}",
        f"| model calls of rewoo | {' | '.join(str(rewoo_calls(steps)) for steps in counts)} |",
    ]
    return "\n".join(lines)


def panels(found: dict[str, Growth]) -> list[Panel]:
    """Draw all curves, and the bounded ones in close-up."""
    curves = {name: (range(1, len(each.prompts) + 1), each.prompts) for name, each in found.items()}
    bounded = {name: curve for name, curve in curves.items() if name != "react / full"}
    return [Panel("All: prompt tokens at the server", curves), Panel("Close up, without react / full", bounded)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.prompt_growth", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--svg", type=Path, default=Path("docs/images/prompt-growth.svg"))
    arguments = parser.parse_args()
    found = curves(arguments.rounds)
    print(table(found, arguments.rounds), rewoo_table(), sep="\n\n")
    draw(arguments.svg, panels(found), "Prompt tokens by round for each framework and context strategy")


if __name__ == "__main__":
    main()
