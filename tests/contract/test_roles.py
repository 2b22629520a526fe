"""Each role, or a single purpose, can have its own model."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import research
from research import plugins
from research.errors import ConfigError
from research.events.recipe import Recipe, roles_by_purpose
from research.events.view import step_purposes
from research.workbench.workbench import Workbench

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
    plugins.register("framework", digging, "Digging", prompt="react", purposes={"dig": "planner"}, steps=("dig",))
    try:
        assert roles_by_purpose()["dig"] == "planner"
        assert "dig" in step_purposes()
    finally:
        plugins.framework.remove("digging")
    assert "dig" not in step_purposes()


def test_the_writer_model_writes_the_report(bench: Workbench, script: Callable[..., str]) -> None:
    writer = script({"text": "<answer>Written by the writer.</answer>"})
    view = research.run(
        "What is the population of Japan?", workbench=bench, roles={"writer": writer}, options={"framework.rounds": 1}
    )
    assert "Written by the writer." in view.report


def test_an_unknown_role_gives_an_error_with_the_known_ones(bench: Workbench) -> None:
    with pytest.raises(ConfigError, match="unknown role 'sumariser'; known: planner.*summariser"):
        bench.recipe(roles={"sumariser": "extractive"})
