"""Every framework with every context strategy that it supports: offline, and against a server in both protocols."""

from __future__ import annotations

from pathlib import Path

import pytest

import research
from research import defaults, plugins
from research.config.settings import load
from research.errors import ConfigError
from research.events import events as e
from research.events.view import fold
from research.protocols.protocol import ProtocolName
from research.text import has_cjk
from research.types import HOLDS
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.recipes import pairs
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_openai import FakeOpenAI
from tests.pairwise import slow_but_each_value
from tests.player import QUESTION, Player

CELLS = pairs()
MATRIX = [(framework, context, protocol) for framework, context in CELLS for protocol in ("native", "tagged")]
LOOPS = {"parallel": "main/run-1", "reflexion": "main/trial-1", "supervisor": "main/researcher-1"}
"""The agent that does the rounds, if it is not the main one."""


@pytest.fixture(scope="module")
def place(prepared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that the tests of this file share, because none of them changes the library."""
    return linked_home(prepared_home, tmp_path_factory.mktemp("frameworks") / "home")


@pytest.fixture
def offline(place: Path) -> Workbench:
    return Workbench(load(home=place))


def test_the_defaults_name_every_registered_framework_and_strategy() -> None:
    assert sorted(defaults.FRAMEWORKS) == plugins.framework.names()
    assert sorted(defaults.CONTEXTS) == plugins.context.names()


@pytest.mark.parametrize(("framework", "context"), [("rewoo", "evolving")])
def test_an_unsupported_combination_is_refused_with_the_reason(
    offline: Workbench, framework: str, context: str
) -> None:
    with pytest.raises(ConfigError, match=plugins.framework.get(framework).refuses[context][:20]):
        offline.recipe(framework=framework, context=context)


@pytest.mark.parametrize(("framework", "context"), slow_but_each_value(CELLS))
def test_the_example_question_is_answered_offline(offline: Workbench, framework: str, context: str) -> None:
    view = research.run(EXAMPLE_QUESTION, workbench=offline, model="extractive", framework=framework, context=context)
    # ReWOO plans all calls before it has a figure, so it cannot compute with them.
    outcome = "partly_answered" if framework == "rewoo" else "answered"
    assert (view.status, view.outcome, view.error) == ("completed", outcome, "")
    assert "$3.732 trillion" in view.answer
    assert view.citations
    assert {citation.status for citation in view.citations} <= HOLDS
    assert {source.title.split(" · ")[0] for source in view.cited_sources} == {"France"}


@pytest.mark.examples(3)
@pytest.mark.parametrize("framework", defaults.FRAMEWORKS)
def test_the_example_question_is_answered_in_chinese(offline: Workbench, framework: str) -> None:
    question = "法国2024年的实际国内生产总值（购买力平价）是多少？比2023年增长了多少？"
    view = research.run(question, workbench=offline, model="extractive", framework=framework)
    outcome = "partly_answered" if framework == "rewoo" else "answered"
    assert (view.status, view.outcome) == ("completed", outcome)
    assert "3.732" in view.answer
    assert has_cjk(view.answer)


def test_the_frameworks_take_different_steps(offline: Workbench) -> None:
    shapes = set()
    for framework in defaults.FRAMEWORKS:
        view = research.run(EXAMPLE_QUESTION, workbench=offline, model="extractive", framework=framework)
        shapes.add((tuple(sorted(view.agents)), tuple(sorted({r.purpose for r in view.rounds})), bool(view.reports)))
    # ReAct and tool rounds take the same steps unless a question is unclear or something fails.
    assert len(shapes) == len(defaults.FRAMEWORKS) - 1


@pytest.mark.examples(3)
@pytest.mark.parametrize(("framework", "context", "protocol"), slow_but_each_value(MATRIX))
def test_a_run_of_twelve_rounds_over_http_answers(
    place: Path, framework: str, context: str, protocol: ProtocolName
) -> None:
    player = Player(protocol)
    options = {"framework.rounds": 20} if framework != "rewoo" else {}
    if context == "resum":
        options["context.max_tokens"] = 2500
    if context == "window":
        options["context.k"] = 2
    with FakeOpenAI(player) as server:
        bench = Workbench(load(home=place, openai_base_url=server.base_url))
        events = list(
            research.stream(
                QUESTION, workbench=bench, model="openai:fake", framework=framework, context=context,
                protocol=protocol, options=options,
            )
        )  # fmt: skip
    view = fold(events)
    assert (view.status, view.outcome, view.error) == ("completed", "answered", "")
    assert "123,201,945" in view.answer
    assert "<" not in view.answer, "the answer contains a protocol tag"
    assert player.refused == []
    used = [event.observation for event in events if isinstance(event, e.ToolFinished)]
    own = [seen for seen in used if seen.call_id.startswith(LOOPS.get(framework, "main").replace("/", "-"))]
    assert [seen.name for seen in own].count("search") == 12
    assert all(seen.ok for seen in used)
    if context == "resum" and framework not in ("rewoo", "parallel"):
        assert "summarise" in player.purposes
    if framework == "rewoo":
        assert [purpose for purpose in player.purposes if purpose != "summarise"] == ["plan", "solve"]
