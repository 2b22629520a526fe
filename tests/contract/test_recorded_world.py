"""A recorded world: the tool results of a saved evaluation are played to all recipes; other calls are divergence."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from research.agent.recorded_world import same_call
from research.config.settings import load
from research.evaluation.frozen_world import frozen
from research.evaluation.records import Records
from research.events.view import RunView, fold
from research.workbench.workbench import Workbench
from tests.command import Cli

pytestmark = pytest.mark.usefixtures("own_library")

CORPUS = (
    {"id": "tower", "title": "Brass Tower", "text": "The Brass Tower was built by Odo Fenn in 1871."},
    {"id": "fenn", "title": "Odo Fenn", "text": "Odo Fenn was an engineer who was born in Larkmouth."},
)
ASKED = {"id": "q1", "question": "Who built the Brass Tower?", "answer": "Odo Fenn", "gold": ["tower"]}
ANSWER = {"text": "<answer>Odo Fenn [1].</answer>"}


def write(path: Path, *records: Any) -> str:
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return str(path)


def call(name: str, **arguments: Any) -> dict[str, str]:
    made = json.dumps({"name": name, "arguments": arguments})
    return {"text": f"<think>Look.</think><tool_call>{made}</tool_call>"}


class Bench:
    """Records an evaluation, and replays it with other scripts."""

    def __init__(self, cli: Cli, home: Path, folder: Path) -> None:
        self.cli, self.home, self.folder = cli, home, folder
        self.data = write(folder / "towers.jsonl", ASKED)
        self.corpus = write(folder / "corpus.jsonl", *CORPUS)

    def model(self, name: str, *lines: dict[str, str]) -> str:
        return f"react/full/scripted:{write(self.folder / f'{name}.jsonl', *lines, ANSWER)}"

    def eval(self, *words: str) -> Any:
        return self.cli("eval", self.data, "--corpus", self.corpus, *words, "--json")

    def record(self) -> Any:
        done = self.eval("--recipe", self.model("first", call("search", query="Brass Tower")))
        assert done.status == 0, done.err
        # Had a tool worked in the recorded world, it would find the rewritten document.
        (found,) = (self.home / "corpora").iterdir()
        (found / "tower.md").write_text("# Brass Tower\n\nThe Brass Tower was built by Mora Lund.", "utf-8")
        return done.json

    def view(self, run: str) -> RunView:
        return fold(Workbench(load(home=self.home)).store.events(run))


@pytest.fixture
def bench(cli: Cli, home: Path, tmp_path: Path) -> Bench:
    return Bench(cli, home, tmp_path)


def test_all_recipes_get_the_recorded_results_and_other_calls_are_counted_and_refused(bench: Bench) -> None:
    bench.record()
    same = bench.model("same", call("search", query="  brass   TOWER ", site=None))
    other = bench.model("other", call("search", query="Mora Lund"), call("search", query="Brass Tower"))
    done = bench.eval("--recipe", same, "--recipe", other, "--world", "recorded:towers")
    assert done.status == 0 and "1 recorded tool results" in done.err, done.err
    assert done.json["evaluation"] == "towers frozen" and done.json["world"]["name"] == "towers"
    assert [(each["played_calls"], each["diverged_calls"]) for each in done.json["recipes"]] == [(1, 0), (1, 1)]
    first, second = (bench.view(row["run"]) for row in done.json["rows"])
    seen = first.rounds[0].calls[0].observation
    assert seen is not None and seen.world == "recorded" and "built by Odo Fenn in 1871" in seen.text
    assert "Mora Lund" not in seen.text, "the tool worked"
    assert [source.n for source in first.cited_sources] == [1] and first.citations, "recorded results are sources"
    refused = second.rounds[0].calls[0].observation
    assert refused is not None and not refused.ok and "search: this run works in a recorded world" in refused.text
    assert [(row["played"], row["diverged"]) for row in done.json["rows"]] == [(1.0, 0.0), (1.0, 1.0)]
    words = bench.cli("eval", "export", "towers frozen", "--format", "md").out
    assert f"calls without a recorded result were refused: {same} 0 of 1, {other} 1 of 2." in words.replace("\\", "")
    table = bench.cli("eval", "export", "towers frozen").out
    assert [row["diverged"] for row in csv.DictReader(table.splitlines())] == ["0.0", "1.0"]


def test_calls_without_a_record_go_out_when_that_is_allowed_and_still_count(bench: Bench) -> None:
    bench.record()
    other = bench.model("other", call("search", query="Mora Lund"), call("search", query="Brass Tower"))
    done = bench.eval("--recipe", other, "--world", "recorded:towers", "--world-allow-new")
    (row,) = done.json["rows"]
    new, old = (each.calls[0].observation for each in bench.view(row["run"]).rounds[:2])
    assert new and new.ok and new.world == "new" and "Brass Tower" in new.text
    assert old and old.world == "recorded" and "Odo Fenn in 1871" in old.text
    assert (row["played"], row["diverged"]) == (1.0, 1.0) and done.json["world"]["new_calls"] == "made"


def test_a_calculation_is_no_part_of_the_world(bench: Bench) -> None:
    bench.record()
    done = bench.eval(
        "--recipe", bench.model("sums", call("python", code="print(6 * 7)")), "--world", "recorded:towers"
    )
    (row,) = done.json["rows"]
    seen = bench.view(row["run"]).rounds[0].calls[0].observation
    assert seen and seen.ok and "42" in seen.text and row["diverged"] == 0.0


def test_one_run_can_be_the_world_and_an_evaluation_keeps_the_world_that_it_began_with(bench: Bench) -> None:
    recorded = bench.record()
    run = recorded["rows"][0]["run"]
    words = ("--recipe", bench.model("same", call("search", query="Brass Tower")), "--world")
    done = bench.eval(*words, f"recorded:{run}", "--name", "by run")
    assert done.json["world"]["name"] == run and done.json["rows"][0]["played"] == 1.0
    first = bench.eval(*words, "recorded:towers").json
    more = bench.eval("--recipe", bench.model("more", call("search", query="Larkmouth")), "--name", "towers")
    assert more.status == 0, more.err
    again = bench.eval(*words, "recorded:towers").json
    assert (again["known"], again["rows"]) == (1, first["rows"]), "a resumed evaluation changed its world"
    fresh = bench.eval(*words, "recorded:towers", "--fresh").json
    assert fresh["world"]["version"] != first["world"]["version"] and fresh["rows"][0]["played"] == 1.0
    kept = Workbench(load(home=bench.home))
    stored = fold(kept.store.events(first["rows"][0]["run"]))
    assert stored.recipe is not None
    assert frozen(kept, "recorded:towers", "another") != stored.recipe.world
    kept.store.delete([run])
    assert f"run {run} was deleted" in bench.eval(*words, "recorded:towers", "--name", "late").err


def test_an_unknown_or_unfinished_world_is_refused(bench: Bench) -> None:
    recipe = ("--recipe", bench.model("same"))
    for words, said in (
        (("--world", "towers"), "write recorded:EVAL or recorded:RUN"),
        (("--world", "recorded:gone"), "no evaluation has this name"),
        (("--world-allow-new",), "needs a recorded world"),
    ):
        done = bench.eval(*recipe, *words)
        assert done.status == 2 and said in done.err
    bench.record()
    done = bench.eval(*recipe, "--world", "recorded:towers", "--name", "towers")
    assert done.status == 2 and "cannot be played to itself" in done.err
    assert Records(Workbench(load(home=bench.home)).store, "towers").rows()


def test_the_case_of_code_and_addresses_counts_but_not_that_of_a_query() -> None:
    assert same_call("search", {"query": "A  b"}) == same_call("search", {"site": None, "query": "a B "})
    assert same_call("search", {"query": "c"}) != same_call("search", {"query": "c++"})
    assert same_call("visit", {"url": "https://e.org/A"}) != same_call("visit", {"url": "https://e.org/a"})
    assert same_call("python", {"code": "a\n b"}) != same_call("python", {"code": "a\nb"})


def test_a_recipe_that_could_not_spend_its_budget_is_named(bench: Bench) -> None:
    lines = [call("search", query=f"Brass Tower {number}") for number in range(3)]
    short = bench.model("short", *lines).replace("react/full", "react:rounds=2/full")
    done = bench.eval("--recipe", short, "--recipe", bench.model("whole", lines[0]), "--budget-tokens", "50000")
    assert [each["budget_not_spendable"] for each in done.json["recipes"]] == [1, 0]
    assert all(0 < row["budget_spent"] < 1 for row in done.json["rows"])
    words = bench.cli("eval", "export", "towers", "--format", "md").out.replace("\\", "")
    assert (
        f"Could not spend the budget, because something else ended the run: {short} in 1 of 1 runs (rounds 1)." in words
    )
