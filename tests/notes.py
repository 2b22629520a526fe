"""A workbench with a folder of notes, for tests of the offline model's answers from prose."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from research.config.settings import load
from research.workbench.workbench import Workbench

Noted = Callable[[Mapping[str, str]], tuple[Workbench, str]]


@pytest.fixture(scope="session")
def noted(prepared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Noted:
    """Returns a function that makes a workbench and a folder with one document per title and text, and returns both."""

    def make(texts: Mapping[str, str]) -> tuple[Workbench, str]:
        place = tmp_path_factory.mktemp("noted")
        folder = place / "notes"
        folder.mkdir()
        for number, (title, text) in enumerate(texts.items()):
            (folder / f"{number}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
        bench = Workbench(load(home=shutil.copytree(prepared_home, place / "home")))
        bench.prepare([str(folder)], lambda done, total, what: None)
        return bench, str(folder)

    return make
