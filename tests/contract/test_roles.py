"""Each role, or a single purpose, can have its own model."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import research
from research import plugins
from research.config.settings import load
from research.errors import ConfigError
from research.events.branches import step_purposes
from research.events.recipe import Recipe, roles_by_purpose
from research.workbench.workbench import Workbench
from tests.fake_openai import FakeOpenAI
from tests.player import QUESTION, Player
from tests.registrations import registering

ROOT = Path(__file__).parents[2] / "research"


def test_a_role_covers_its_purposes_and_a_purpose_overrides_its_role() -> None:
    recipe = Recipe(model="main", roles={"writer": "strong", "solve": "special"})
    assert [recipe.model_for(purpose) for purpose in ("act", "conclude", "solve")] == ["main", "strong", "special"]


def test_every_purpose_in_the_code_belongs_to_a_role() -> None:
    asked = {
        purpose
        for path in [*ROOT.glob("frameworks/*.py"), *ROOT.glob("contexts/*.py"), *ROOT.glob("agent/*.py")]
        for purpose in re.findall(r'(?:\.ask|_frame)\(\s*(?:run, )?"([a-z_]+)"', path.read_text("utf-8"))
    }
    assert {"conclude", "plan", "summarise", "introduce"} <= asked
    assert asked <= roles_by_purpose().keys()


def test_purposes_of_a_framework_that_is_registered_later_are_known() -> None:
    def digging(run: object) -> None:
        """Dig."""

    assert "dig" not in roles_by_purpose()
    with registering():
        plugins.register("framework", digging, "Digging", prompt="react", purposes={"dig": "planner"}, steps=("dig",))
        assert roles_by_purpose()["dig"] == "planner"
        assert "dig" in step_purposes()
    assert "dig" not in step_purposes()


def test_the_writer_model_writes_the_report(bench: Workbench, script: Callable[..., str]) -> None:
    writer = script({"text": "<answer>Written by the writer.</answer>"})
    view = research.run(
        "What is the population of Japan?", workbench=bench, roles={"writer": writer}, options={"framework.rounds": 1}
    )
    assert "Written by the writer." in view.report


@pytest.mark.parametrize("protocol", ["auto", "native"])
def test_a_role_speaks_the_protocol_of_its_own_model(bench: Workbench, protocol: str) -> None:
    with FakeOpenAI(Player("native", laps=1), strict=False) as server:
        own = Workbench(load(home=bench.settings.home, openai_base_url=server.base_url))
        view = research.run(
            QUESTION, workbench=own, model="openai:fake", protocol=protocol, framework="supervisor", context="full",
            roles={"researcher": "extractive"},
        )  # fmt: skip
    asked = [each for each in view.rounds if each.agent != "main"]
    assert any(call.name == "search" for each in asked for call in (each.reply.calls if each.reply else ()))
    assert view.outcome == "answered"
    assert "123,201,945" in view.report.partition("## Part 1")[2].partition("##")[0]
    warned = "extractive has no native tool calls" in "\n".join(note for each in view.rounds for note in each.notes)
    assert warned == (protocol == "native")


def test_a_native_researcher_under_an_offline_writer_is_understood(bench: Workbench) -> None:
    player = Player("native", laps=2)
    with FakeOpenAI(player, strict=False) as server:
        own = Workbench(load(home=bench.settings.home, openai_base_url=server.base_url))
        view = research.run(
            QUESTION, workbench=own, model="extractive", roles={"researcher": "openai:fake"},
            options={"framework.rounds": 2},
        )  # fmt: skip
    assert player.refused == []
    assert [call.name for each in view.rounds for call in (each.reply.calls if each.reply else ())] == ["search"] * 2
    assert "123,201,945" in view.answer, "the writer does not see what the researcher found"


def test_an_unknown_role_gives_an_error_with_the_known_ones(bench: Workbench) -> None:
    with pytest.raises(ConfigError, match="unknown role 'sumariser'; known: planner.*summariser"):
        bench.recipe(roles={"sumariser": "extractive"})
