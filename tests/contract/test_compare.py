"""The command `compare`: one JSON object on standard output, concurrent runs, the worst status as exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from research.compare.starting import compare, compare_saved
from research.config.settings import load
from research.errors import ConfigError
from research.events.recipe import Budget
from research.workbench.workbench import Workbench
from tests.command import Cli
from tests.fake_openai import Silent
from tests.workers import LONG_S, until

JAPAN = "How many people live in Japan?"
SEARCH = '<think>Look.</think><tool_call>{"name": "search", "arguments": {"query": "Japan population"}}</tool_call>'
ANSWER = "<answer>Japan has 123,201,945 people [1].</answer>"


@pytest.fixture
def cli(cli: Cli) -> Cli:
    """Returns a function that runs `compare`."""
    return lambda *words: cli("compare", *words)


def play(path: Path, *lines: dict[str, Any] | str) -> str:
    """Write the lines as a script and return the model that plays it."""
    entries = [{"text": line} if isinstance(line, str) else line for line in lines]
    path.write_text("\n".join(json.dumps(entry) for entry in entries), encoding="utf-8")
    return f"scripted:{path}"


def test_json_output_contains_the_runs_the_table_the_sources_and_the_steps(cli: Cli, home: Path) -> None:
    done = cli(
        JAPAN, "--recipe", "react/full", "--recipe", "iter_research/evolving", "--budget-tokens", "50000", "--json"
    )
    assert done.status == 0, done.err
    found = done.json
    assert set(found) >= {"comparison", "question", "comparable", "differences", "runs", "table", "sources", "steps"}
    assert [run["recipe"]["framework"] for run in found["runs"]] == ["react", "iter_research"]
    assert all(
        run["recipe"]["budget"] == {"tokens": 50_000} and "123,201,945" in run["answer"] for run in found["runs"]
    )
    assert [each["run"] for each in found["table"]] == [run["run_id"] for run in found["runs"]]
    assert {"status", "outcome", "rounds", "model_calls", "tool_calls", "prompt_tokens", "completion_tokens", "cost_usd",
            "seconds", "sources", "citations", "uncited"} <= set(found["table"][0])  # fmt: skip
    assert found["comparable"] is True
    assert all(len(row) == 2 for row in found["steps"])
    assert found["steps"][0][0]["tool"] == "search"
    assert "[1 react/full] round 1" in done.err
    assert "[2 iter_research/evolving]" in done.err
    kept = Workbench(load(home=home)).saved.comparison(found["comparison"])
    assert kept.runs == tuple(run["run_id"] for run in found["runs"])


def test_the_compared_runs_run_at_the_same_time(bench: Workbench) -> None:
    with Silent() as server:
        bench.settings.openai_base_url = server.base_url
        recipes = [bench.recipe(model="openai:fake"), bench.recipe(context="window", model="openai:fake")]
        comparison = compare(bench, JAPAN, recipes)
        until(lambda: len(server.requests) == 4)  # each waits for its second reply
        for run in comparison.runs:
            bench.engine.stop(run)
        for run in comparison.runs:
            assert bench.engine.wait(run, LONG_S)
    assert [bench.store.run(run).status for run in comparison.runs] == ["stopped", "stopped"]


def test_a_recipe_has_options_and_a_model_name_with_slashes_and_the_worst_status_is_the_exit_status(
    cli: Cli, tmp_path: Path
) -> None:
    good, bad = play(tmp_path / "good.jsonl", SEARCH, ANSWER), play(tmp_path / "bad.jsonl", SEARCH)
    done = cli(JAPAN, "--recipe", f"react:rounds=5/full/{good}", "--recipe", f"react//{bad}", "--json")
    assert [run["recipe"]["model"] for run in done.json["runs"]] == [good, bad]
    assert done.json["runs"][0]["recipe"]["framework_options"] == {"rounds": 5}
    assert [run["status"] for run in done.json["runs"]] == ["completed", "failed"]
    assert done.status == 1


def test_saved_runs_are_compared_without_running_again(cli: Cli, home: Path, tmp_path: Path) -> None:
    first = cli(JAPAN, "--recipe", "react", "--recipe", "react/window", "--json").json
    ids = [run["run_id"] for run in first["runs"]]
    file = tmp_path / "c.md"
    done = cli("--runs", ids[1], ids[0], "--json", "--export", str(file))
    assert done.status == 0
    assert [run["run_id"] for run in done.json["runs"]] == ids[::-1]
    assert done.json["comparison"] != first["comparison"]
    assert len(Workbench(load(home=home)).store.runs()) == 2
    assert file.read_text("utf-8").startswith("---\ntitle: ")


def test_without_json_each_run_is_printed_as_text(cli: Cli) -> None:
    done = cli(JAPAN, "--recipe", "react", "--recipe", "react/window")
    assert done.status == 0
    assert done.out.count("123,201,945") >= 2
    assert "--- 1  react / full / extractive" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((JAPAN,), "--recipe"),
        ((JAPAN, "--recipe", "react"), "2 to 4"),
        ((JAPAN, *["--recipe", "react"] * 5), "2 to 4"),
        ((JAPAN, "--recipe", "react", "--recipe", "nonsense/full"), "nonsense"),
        ((JAPAN, "--recipe", "react", "--recipe", "react/nonsense"), "nonsense"),
        ((JAPAN, "--recipe", "react", "--recipe", "rewoo/evolving"), "ReWOO"),
        ((JAPAN, "--recipe", "react", "--recipe", "react/full/nonsense:x"), "nonsense"),
        ((" ", "--recipe", "react", "--recipe", "react/window"), "empty"),
        ((JAPAN, "--runs", "a", "b"), "--runs"),
        (("--recipe", "react", "--recipe", "react/window"), "question"),
        (("--runs", "a"), "2 to 4"),
        (("--runs", "nope", "nope2"), "nope"),
        ((JAPAN, "--recipe", "react", "--recipe", "react/window", "--export", "/no/such/folder/x.md"), "/no/such/folder"),
    ],
)  # fmt: skip
def test_a_wrong_call_starts_no_run_and_prints_the_reason_in_one_line(
    cli: Cli, home: Path, words: tuple[str, ...], said: str
) -> None:
    done = cli(*words)
    assert done.status == 2
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert said in done.err
    bench = Workbench(load(home=home))
    assert bench.store.runs() == []
    assert bench.saved.comparisons() == []


def test_a_recipe_that_cannot_start_is_named_and_no_run_is_started(bench: Workbench, tmp_path: Path) -> None:
    gone = tmp_path / "gone.jsonl"
    recipe = bench.recipe(context="window", model=play(gone, ANSWER))
    gone.unlink()
    with pytest.raises(ConfigError, match=r"recipe 2 \(react / window"):
        compare(bench, JAPAN, [bench.recipe(), recipe])
    with pytest.raises(ConfigError, match="budget"):
        compare(bench, JAPAN, [bench.recipe(), bench.recipe(budget=Budget(tokens=9))])
    assert bench.store.runs() == []
    assert bench.saved.comparisons() == []


def test_a_saved_run_can_be_compared_with_new_runs(bench: Workbench) -> None:
    for _ in bench.engine.start(JAPAN, bench.recipe(), "old", here=True).events():
        pass
    comparison = compare(bench, JAPAN, [bench.recipe(context="window")], beside=["ol"])
    assert comparison.runs[0] == "old"
    origin = bench.store.run(comparison.runs[1]).origin
    assert origin and (origin.run, origin.how) == ("old", "rerun")
    assert bench.engine.wait(comparison.runs[1], LONG_S)
    with pytest.raises(ConfigError, match="twice"):
        compare_saved(bench, ["old", "ol"])
    bench.store.delete(["old"])
    with pytest.raises(ConfigError, match="old"):
        compare(bench, JAPAN, [bench.recipe()], beside=["old"])
