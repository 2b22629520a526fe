"""Run the tutorials as written: save their files where they say and run their commands."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from research.config.settings import load
from research.events.events import Asked, Event
from research.protocols.tagged import write_call
from research.types import Message
from research.workbench.workbench import Workbench
from tests.command import Cli
from tests.warm import Warm
from tests.workers import LONG_S

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXTENDED = ("frameworks", "contexts", "models")
JAPAN = "What is the population of Japan?"
FRAMEWORK, CONTEXT, MODEL, TOOL = "adding-a-framework", "adding-a-context-strategy", "adding-a-model", "adding-a-tool"

INSIDE = f"""
import sys
import research.frameworks, research.contexts, research.models
for name in {EXTENDED!r}:
    getattr(research, name).__path__.append(f"research/{{name}}")
from research.cli.main import main
sys.exit(main())
"""
"""Starts the command line as if `research/` in the current folder were part of the package."""


class Tutorial:
    """The files and commands of a tutorial in docs/."""

    def __init__(self, name: str) -> None:
        text = (DOCS / f"{name}.md").read_text("utf-8")
        self.files: dict[str, str] = dict(
            re.findall(r"[Ss]ave (?:it|this)(?:\s+as)\s+`([^`]+)`[^:]*:\n\n```\w+\n(.*?)^```", text, re.M | re.S)
        )
        shells = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S))
        self.commands = [shlex.split(line, comments=True)[3:] for line in shells.splitlines()]
        assert all(line.startswith("python -m research ") for line in shells.splitlines())

    @property
    def code(self) -> str:
        (found,) = (text for path, text in self.files.items() if path.endswith(".py"))
        return found

    def save(self, folder: Path) -> None:
        for path, text in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")


class Desk:
    """A folder in which the commands of a tutorial run."""

    def __init__(self, folder: Path, home: Path, warm: Warm) -> None:
        self.folder, self.home, self._warm = folder, home, warm
        self.start: list[str] = []
        self.environment: Mapping[str, str] = {}

    def give(self, *words: str) -> subprocess.CompletedProcess[str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {
            **os.environ, "WORKBENCH_HOME": str(self.home), "PYTHONPATH": str(ROOT), "PATH": path, **self.environment
        }  # fmt: skip
        if not self.start:
            return self._warm.run(words, cwd=self.folder, environment=environment, code=INSIDE)
        command = [sys.executable, *self.start, *words]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=LONG_S
        )

    def ask(self, *words: str) -> dict[str, Any]:
        """Return the output of `run --json` for a finished run."""
        done = self.give(*words, "--json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def events(self, run_id: str) -> list[Event]:
        return Workbench(load(home=self.home)).store.events(run_id)


@pytest.fixture
def desk(tmp_path: Path, home: Path, warm: Warm) -> Desk:
    folder = tmp_path / "desk"
    folder.mkdir()
    return Desk(folder, home, warm)


@pytest.mark.parametrize("name", [FRAMEWORK, CONTEXT, MODEL, TOOL])
def test_each_tutorial_is_one_short_file(name: str) -> None:
    lines = [line for line in Tutorial(name).code.splitlines() if line.strip()]
    assert len(lines) < 40


@pytest.fixture(params=["inside", "beside"])
def place(request: pytest.FixtureRequest, desk: Desk) -> Desk:
    """The tutorial's framework, in the package or outside it with the start script of docs/extending.md."""
    tutorial = Tutorial(FRAMEWORK)
    tutorial.save(desk.folder)
    if request.param == "beside":
        (inside,) = desk.folder.glob("research/frameworks/*.py")
        inside.rename(desk.folder / inside.name)
        Tutorial("extending").save(desk.folder)
        desk.start = ["mine.py"]
    return desk


@pytest.mark.examples(1)
def test_the_tutorial_framework_drafts_and_searches_again(place: Desk, cli: Cli) -> None:
    """And commands of a process without its file, such as this one, show the run."""
    scripted, _ = Tutorial(FRAMEWORK).commands
    done = place.give(*scripted, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["outcome"], found["report"]) == ("answered", "Japan has 123,201,945 people [1].")
    assert (found["usage"]["model_calls"], found["usage"]["tool_calls"]) == (2, 2)
    assert f"search {JAPAN} Many people live there" in done.stderr, "the second search must contain the first draft"
    run_id = found["run_id"]
    assert "Japan has 123,201,945 people" in cli("show", run_id).out
    assert "search" in cli("replay", run_id).out
    assert "Japan has 123,201,945 people" in cli("export", run_id).out
    refused = cli("run", JAPAN, "--framework", "iter_retgen")
    assert (refused.status, "unknown framework 'iter_retgen'" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "context",
    ["full", *(pytest.param(each, marks=pytest.mark.slow) for each in ("window", "resum", "evolving"))],
)
def test_the_tutorial_framework_answers_offline_with_every_strategy(desk: Desk, context: str) -> None:
    tutorial = Tutorial(FRAMEWORK)
    tutorial.save(desk.folder)
    _, offline = tutorial.commands
    found = desk.ask(*offline, "--context", context)
    assert "123,201,945" in found["answer"]
    assert found["usage"]["tool_calls"] == 3


@pytest.mark.slow
def test_the_options_of_the_tutorial_framework_are_checked(desk: Desk) -> None:
    Tutorial(FRAMEWORK).save(desk.folder)
    done = desk.give("run", JAPAN, "--framework", "iter_retgen", "--set", "framework.rounds=11")
    assert done.returncode == 2
    assert "expected a whole number from 1 to 10" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number, shown", [(0, [0, 1, 2, 3]), (1, [0, 1, 2, 2, 2, 2, 2])])
def test_the_tutorial_strategy_shows_the_first_and_last_rounds(desk: Desk, number: int, shown: list[int]) -> None:
    """It leaves out the rounds between."""
    tutorial = Tutorial(CONTEXT)
    tutorial.save(desk.folder)
    found = desk.ask(*tutorial.commands[number])
    asked = [event for event in desk.events(found["run_id"]) if isinstance(event, Asked)]
    assert [event.rounds_shown for event in asked] == shown
    assert [event.rounds_so_far for event in asked] == list(range(len(shown)))
    assert found["answer"] == "Germany"
    prompt: tuple[Message, ...] = ()
    for event in asked:
        prompt = (*prompt[: event.keep], *event.messages)
    left = re.findall(r'<tool_response id="main-(\d+)-', "".join(message.content for message in prompt))
    assert set(left) == ({"1", "6"} if number else {"1", "2", "3"}), "call ids contain the number of their request"


class Ollama(BaseHTTPRequestHandler):
    """A fake Ollama that responds as its reference says: JSON lines, the last of which is `done`."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = body["messages"][-1]["content"]
        text = "<answer>Japan has 123,201,945 people [1].</answer>" if "<tool_response" in said else (
            write_call("search", query="Japan population")
        )  # fmt: skip
        status, parts = 200, [{"message": {"role": "assistant", "content": word}, "done": False} for word in text[:3]]
        parts += [{"message": {"role": "assistant", "content": text[3:]}, "done": False}]
        last = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
        match body["model"]:
            case "absent":
                status, parts = 404, [{"error": "model 'absent' not found"}]
            case "cut":
                pass
            case _:
                parts.append({**last, "prompt_eval_count": 26, "eval_count": 5})
        self.send_response(status)
        self.end_headers()
        self.wfile.write("".join(json.dumps(part) + "\n" for part in parts).encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def modelled(desk: Desk) -> Iterator[Desk]:
    Tutorial(MODEL).save(desk.folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), Ollama) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        desk.environment = {"OLLAMA_URL": f"http://127.0.0.1:{server.server_port}"}
        try:
            yield desk
        finally:
            server.shutdown()
            thread.join()


def test_the_tutorial_model_calls_a_tool_and_answers(modelled: Desk) -> None:
    (words,) = Tutorial(MODEL).commands
    found = modelled.ask(*words)
    assert (found["outcome"], found["report"]) == ("answered", "Japan has 123,201,945 people [1].")
    assert [source["url"].startswith("library://factbook/") for source in found["sources"][:1]] == [True]
    usage = found["usage"]
    assert (usage["model_calls"], usage["prompt_tokens"], usage["completion_tokens"]) == (2, 52, 10)


@pytest.mark.slow
def test_an_unknown_model_fails_the_run_with_the_servers_message(modelled: Desk) -> None:
    done = modelled.give("run", JAPAN, "--model", "plain_ollama:absent", "--json")
    assert done.returncode == 1
    assert "model 'absent' not found" in json.loads(done.stdout)["error"]


@pytest.mark.slow
def test_a_truncated_reply_is_discarded_and_pauses_the_run(modelled: Desk) -> None:
    done = modelled.give("run", JAPAN, "--model", "plain_ollama:cut", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["status"]) == (4, "paused"), "the run must be paused"
    assert "broke off" in found["error"]
    assert found["usage"]["model_calls"] == 0


def test_the_tutorial_tool_is_listed_called_and_cited(desk: Desk) -> None:
    tutorial = Tutorial(TOOL)
    tutorial.save(desk.home)
    (desk.folder / "replies.jsonl").write_text(tutorial.files["replies.jsonl"], encoding="utf-8")
    listing, asking = tutorial.commands
    listed = desk.give(*listing)
    assert listed.returncode == 0, listed.stderr
    assert "1 tools: sales__sales" in listed.stdout
    found = desk.ask(*asking)
    assert (found["outcome"], found["report"]) == ("answered", "We sold for 1,410,000 euros in the north in 2025 [1].")
    (source,) = found["sources"]
    assert source["url"].startswith("mcp://sales/sales")
    assert [each["status"] for each in found["citations"]] == ["unverified"], (
        "the words around the figure are for a judge"
    )


@pytest.mark.slow
def test_the_tutorial_tool_suggests_valid_arguments_to_the_model(desk: Desk) -> None:
    Tutorial(TOOL).save(desk.home)
    lines = [write_call("sales__sales", year=1999, region="north"), "<answer>There is no figure for 1999.</answer>"]
    script = "\n".join(json.dumps({"text": line}) for line in lines)
    (desk.folder / "script.jsonl").write_text(script, encoding="utf-8")
    found = desk.ask("run", "What did we sell in 1999?", "--mcp", "sales", "--model", "scripted:script.jsonl")
    assert "No figure for north in 1999; there are the years 2024, 2025." in json.dumps(found)
