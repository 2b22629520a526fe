"""Every framework does a job of five rounds with services that behave as real ones do (docs/conformance.md)."""

from __future__ import annotations

import json
from itertools import cycle, product
from pathlib import Path

import pytest

import research
from research import defaults
from research.config.settings import load
from research.events.view import fold
from research.workbench.workbench import Workbench
from tests.conformance.behaviours import ALL, ELSEWHERE, NOT_PLAYED
from tests.conformance.servers import Behaviour, serve
from tests.conformance.table import lines
from tests.conftest import linked_home
from tests.player import QUESTION

ROOT = Path(__file__).parents[2]
KEY = "sk-0123456789abcdefghijklmn"

_frameworks = cycle(defaults.FRAMEWORKS)
# `make test` plays a dozen of the behaviours, every other one streamed; faults, which are counted, to one agent.
CHOSEN = {each.id: "react" if each.faults else next(_frameworks) for each in ALL}
CASES = [
    pytest.param(
        each, mode, framework, id=f"{each.id}-{mode}-{framework}",
        marks=() if (mode, framework) == (each.modes[number % len(each.modes)], CHOSEN[each.id]) else pytest.mark.slow,
    )
    for number, each in enumerate(ALL)
    for mode, framework in product(each.modes, defaults.FRAMEWORKS)
    if framework != each.apart
]  # fmt: skip


@pytest.fixture(scope="module")
def place(prepared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked_home(prepared_home, tmp_path_factory.mktemp("conformance") / "home")


@pytest.mark.examples(12)
@pytest.mark.parametrize(("behaviour", "mode", "framework"), CASES)
def test_a_job_of_five_rounds_is_done_with_each_behaviour(
    place: Path, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour, mode: str, framework: str
) -> None:
    name = behaviour.service.partition(" ")[0]
    with serve(behaviour) as server:
        entry = {"kind": name, "url": server.base_url, "key": KEY, **behaviour.entry}
        if mode == "plain":
            entry["quirks"] = {**entry.get("quirks", {}), "streams": False}
        monkeypatch.setenv("WORKBENCH_ENDPOINTS", json.dumps({"mine": entry}))
        bench = Workbench(load(home=place))
        recipe = {"model": "mine:fake", **behaviour.recipe}
        recipe["model"] = recipe["model"].replace("anthropic:", "mine:")
        view = fold(research.stream(QUESTION, workbench=bench, framework=framework, protocol="native", **recipe))
    assert view.traceback == ""
    if behaviour.ends == "failed":
        assert view.status == "failed"
        assert behaviour.says in f"{view.error} {view.answer}"
        return
    assert (view.error, view.outcome) == ("", behaviour.ends)
    assert server.player.refused == []
    if not behaviour.learns:
        assert server.problems == []
    else:
        assert len(server.problems) <= 4, "what a service refuses is learned"  # by agents that ask at once, each
    if framework == "react":
        assert len(server.requests) >= 5


def test_the_page_is_current_and_has_every_behaviour_once() -> None:
    assert (ROOT / "docs/conformance.md").read_text("utf-8") == "\n".join(lines()) + "\n"
    ids = [each.id for each in ALL] + [*ELSEWHERE, *NOT_PLAYED]
    assert len(ids) == len(set(ids))
    assert all((ROOT / "tests/contract" / test).exists() for _, _, test in ELSEWHERE.values())
