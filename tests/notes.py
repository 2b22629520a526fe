"""A workbench with a folder of notes, for tests of the offline model's answers from prose."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from research.config.settings import load
from research.workbench.workbench import Workbench


def noted(tmp_path_factory: pytest.TempPathFactory, texts: Mapping[str, str]) -> tuple[Workbench, str]:
    """Return a workbench and the folder with one document per title and text."""
    home = tmp_path_factory.mktemp("noted")
    folder = home / "notes"
    folder.mkdir()
    for number, (title, text) in enumerate(texts.items()):
        (folder / f"{number}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
    bench = Workbench(load(home=home / "home"))
    bench.prepare([str(folder)], lambda done, total, what: None)
    return bench, str(folder)
