"""Every context strategy shows a passage once in a prompt; events keep each result in full."""

from __future__ import annotations

import json
from typing import Any

import pytest

from research.agent.budget import Meter
from research.agent.context import RunContext
from research.agent.lifecycle import execute
from research.agent.run import Run
from research.agent.toolbox import Toolbox
from research.events.events import ToolFinished
from research.events.recipe import Budget, Recipe
from research.protocols.protocol import ProtocolName
from research.tools.search import SearchTool
from research.types import Passage, ToolOutput
from tests.fake_openai import Body, FakeOpenAI
from tests.player import QUESTION, Player, purpose_of
from tests.served import openai_model

LINE = "Japan has 123,201,945 people in 2024, of whom 92 in a hundred live in cities (2023 est.)."
LAPS = 5
BOTH = pytest.mark.parametrize("protocol", ["native", "tagged"])


class _Search:
    """Finds the same passage whatever is asked."""

    timeout_s = 10.0
    spec = SearchTool([]).spec

    def __call__(self, query: str, **_: Any) -> ToolOutput:
        return ToolOutput("", (Passage("https://example.org/japan", "Japan", LINE),))


def ran(context: str, protocol: ProtocolName, framework: str = "react", **options: Any) -> tuple[list[Body], list[str]]:
    """Return the requests of a run in rounds, as they reach the server, and the texts of its observations."""
    recipe = Recipe(framework=framework, context=context, context_options=options, protocol=protocol, novelty=False)
    with FakeOpenAI(Player(protocol, LAPS)) as server:
        model = openai_model("fake", base_url=server.base_url, api_key="", native=protocol == "native")
        shared = RunContext(lambda name: model, Toolbox([_Search()]), meter=Meter(Budget()))
        events = list(execute(Run(QUESTION, recipe, shared), "repeats"))
        seen = [event.observation.text for event in events if isinstance(event, ToolFinished)]
        return [body for body in server.requests if purpose_of(body) == "act"], seen


def times(body: Body) -> int:
    return json.dumps(body["messages"], ensure_ascii=False).count(LINE)


@BOTH
@pytest.mark.parametrize(
    ("framework", "context", "options"),
    [
        ("react", "full", {}),
        ("react", "window", {"k": 2}),
        ("react", "resum", {}),
        ("react", "evolving", {}),
        ("iter_research", "evolving", {}),
        ("tool_rounds", "full", {}),
    ],
)
def test_a_prompt_shows_a_passage_once(
    framework: str, context: str, options: dict[str, Any], protocol: ProtocolName
) -> None:
    requests, seen = ran(context, protocol, framework, **options)
    assert [times(body) for body in requests] == [0] + [1] * LAPS
    assert len(seen) == LAPS
    assert all(LINE in text for text in seen)


@BOTH
def test_a_prompt_begins_as_the_one_before(protocol: ProtocolName) -> None:
    requests, _ = ran("full", protocol)
    for before, after in zip(requests, requests[1:], strict=False):
        assert after["messages"][: len(before["messages"])] == before["messages"]
