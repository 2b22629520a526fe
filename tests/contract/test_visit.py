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
from research.types import ToolCall, ToolOutput
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


def visited(tmp_path: Path, name: str, data: bytes, goal: str) -> ToolOutput:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / name).write_bytes(data)
    bench = Workbench(load(home=tmp_path / "home"))
    bench.library.add_folder(folder)
    (info,) = bench.library.documents(str(folder))
    recipe = Recipe(folders=(str(folder),))
    return plugins.tool.get("visit").function(bench, recipe, threading.Event())(url=info.url, goal=goal)


@pytest.mark.examples(1)
@pytest.mark.parametrize("at", [0, 2_000, 3_999])
def test_a_long_document_is_searched_to_its_end(tmp_path: Path, at: int) -> None:
    lines = [f"On day {i} the ship sailed past the lighthouse." for i in range(4_000)]
    lines.insert(at, "The Zelkova dam has a height of 93 metres.")
    found = visited(tmp_path, "log.txt", "\n".join(lines).encode(), "height of the Zelkova dam")
    assert "93 metres" in found.passages[0].quote
    assert f"of its {len(chr(10).join(lines)):,} characters" in found.text


def test_a_document_that_is_read_whole_has_no_remark(tmp_path: Path) -> None:
    assert visited(tmp_path, "log.txt", b"The dam is 93 metres high.", "height").text == ""
