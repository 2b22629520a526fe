"""Evaluations in the background: begun, stopped, gone on with, forgotten and brought back; nothing is asked twice."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from research.config.settings import load
from research.errors import ConfigError
from research.evaluation import Corpus, Plan, Question, Records, Row, candidate
from research.evaluation.background import Evaluations
from research.evaluation.plans import store_plan
from research.events.recipe import Budget
from research.store import Kind
from research.types import Model
from research.workbench.workbench import Workbench

QUESTIONS = tuple(Question(f"q{n}", f"Who built tower {n}?", ("Odo Fenn",)) for n in range(3))


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(load(home=tmp_path / "home"))


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "script.jsonl"
    path.write_text(json.dumps({"text": "<answer>Odo Fenn.</answer>"}), encoding="utf-8")
    return f"scripted:{path}"


def plan(
    bench: Workbench, model: str, *texts: str, name: str = "towers", questions: int = 3, tokens: int = 9_000
) -> Plan:
    made = tuple(candidate(bench, text, model=model, tools=(), budget=Budget(tokens=tokens)) for text in texts)
    return Plan(name, QUESTIONS[:questions], made)


def ended(jobs: Evaluations, name: str = "towers") -> None:
    job = jobs.job(name)
    assert job is not None
    job.join(60)
    assert not job.is_alive() and not job.error


def test_it_works_by_itself_and_every_process_sees_what_it_has(bench: Workbench, model: str) -> None:
    jobs = Evaluations(bench)
    assert jobs.all() == []
    assert jobs.start(plan(bench, model, "react/full", "react/window")) == "towers"
    ended(jobs)
    seen = Evaluations(Workbench(load(home=bench.settings.home))).progress("towers")
    assert (seen.total, seen.found.left, seen.at_work) == (6, 0, ())
    assert [each.plan.name for each in jobs.all()] == ["towers"]
    assert seen.saved.plan == plan(bench, model, "react/full", "react/window"), "kept as it was made"
    assert all("Odo Fenn" in row.answer for rows in seen.found.rows.values() for row in rows)


def test_what_is_begun_is_checked_and_kept_once(bench: Workbench, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, kept, judges = Evaluations(bench), list[str](), list[str]()
    keep, named = bench.store.put, bench.model

    def told(kind: Kind, key: str, body: bytes) -> None:
        kept.append(kind)
        keep(kind, key, body)

    def asked(name: str) -> Model:
        judges.append(name)
        return named(name)

    monkeypatch.setattr(bench.store, "put", told)
    monkeypatch.setattr(bench, "model", asked)
    jobs.start(replace(plan(bench, "extractive", "react/full", questions=1), judge=model))
    ended(jobs)
    assert kept.count("evaluation") == 1
    assert judges.count(model) == 1, "there is nothing for it to compare"


def test_recipes_are_added_to_one_that_asks_the_same(bench: Workbench, model: str) -> None:
    jobs = Evaluations(bench)
    jobs.start(plan(bench, model, "react/full"))
    ended(jobs)
    runs = {row.run for rows in jobs.progress("towers").found.rows.values() for row in rows}
    jobs.start(plan(bench, model, "react/window"))
    ended(jobs)
    found = jobs.progress("towers").found
    assert set(found.rows) == {"react/full", "react/window"} and found.left == 0
    assert {row.run for row in found.rows["react/full"]} == runs, "not asked again"


@pytest.mark.parametrize("other", [{"questions": 2}, {"tokens": 8_000}])
def test_a_name_is_not_taken_from_one_that_asks_something_else(
    bench: Workbench, model: str, other: dict[str, int]
) -> None:
    jobs = Evaluations(bench)
    jobs.start(plan(bench, model, "react/full"))
    ended(jobs)
    with pytest.raises(ConfigError, match="choose another name"):
        jobs.start(plan(bench, model, "react/window", **other))  # type: ignore[arg-type]
    assert set(jobs.progress("towers").found.rows) == {"react/full"}


def test_two_recipes_of_one_name_keep_their_rows_apart(bench: Workbench, model: str, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"text": "<answer>Nobody.</answer>"}), encoding="utf-8")
    jobs = Evaluations(bench)
    for each in (model, f"scripted:{other}"):
        jobs.start(plan(bench, each, "react/full"))
        ended(jobs)
    found = jobs.progress("towers").found
    said = [
        {word for row in rows for word in ("Nobody", "Odo Fenn") if word in row.answer} for rows in found.rows.values()
    ]
    assert said == [{"Nobody"}, {"Odo Fenn"}]


def test_one_that_was_stopped_goes_on_without_asking_anything_twice(bench: Workbench, model: str) -> None:
    jobs = Evaluations(bench)
    jobs.start(plan(bench, model, "react/full", questions=3))
    jobs.stop("towers")
    job = jobs.job("towers")
    assert job is not None
    job.join(60)
    before = {row.key: row for rows in jobs.progress("towers").found.rows.values() for row in rows}
    jobs.resume("towers")
    ended(jobs)
    rows = Records(bench.store, "towers").rows()
    assert len(rows) == 3 and all(row.done for row in rows.values())
    assert before.items() <= rows.items()
    assert len(bench.store.runs()) == 3


def test_a_plan_whose_folder_is_gone_says_so_and_keeps_what_it_has(
    bench: Workbench, model: str, tmp_path: Path
) -> None:
    jobs = Evaluations(bench)
    gone = tmp_path / "gone"
    jobs.start(replace(plan(bench, model, "react/full"), corpus=Corpus(str(gone))))
    job = jobs.job("towers")
    assert job is not None
    job.join(60)
    assert str(gone) in job.error
    assert jobs.progress("towers").found.left == 3


def test_what_is_at_work_is_neither_begun_again_nor_forgotten(
    bench: Workbench, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, jobs = threading.Event(), Evaluations(bench)
    monkeypatch.setattr(bench, "prepare", lambda *_: gate.wait(60))  # the documents take a while
    long = replace(plan(bench, model, "react/full"), corpus=Corpus(str(tmp_path)))
    jobs.start(long)
    assert jobs.working("towers")
    for refused in (lambda: jobs.start(long), lambda: jobs.resume("towers"), lambda: jobs.forget("towers")):
        with pytest.raises(ConfigError, match="is (already )?running"):
            refused()
    gate.set()
    ended(jobs)
    assert not jobs.working("towers") and len(bench.store.runs()) == 3


def test_what_there_is_to_judge_is_told_beside_the_rows(bench: Workbench, model: str) -> None:
    jobs = Evaluations(bench)
    jobs.start(plan(bench, model, "react/full", "react/window"))
    ended(jobs)
    records = Records(bench.store, "towers")
    store_plan(records, replace(plan(bench, model, "react/full", "react/window"), judge=model))
    seen = jobs.progress("towers")
    # The first recipe's report is what the other's is judged against.
    assert (seen.total, seen.done, seen.unjudged, seen.found.left) == (6, 6, 3, 3)
    assert jobs.left(seen.saved) == 3


def test_what_is_left_counts_only_what_the_plan_asks(bench: Workbench, model: str) -> None:
    jobs, records = Evaluations(bench), Records(bench.store, "towers")
    store_plan(records, plan(bench, model, "react/full", "react/window", questions=2))
    assert [jobs.left(each) for each in jobs.all()] == [4]
    key = candidate(bench, "react/full", model=model, tools=(), budget=Budget(tokens=9_000)).key
    begun_only, measured, other = (Row("towers", key, each.id, each.digest, f"run-{each.id}") for each in QUESTIONS)
    for row in (begun_only, replace(measured, outcome="answered"), replace(other, outcome="answered")):
        records.keep(row)
    assert [jobs.left(each) for each in jobs.all()] == [jobs.progress("towers").found.left] == [3]


def test_forgotten_and_brought_back_with_every_row(bench: Workbench, model: str) -> None:
    jobs = Evaluations(bench)
    jobs.start(plan(bench, model, "react/full"))
    ended(jobs)
    jobs.start(plan(bench, model, "react/full", name="towers too"))
    ended(jobs, "towers too")
    before = jobs.progress("towers")
    restore = jobs.forget("towers")
    with pytest.raises(ConfigError, match="unknown evaluation 'towers'"):
        jobs.progress("towers")
    assert Records(bench.store, "towers").rows() == {}
    assert jobs.progress("towers too").found.left == 0, "the other one is there"
    assert len(bench.store.runs()) == 6, "the runs stay"
    restore()
    assert jobs.progress("towers") == before
