"""Write every prompt that a model gets to docs/prompts: python -m bench.prompts

A scripted player behind a real OpenAI-compatible server does what each framework asks, in each protocol and language.
Each file shows, for every purpose, the first request and the longest one as they reached the server: messages, calls and
the names of the offered tools.  The descriptions of the tools are in the files of tagged prompts.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from research import plugins
from research.agent.budget import Meter
from research.agent.context import RunContext
from research.agent.lifecycle import execute
from research.agent.run import Run
from research.agent.toolbox import Toolbox
from research.defaults import FRAMEWORKS
from research.events.recipe import Budget, Recipe
from research.prompts import today
from research.protocols.protocol import ProtocolName
from research.tools.scholar import ScholarTool
from research.tools.search import SearchTool
from research.types import Passage, ToolOutput
from tests.fake_openai import Body, FakeOpenAI
from tests.player import Player, purpose_of
from tests.served import openai_model

FOLDER = Path(__file__).parents[1] / "docs" / "prompts"
QUESTIONS = {"en": "How many people live in Japan?", "zh": "日本有多少人口？"}
PASSAGE = Passage("https://example.org/japan", "Japan", "Japan has 123,201,945 people.")
PROTOCOLS: tuple[ProtocolName, ...] = ("native", "tagged")
LAPS = 2
"""Rounds before the player answers."""


class _Search:
    """The search tool as models see it, which finds one passage."""

    timeout_s = 10.0
    spec = SearchTool([]).spec

    def __call__(self, query: str, **_: Any) -> ToolOutput:
        return ToolOutput("", (PASSAGE,))


def requests(
    framework: str, protocol: ProtocolName, language: str, budget: Budget | None = None, **options: Any
) -> list[Body]:
    """Return the requests of a run as they reach the server; `options` are the framework's."""
    context = plugins.framework.get(framework).default_context
    recipe = Recipe(framework=framework, framework_options=options, context=context, protocol=protocol, novelty=False)
    with FakeOpenAI(Player(protocol, LAPS)) as server:
        model = openai_model("fake", base_url=server.base_url, api_key="", native=protocol == "native")
        shared = RunContext(lambda name: model, Toolbox([_Search(), ScholarTool([])]), meter=Meter(budget or Budget()))
        for _ in execute(Run(QUESTIONS[language], recipe, shared), "prompts"):
            pass
        return server.requests


def page(framework: str, protocol: ProtocolName, language: str) -> str:
    """Return one file: the first and the last request for each purpose."""
    made: dict[str, list[Body]] = {}
    for body in requests(framework, protocol, language):
        made.setdefault(purpose_of(body), []).append(body)
    lines = [f"# {framework}, {protocol}, {language}", ""]
    for purpose, bodies in made.items():
        bodies.sort(key=lambda body: (len(body["messages"]), json.dumps(body)))  # agents work at the same time
        lines += [f"## {purpose}: the first request", "", *_request(bodies[0])]
        if len(bodies[-1]["messages"]) > len(bodies[0]["messages"]):
            lines += [f"## {purpose}: the longest request", "", *_request(bodies[-1])]
    return "\n".join(lines).replace(today(), "2026-01-01").rstrip() + "\n"


def _request(body: Body) -> Iterator[str]:
    if tools := [each["function"]["name"] for each in body.get("tools") or ()]:
        forced = ", one of which must be called" if body.get("tool_choice") == "required" else ""
        yield from (f"Tools: {', '.join(tools)}{forced}", "")
    for message in body["messages"]:
        calls = "".join(f"\n→ {_call(each)}" for each in message.get("tool_calls") or ())
        yield from (
            f"**{message['role']}**",
            "",
            "````text",
            f"{message.get('content') or ''}{calls}".strip(),
            "````",
            "",
        )


def _call(call: Mapping[str, Any]) -> str:
    arguments = json.loads(call["function"]["arguments"])
    return f"{call['function']['name']} {json.dumps(arguments, ensure_ascii=False)}"


def pages() -> Iterator[tuple[Path, str]]:
    """Yield every file with its content."""
    for framework in FRAMEWORKS:
        for protocol in PROTOCOLS:
            for language in QUESTIONS:
                text = page(framework, protocol, language)
                yield FOLDER / f"{framework}.{protocol}.{language}.md", re.sub(r"[ \t]+$", "", text, flags=re.M)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for path, text in pages():
        path.write_text(text, "utf-8")
    print(f"{len(list(FOLDER.glob('*.*.md')))} files in {FOLDER.relative_to(FOLDER.parents[1])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
