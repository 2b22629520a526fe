"""What the documents say is so: the example runs, the options exist, the picture shows the layers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from research import registry
from research.cells import table
from research.registry import Entry
from tests.unit.test_imports import LAYERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
JAPAN = "What is the population of Japan?"


def example() -> str:
    (code,) = re.findall(r"^```python\n(.*?)^```", (DOCS / "adding-a-framework.md").read_text("utf-8"), re.M | re.S)
    return code


def run_example(folder: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process that finds the example among the frameworks."""
    (folder / "iter_retgen.py").write_text(example(), encoding="utf-8")
    code = (
        "import sys, research.frameworks\n"
        f"research.frameworks.__path__.append({str(folder)!r})\n"
        "from research.__main__ import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    environment = {**os.environ, "WORKBENCH_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, "run", JAPAN, "--framework", "iter_retgen", "--json", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_the_example_is_short() -> None:
    lines = [line for line in example().splitlines() if line.strip()]
    assert len(lines) <= 20


def test_the_example_runs_with_a_scripted_model(home: Path, tmp_path: Path) -> None:
    drafts = ["Many people live there [1].", "Japan has 123,201,945 people [1]."]
    lines = [json.dumps({"text": f"<answer>{draft}</answer>"}) for draft in drafts]
    (tmp_path / "script.jsonl").write_text("\n".join(lines), encoding="utf-8")
    done = run_example(tmp_path, home, "--model", f"scripted:{tmp_path / 'script.jsonl'}")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["outcome"], found["answer"]) == ("answered", drafts[1])
    assert (found["usage"]["model_calls"], found["usage"]["tool_calls"]) == (2, 2)
    assert f"search {JAPAN} Many people live there" in done.stderr, "the second search holds the first draft"


@pytest.mark.parametrize("context", ["full", "window", "resum", "evolving"])
def test_the_example_answers_offline_under_every_strategy(home: Path, tmp_path: Path, context: str) -> None:
    done = run_example(tmp_path, home, "--context", context)
    assert done.returncode == 0, done.stderr
    assert "123,201,945" in json.loads(done.stdout)["answer"]


def test_the_options_of_the_example_are_checked(home: Path, tmp_path: Path) -> None:
    done = run_example(tmp_path, home, "--set", "framework.rounds=11")
    assert done.returncode == 2
    assert "a whole number from 1 to 10 is accepted" in done.stderr


def written(value: object) -> str:
    """A default as the document writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)


@pytest.mark.parametrize("entry", [*registry.framework.all(), *registry.context.all()], ids=lambda entry: entry.id)
def test_every_option_is_in_the_document_with_its_default(entry: Entry[object]) -> None:
    text = (DOCS / "frameworks.md").read_text("utf-8")
    (section,) = re.findall(rf"^### `{entry.id}`: {re.escape(entry.title)}\n(.*?)(?=^##|\Z)", text, re.M | re.S)
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|", section, re.M)
    assert rows == [(option.name, written(option.default), option.accepts) for option in entry.options]


def test_the_document_holds_the_table_of_cells() -> None:
    assert table() in (DOCS / "frameworks.md").read_text("utf-8"), "paste research.cells.table()"


def test_the_picture_shows_the_layers_that_are_checked() -> None:
    text = (DOCS / "architecture.md").read_text("utf-8")
    drawn = re.findall(r'L\d\["([\w, ]+)"\]', text)
    assert [set(names.split(", ")) for names in reversed(drawn)] == LAYERS


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda path: path.name)
def test_links_and_modules_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (path.parent / link).exists(), link
    for module in re.findall(r"python -m (bench\.\w+)", text):
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists(), module
