"""Saved runs as training data: what a model was sent and replied, and better and worse reports of one question.

Seed 002 ends with the training data that trajectories give.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import research
from research.cli.runs import LISTED
from research.events.view import fold
from research.store.saved import Comparison, Opinion
from research.workbench.workbench import Workbench
from tests.command import Cli

Script = Callable[..., str]
SEARCH = '<think>Look.</think><tool_call>{"name": "search", "arguments": {"query": "Japan population"}}</tool_call>'
GOOD = "<think>Done.</think><answer>Japan has 123,201,945 people [1].</answer>"
BAD = "<think>Done.</think><answer>Japan has 999 people.</answer>"
QUESTION = "How many people live in Japan?"


def rows(cli: Cli, kind: str, file: Path, *more: str) -> list[dict[str, Any]]:
    done = cli("runs", "--format", kind, "-o", str(file), *more)
    assert done.status == 0, done.err
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_a_run_is_one_conversation_that_ends_with_the_last_reply(
    bench: Workbench, script: Script, cli: Cli, tmp_path: Path
) -> None:
    view = research.run(QUESTION, workbench=bench, model=script(SEARCH, GOOD))
    (row,) = rows(cli, "sft", tmp_path / "sft.jsonl")
    assert [each["role"] for each in row["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    assert row["messages"][2]["content"] == SEARCH
    assert row["messages"][-1]["content"] == GOOD
    assert (row["run_id"], row["outcome"], row["reward"]) == (view.run, "answered", 1.0)
    assert "search" in row["tools"]


def test_all_runs_are_written_and_measured_unless_limited(
    bench: Workbench, script: Script, cli: Cli, tmp_path: Path
) -> None:
    for number in range(LISTED + 2):
        research.run(f"{QUESTION} ({number})", workbench=bench, model=script(SEARCH, GOOD))
    assert len(rows(cli, "sft", tmp_path / "sft.jsonl")) == LISTED + 2
    assert len(rows(cli, "sft", tmp_path / "few.jsonl", "--limit", "3")) == 3
    assert json.loads(cli("runs", "--metrics", "--json").out)["runs"] == LISTED + 2
    assert json.loads(cli("runs", "--metrics", "--json", "--limit", "3").out)["runs"] == 3
    assert len(cli("runs").out.splitlines()) == LISTED


def test_iter_research_is_one_conversation_for_each_round(
    bench: Workbench, script: Script, cli: Cli, tmp_path: Path
) -> None:
    report = "<report>Japan [1].</report>"
    model = script(report + SEARCH, report + SEARCH.replace("population", "area"), report + GOOD)
    research.run(QUESTION, workbench=bench, model=model, framework="iter_research")
    found = rows(cli, "sft", tmp_path / "sft.jsonl")
    assert [row["round"] for row in found] == [1, 2, 3]
    assert all([each["role"] for each in row["messages"]][-1] == "assistant" for row in found)


def test_a_vote_and_a_fork_give_a_better_and_a_worse_report(
    bench: Workbench, script: Script, cli: Cli, tmp_path: Path
) -> None:
    good = research.run(QUESTION, workbench=bench, model=script(SEARCH, GOOD))
    bad = research.run(QUESTION, workbench=bench, model=script(SEARCH, BAD))
    bench.saved.save_comparison(Comparison("both", QUESTION, (bad.run, good.run), 1.0))
    bench.saved.save_opinion(Opinion("both", good.run, vote=1))
    fork = fold(bench.engine.fork(bad.run, 1, recipe=bench.recipe(model=script(SEARCH, GOOD)), here=True).events())
    by_source = {row["source"]: row for row in rows(cli, "dpo", tmp_path / "dpo.jsonl")}
    assert by_source.keys() == {"comparison", "fork"}
    for source, chosen in (("comparison", good.run), ("fork", fork.run)):
        row = by_source[source]
        assert row["prompt"] == [{"role": "user", "content": QUESTION}]
        assert (row["chosen_run"], row["rejected_run"]) == (chosen, bad.run)
        assert "123,201,945" in row["chosen"][0]["content"]
        assert "999" in row["rejected"][0]["content"]
        assert (row["chosen_reward"], row["rejected_reward"]) == (1.0, 0.0)


def test_an_attempt_that_failed_and_the_one_that_did_not_are_a_pair(
    bench: Workbench, script: Script, cli: Cli, tmp_path: Path
) -> None:
    model = script(SEARCH, BAD, "Check the figure.", SEARCH, GOOD)
    view = research.run(QUESTION, workbench=bench, model=model, framework="reflexion")
    (row,) = rows(cli, "dpo", tmp_path / "dpo.jsonl")
    assert (row["source"], row["chosen_run"], row["rejected_agent"]) == ("attempts", view.run, "main/trial-1")
    assert "123,201,945" in row["chosen"][0]["content"]
    assert "999" in row["rejected"][0]["content"]


def test_keys_do_not_leave_with_the_training_data(bench: Workbench, script: Script, cli: Cli, tmp_path: Path) -> None:
    key = "sk-" + "a1b2c3d4e5f6" * 3
    research.run(f"Is {key} a key?", workbench=bench, model=script(SEARCH, GOOD))
    rows(cli, "sft", tmp_path / "sft.jsonl")
    assert key not in (tmp_path / "sft.jsonl").read_text("utf-8")


def test_a_file_without_a_format_is_refused(cli: Cli, tmp_path: Path) -> None:
    done = cli("runs", "-o", str(tmp_path / "x.jsonl"))
    assert (done.status, "--format sft" in done.err) == (2, True)
