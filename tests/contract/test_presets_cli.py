"""The command `run --preset`: the preset's choices, and options that override them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from research.cli.main import main

QUESTION = "What is the population of Japan?"


def recipe(home: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["run", QUESTION, "--home", str(home), "--json", *arguments]) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)["recipe"]
    return shown


def test_options_on_the_command_line_override_a_preset(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = recipe(home, capsys, "--preset", "deep")
    assert (deep["framework"], deep["context"]) == ("iter_research", "evolving")
    mine = recipe(home, capsys, "--preset", "Deep", "--framework", "react", "--set", "framework.rounds=4")
    assert (mine["framework"], mine["context"]) == ("react", "full")
    assert mine["options"] == {"framework": {"rounds": 4}, "context": {}}
    bare = recipe(home, capsys)
    assert (bare["framework"], bare["context"]) == ("react", "full")


def test_an_unknown_preset_is_refused_with_the_known_names(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", QUESTION, "--home", str(home), "--preset", "Deeep"]) == 2
    said = capsys.readouterr().err
    assert "unknown preset 'Deeep'" in said
    assert "High reliability" in said
