"""The command line as scripts see it: standard output, exit status, and one-line errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from research.config.settings import load
from research.store.sqlite import SqliteStore
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.workbench import Workbench
from tests.command import Cli
from tests.fake_openai import FakeOpenAI, FakeReply, Silent
from tests.warm import Process, Warm
from tests.workers import LONG_S, until

ROOT = Path(__file__).parents[2]
JAPAN = "How many people live in Japan?"
SEARCH = '<think>Look.</think><tool_call>{"name": "search", "arguments": {"query": "Japan population"}}</tool_call>'
ANSWER = "<answer>Japan has 123,201,945 people [1].</answer>"

Script = Callable[..., str]


def variables(home: Path) -> dict[str, str]:
    """Return the environment of a command in a process of its own."""
    return {**os.environ, "WORKBENCH_HOME": str(home), "PYTHONPATH": str(ROOT)}


@pytest.fixture
def start(home: Path, tmp_path: Path, warm: Warm) -> Iterator[Callable[..., Process]]:
    """Starts a command in a new process and kills it after the test."""
    started: list[Process] = []

    def run(*words: str) -> Process:
        started.append(warm.start(words, cwd=tmp_path, environment=variables(home)))
        return started[-1]

    yield run
    for process in started:
        process.kill()


# What a run prints


def test_run_json_contains_the_documented_keys(cli: Cli, script: Script) -> None:
    done = cli("run", JAPAN, "--model", script(SEARCH, ANSWER), "--json")
    assert done.status == 0
    found = done.json
    assert set(found) >= {
        "run_id", "question", "recipe", "status", "outcome", "answer", "report", "sources", "citations", "rounds",
        "usage", "calls", "seconds",
    }  # fmt: skip
    assert set(found["recipe"]) >= {"framework", "context", "model", "options", "hash"}
    assert set(found["usage"]) >= {"model_calls", "tool_calls", "prompt_tokens", "completion_tokens", "cost_usd"}
    assert set(found["calls"][0]) >= {"agent", "purpose", "prompt_tokens", "completion_tokens", "seconds"}
    assert set(found["sources"][0]) == {"n", "url", "title", "quote", "class"}
    assert set(found["citations"][0]) >= {"n", "claim", "status", "quote", "reason"}
    assert (found["status"], found["outcome"], found["rounds"]) == ("completed", "answered", 2)
    assert found["usage"]["model_calls"] == 2
    assert found["citations"][0]["status"] == "supported"


def test_an_unknown_price_is_null(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI([FakeReply("", calls=[("search", {"query": "Japan population"})]), FakeReply(ANSWER)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        found = cli("run", JAPAN, "--model", "openai:fake", "--json").json
    assert found["outcome"] == "answered"
    assert found["usage"]["cost_usd"] is None
    assert found["usage"]["prompt_tokens"] == 14


def test_progress_goes_to_stderr_and_the_report_to_stdout(cli: Cli, script: Script) -> None:
    done = cli("run", JAPAN, "--model", script(SEARCH, ANSWER))
    assert "123,201,945" in done.out
    assert "[1] Japan · People and Society <library://factbook/" in done.out
    assert "round 2" in done.err
    assert "round 2" not in done.out


def test_options_and_budgets_reach_the_recipe(cli: Cli, script: Script) -> None:
    done = cli(
        "run", JAPAN, "--model", script(SEARCH, ANSWER), "--context", "window", "--set", "framework.rounds=7",
        "--set", "context.k=3", "--budget-tokens", "50000", "--json",
    )  # fmt: skip
    recipe = done.json["recipe"]
    assert recipe["options"] == {"framework": {"rounds": 7}, "context": {"k": 3}}
    assert recipe["budget"] == {"tokens": 50_000}


def test_a_run_saves_its_findings_and_the_next_run_recalls_them(cli: Cli, script: Script) -> None:
    first = cli("run", JAPAN, "--model", script(SEARCH, ANSWER), "--remember", "findings")
    assert first.status == 0
    assert "Kept 1 new entry" in first.err and "Kept 1 new finding\n" in first.out
    again = cli("run", JAPAN, "--model", script(ANSWER), "--recall", "3", "--remember", "findings")
    assert "Recalled 1 entry from memory" in again.err
    assert "Recalled 1 entry from memory\nKept nothing new\n" in again.out, "recalled entries were saved again"
    assert (
        "[1] Japan · People and Society <library://factbook/japan/people-and-society> (primary data, from memory)"
        in again.out
    )
    found = cli("run", JAPAN, "--model", script(ANSWER), "--recall", "3", "--json").json
    assert (found["recipe"]["recall"], found["outcome"]) == (3, "answered")
    (entry,) = found["recalled"]["entries"]
    assert found["sources"][0]["memory"] == entry
    assert json.loads(cli("memory", "list", "--json").out)[0]["id"] == entry
    third = cli("run", JAPAN, "--model", script(SEARCH, ANSWER), "--remember", "findings")
    assert "Kept nothing new (1 known)\n" in third.out and "Recalled" not in third.out
    plain = cli("run", JAPAN, "--model", script(SEARCH, ANSWER), "--json").json
    assert not plain.keys() & {"recalled", "remembered"}


def test_compare_and_fork_accept_the_memory_options(cli: Cli, script: Script) -> None:
    cli("memory", "add", "Count the people of Japan by the census, not by estimates.")
    both = cli(
        "compare", JAPAN, "--recipe", "react/full", "--recipe", "react/window", "--recall", "2", "--remember", "findings",
        "--json",
    ).json["runs"]  # fmt: skip
    assert [each["recipe"]["recall"] for each in both] == [2, 2]
    assert all(each["recalled"]["entries"] and "remembered" in each for each in both)
    fork = cli("fork", both[0]["run_id"], "--round", "1", "--remember", "off", "--json").json
    assert (fork["recipe"].get("remember", "off"), fork["recipe"]["recall"]) == ("off", 2)
    assert "remembered" not in fork


def test_a_spent_token_budget_is_the_outcome_and_the_run_still_answers(cli: Cli, script: Script) -> None:
    usage = cli("run", JAPAN, "--model", script(SEARCH, ANSWER), "--json").json["calls"][0]
    budget = str(usage["prompt_tokens"] + usage["completion_tokens"] + 100)  # a prompt that states its budget is longer
    model = script(SEARCH, SEARCH.replace("Japan", "Kenya"), ANSWER)
    found = cli("run", JAPAN, "--model", model, "--budget-tokens", budget, "--json").json
    assert (found["status"], found["outcome"]) == ("completed", "tokens")
    assert "123,201,945" in found["answer"]


def test_a_time_budget_spent_before_the_first_round_gives_no_evidence(cli: Cli) -> None:
    done = cli("run", JAPAN, "--budget-seconds", "0.000001", "--json")
    assert (done.status, done.json["status"]) == (0, "completed")
    assert done.json["usage"]["model_calls"] == 0
    assert "concluding: time" in done.err
    assert done.json["outcome"] == "no_evidence", "a run without sources has no evidence, whatever ended it"


def test_a_recorded_run_is_replayed_as_a_model(cli: Cli, script: Script) -> None:
    first = cli("run", JAPAN, "--model", script(SEARCH, ANSWER), "--json").json
    again = cli("run", JAPAN, "--model", f"recorded:{first['run_id']}", "--json").json
    assert again["run_id"] != first["run_id"]
    assert (again["answer"], again["outcome"], again["rounds"]) == (first["answer"], "answered", 2)


# Exit status


def test_a_failed_run_exits_with_1_and_the_reason(cli: Cli, script: Script) -> None:
    done = cli("run", JAPAN, "--model", script(SEARCH), "--json")
    assert done.status == 1
    assert done.json["status"] == "failed"
    assert "no line left" in done.json["error"]


def test_a_question_to_the_user_exits_with_3_and_the_reply_resumes_the_run(cli: Cli, script: Script) -> None:
    model = script("<answer>Which year do you mean?</answer>", SEARCH, ANSWER)
    done = cli("run", JAPAN, "--framework", "tool_rounds", "--model", model, "--json")
    assert done.status == 3
    waiting = done.json
    assert (waiting["status"], waiting["prompt"]) == ("waiting_input", "Which year do you mean?")
    refused = cli("resume", waiting["run_id"])
    assert refused.status == 2
    assert "Which year do you mean?" in refused.err
    done = cli("resume", waiting["run_id"], "--reply", "2024", "--json")
    assert (done.status, done.json["outcome"]) == (0, "answered")


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    with Silent() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


def test_ctrl_c_exits_with_4_and_a_report(start: Any, silent: Silent) -> None:
    process = start("run", JAPAN, "--model", "openai:fake")
    assert silent.waits.wait(LONG_S)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert not silent.replied.is_set()
    assert process.returncode == 4
    assert "Japan" in out
    assert "Stopped" in out


def test_a_detached_run_can_be_stopped_from_another_process(start: Any, cli: Cli, silent: Silent, home: Path) -> None:
    process = start("run", JAPAN, "--model", "openai:fake", "--detach")
    out, err = process.communicate()
    assert process.returncode == 0, err
    run_id = out.strip()
    assert silent.waits.wait(LONG_S)
    assert cli("stop", run_id).status == 0
    store = SqliteStore(home / "workbench.sqlite")
    until(lambda: store.run(run_id).status != "running")
    row = store.run(run_id)
    store.close()
    assert not silent.replied.is_set()
    assert (row.status, row.outcome) == ("stopped", "stopped")
    shown = cli("show", run_id, "--json").json
    assert "Japan" in shown["report"], "the stopped run has no report of its findings"
    again = cli("stop", run_id)
    assert again.status == 2
    assert "not running" in again.err


# Invalid input: a one-line error that names it, status 2, and no run


@pytest.mark.examples(11)
@pytest.mark.usefixtures("own_library")  # some calls open the library before they are rejected
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["run", "  "], ["question is empty"]),
        (["run", JAPAN, "--framework", "telepathy"], ["telepathy", "known: iter_research, parallel, react"]),
        (["run", JAPAN, "--context", "crystal"], ["crystal", "window"]),
        (["run", JAPAN, "--framework", "rewoo", "--context", "evolving"], ["rewoo", "evolving", "no rounds"]),
        (["run", JAPAN, "--folder", "/no/such/folder"], ["/no/such/folder"]),
        (["run", JAPAN, "--recall", "21"], ["recall 21", "0 to 20"]),
        (["run", JAPAN, "--recall", "-1"], ["--recall", "-1", "0 for none"]),
        (["run", JAPAN, "--recall", "some"], ["--recall", "'some'", "0 for none"]),
        (["run", JAPAN, "--remember", "all"], ["'all'", "findings", "everything"]),
        (["run", JAPAN, "--tools", "recal"], ["'recal'", "recall, scholar"]),
        (["run", JAPAN, "--model", "gpt-9"], ["gpt-9", "extractive"]),
        (["run", JAPAN, "--model", "openai:x"], ["OPENAI_API_KEY", "OPENAI_BASE_URL"]),
        (["run", JAPAN, "--model", "recorded:nothing"], ["nothing"]),
        (["run", JAPAN, "--model", "scripted:/no/such/script"], ["/no/such/script"]),
        (["run", JAPAN, "--role", "summarise"], ["--role 'summarise'", "NAME=VALUE"]),
        (["run", JAPAN, "--role", "summarise=gpt-9"], ["gpt-9"]),
        (["run", JAPAN, "--set", "framework.rounds=many"], ["rounds='many'", "whole number from 1 to 2,048"]),
        (["run", JAPAN, "--set", "framework.speed=1"], ["speed", "rounds"]),
        (["run", JAPAN, "--set", "rounds=1"], ["'rounds'", "framework.NAME"]),
        (["run", JAPAN, "--tools", "search,hammer"], ["hammer", "python"]),
        (["run", JAPAN, "--search", "moon"], ["moon", "library"]),
        (["run", JAPAN, "--protocol", "native"], ["extractive", "tagged"]),
        (["run", JAPAN, "--budget-tokens", "0"], ["--budget-tokens", "above 0"]),
        (["run", JAPAN, "--budget-usd", "much"], ["--budget-usd", "'much'"]),
        (["run", JAPAN, "--export", "/no/such/folder/report.md"], ["/no/such/folder/report.md", "existing folder"]),
        (["run", JAPAN, "--export", "/proc/report.md"], ["/proc/report.md"]),
        (["run"], ["question"]),
        (["fly"], ["fly"]),
        (["show", "nothing"], ["'nothing'", "runs"]),
        (["stop", "nothing"], ["'nothing'"]),
        (["export", "nothing", "--format", "odt"], ["odt", "jsonl"]),
        (["library", "add", "/no/such/folder"], ["/no/such/folder"]),
        (["library", "remove", "nothing"], ["nothing"]),
    ],
)
def test_an_invalid_call_prints_one_line_and_creates_no_run(
    cli: Cli, home: Path, words: list[str], named: list[str]
) -> None:
    done = cli(*words)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1, done.err
    assert "Traceback" not in done.err
    for text in named:
        assert text in done.err
    assert SqliteStore(home / "workbench.sqlite").runs() == []


def test_a_home_that_cannot_be_created_is_reported(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = cli("runs", "--home", str(tmp_path / "file" / "home"))
    assert done.status == 2
    assert "WORKBENCH_HOME" in done.err


def test_a_wrong_folder_is_reported_before_the_factbook_is_indexed(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", JAPAN, "--folder", "/no/such/folder", "--home", str(tmp_path / "fresh"))
    assert (done.status, done.err.count("\n")) == (2, 1)


@pytest.fixture
def documents(tmp_path: Path, own_library: Path) -> Path:
    """A folder with one good file, a corrupt docx and a pdf of 60 MB."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "bridge.md").write_text("# Bridge\n\nThe Zorblax bridge is 512 metres long.\n", encoding="utf-8")
    (folder / "corrupt.docx").write_text("not a zip")
    with (folder / "large.pdf").open("wb") as large:
        large.truncate(60_000_000)
    return folder


def test_unreadable_files_are_reported_and_the_rest_is_used(cli: Cli, documents: Path, script: Script) -> None:
    model = script(SEARCH.replace("Japan population", "Zorblax bridge"), "<answer>It is 512 metres long [1].</answer>")
    done = cli("run", "How long is the Zorblax bridge?", "--folder", str(documents), "--model", model)
    assert done.status == 0
    assert "[1] Bridge <library://documents-" in done.out
    refused = [line for line in done.err.splitlines() if line.startswith("not read: ")]
    assert len(refused) == 2
    assert "corrupt.docx: is a damaged docx" in refused[0]
    assert "large.pdf: is too big: 60 MB, the limit is 50 MB" in refused[1]


def test_a_folder_without_a_readable_file_is_rejected(cli: Cli, documents: Path) -> None:
    (documents / "bridge.md").unlink()
    done = cli("run", JAPAN, "--folder", str(documents))
    assert done.status == 2
    last = done.err.splitlines()[-1]
    for text in ("corrupt.docx", "large.pdf", "60 MB", ".csv, .doc, .docx,"):
        assert text in last


def test_an_invalid_base_url_is_reported_with_its_setting(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "htp:/nowhere")
    done = cli("run", JAPAN, "--model", "openai:fake")
    assert done.status == 2
    assert "OPENAI_BASE_URL 'htp:/nowhere'" in done.err


def test_an_unreachable_server_pauses_the_run_and_names_the_setting(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI() as server:
        url = server.base_url
    monkeypatch.setenv("OPENAI_BASE_URL", url)  # the server is gone
    done = cli("run", JAPAN, "--model", "openai:fake", "--json")
    assert (done.status, done.json["status"]) == (4, "paused")
    assert "check that the server runs and that OPENAI_BASE_URL is correct" in done.json["error"]


def test_a_rejected_key_fails_the_run_and_is_not_printed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-the-right-one")
    with FakeOpenAI(key="sk-right") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        done = cli("run", JAPAN, "--model", "openai:fake", "--json")
    assert done.status == 1
    assert "refused the key (401): set OPENAI_API_KEY" in done.json["error"]
    assert "sk-not-the-right-one" not in done.out + done.err


# Saved runs


def test_runs_are_listed_and_searched(cli: Cli, script: Script) -> None:
    assert cli("runs").err == "No runs yet.\n"
    first = cli("run", JAPAN, "--model", script(SEARCH, ANSWER), "--json").json["run_id"]
    listed = cli("runs", "--json").json
    assert [(row["id"], row["question"], row["outcome"]) for row in listed] == [(first, JAPAN, "answered")]
    assert first in cli("runs", "people live").out
    assert cli("runs", "giraffe").out == ""
    assert cli("runs", "list").out == cli("runs", "list", "people", "live").out == cli("runs").out


def test_show_replay_and_export_agree_on_a_run(cli: Cli, script: Script, tmp_path: Path) -> None:
    model = script(SEARCH, ANSWER.replace("</answer>", "\n<short>123,201,945 people</short></answer>"))
    ran = cli("run", JAPAN, "--model", model, "--export", str(tmp_path / "run.md"), "--json").json
    run = ran["run_id"]
    assert cli("show", run, "--json").json == {**ran, "origin": None, "forks": []}
    assert cli("show", run[:-1]).out.startswith("Answer: 123,201,945 people\n\nJapan has 123,201,945 people [1].")
    events = cli("show", run, "--json", "--events").json["events"]
    whole, part = cli("replay", run).out, cli("replay", run, "--to", "1").out
    assert whole.startswith(part)
    assert "round 2" in whole
    assert "round 2" not in part

    assert cli("export", run, "-o", str(tmp_path / "again.md")).status == 0
    report = (tmp_path / "again.md").read_text("utf-8")
    assert report == (tmp_path / "run.md").read_text("utf-8")
    assert report.startswith("---\ntitle: ")
    assert cli("export", run, "-o", str(tmp_path / "again.html")).status == 0
    assert (tmp_path / "again.html").read_text("utf-8").lower().startswith("<!doctype html>")
    assert "## References\n\n[1] Japan · People and Society (the CIA World Factbook)." in report
    assert json.loads(cli("export", run, "--format", "json").out) == ran
    lines = cli("export", run, "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == events


@pytest.mark.parametrize(("framework", "who"), [("iter_research", ""), ("parallel", "main/run-1: ")])
def test_a_replay_to_a_round_ends_with_the_report_of_that_round(
    cli: Cli, script: Script, framework: str, who: str
) -> None:
    rounds = [f"<report>Report {n}: Japan [1].</report>" + SEARCH.replace("population", f"fact {n}") for n in (1, 2)]
    replies = [*rounds, f"<report>Report 3.</report>{ANSWER}"]
    alone = ("--set", "framework.n=2", "--set", "framework.concurrency=1") if framework == "parallel" else ()
    model = script(*replies, *(replies if alone else ()), ANSWER)
    run = cli("run", JAPAN, "--model", model, "--framework", framework, *alone, "--json").json["run_id"]
    part = cli("replay", run, "--to", "2").out
    assert f"{who}report of round 2\n\nReport 2: Japan [1].\n" in part
    assert "Report 1" not in part
    assert "Report 3" not in part
    assert "Report 1" in cli("replay", run, "--to", "1").out


def test_an_unwritable_export_path_is_reported_before_any_work(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", JAPAN, "--export", str(tmp_path))
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert cli("runs", "--json").json == []


# The library


def test_a_folder_is_added_searched_listed_and_removed(cli: Cli, documents: Path) -> None:
    added = cli("library", "add", str(documents))
    assert added.status == 0
    assert "1 indexed, 0 unchanged, 0 removed" in added.out
    assert "not read: " in added.out
    assert "512 metres" in cli("library", "search", "Zorblax bridge", "--limit", "1").out
    listed = cli("library", "list").out
    assert f"{documents}: 1 documents" in listed
    assert "factbook: " in listed
    assert cli("library", "remove", str(documents)).status == 0
    assert str(documents) not in cli("library", "list").out
    assert (documents / "bridge.md").exists()


def test_home_is_accepted_before_and_after_the_action(cli: Cli, home: Path) -> None:
    before, after = cli("library", "--home", str(home), "list"), cli("library", "list", "--home", str(home))
    assert before == after
    assert before.status == 0


# No network


def test_the_example_is_answered_without_the_network(home: Path, tmp_path: Path) -> None:
    code = (
        "import socket, sys\n"
        "connect = socket.socket.connect\n"
        "def guarded(self, address):\n"
        "    if self.family != socket.AF_UNIX and address[0] not in ('127.0.0.1', '::1'):\n"
        "        sys.exit(f'reached for {address}')\n"
        "    connect(self, address)\n"
        "def resolve(host, *rest, **more): sys.exit(f'asked for the address of {host}')\n"
        "socket.socket.connect, socket.getaddrinfo = guarded, resolve\n"
        "from research.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", code, "run", EXAMPLE_QUESTION, "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=variables(home), capture_output=True, text=True, check=False)
    found = json.loads(done.stdout or "null")
    assert found, done.stderr
    assert found["outcome"] == "answered"
    assert "$3.732 trillion" in found["answer"]
    assert "1.2" in found["answer"]
    assert any(source["url"].startswith("library://factbook/france/") for source in found["sources"])
    assert "python" in done.stderr


def test_the_command_line_and_the_package_see_the_same_runs(cli: Cli, home: Path, script: Script) -> None:
    run = cli("run", JAPAN, "--model", script(SEARCH, ANSWER), "--json").json["run_id"]
    assert Workbench(load(home=home)).store.run(run).question == JAPAN


@pytest.mark.parametrize(("framework", "status"), [("react", "incomplete"), ("iter_research", "max_rounds_reached")])
def test_a_limit_has_the_names_of_the_original_documents(cli: Cli, script: Script, framework: str, status: str) -> None:
    line = f"<report>### Confirmed\nJapan has 123,201,945 people [1].</report>{SEARCH}"
    model = script(line, line.replace("Japan population", "Japan economy"), {"text": ANSWER, "purpose": "conclude"})
    options = ("--model", model, "--framework", framework, "--set", "framework.rounds=2")
    assert cli("run", JAPAN, *options, "--json").json["loop_status"] == status


def test_a_run_that_ended_by_itself_has_no_name_of_a_limit(cli: Cli, script: Script) -> None:
    assert "loop_status" not in cli("run", JAPAN, "--model", script(SEARCH, ANSWER), "--json").json
