"""`visit` chooses the passages of a long document by its goal."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from research import plugins
from research.agent.toolbox import Toolbox
from research.config.settings import load
from research.events.recipe import Recipe
from research.tools.visit import SHOWN
from research.types import ToolCall
from research.workbench.workbench import Workbench

WANTED = "All in all ninety people work for the line."


@pytest.mark.parametrize("goal", ["size of its workforce", "这家公司有多少名员工？", "How big is the staff?"])
def test_a_goal_in_other_words_or_another_language_finds_its_passage(tmp_path: Path, goal: str) -> None:
    filler = [f"On day {i} the ship sailed past the lighthouse." for i in range(400)]
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "ferries.md").write_text("\n\n".join([*filler[:200], WANTED, *filler[200:]]), encoding="utf-8")
    bench = Workbench(load(home=tmp_path / "home"))
    bench.library.add_folder(folder)
    (info,) = bench.library.documents(str(folder))
    recipe = Recipe(folders=(str(folder),))
    tool = plugins.tool.get("visit").function(bench, recipe, threading.Event())
    with Toolbox([tool]).begin(ToolCall("1", "visit", {"url": info.url, "goal": goal})) as pending:
        result = pending.result()
    assert result.ok
    assert len(result.passages[0].quote) <= SHOWN
    assert WANTED in result.passages[0].quote
    assert result.passages[0].quote.splitlines()[0] != WANTED
