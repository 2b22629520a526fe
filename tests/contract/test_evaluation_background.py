"""Background evaluations: started, stopped, resumed, deleted and restored, without asking a question twice."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from research.config.settings import load
from research.errors import ConfigError
from research.evaluation import Corpus, Plan, Question, Records, Row, candidate
from research.evaluation.plans import store_plan, stored_plans
from research.evaluation.server_evaluations import Evaluations
from research.events.recipe import Budget
from research.store import Kind
from research.types import Model
from research.workbench.workbench import Workbench
from tests.workers import LONG_S

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
    job.join(LONG_S)
    assert not job.is_alive() and not job.error


def test_an_evaluation_runs_in_the_background_and_every_process_sees_its_progress(bench: Workbench, model: str) -> None:
    jobs = Evaluations(bench)
    assert stored_plans(bench.store) == []
    assert jobs.start(plan(bench, model, "react/full", "react/window")) == "towers"
    ended(jobs)
    seen = Evaluations(Workbench(load(home=bench.settings.home))).progress("towers")
    assert (seen.total, seen.found.left, seen.at_work) == (6, 0, ())
    assert [each.plan.name for each in stored_plans(bench.store)] == ["towers"]
    assert seen.saved.plan == plan(bench, model, "react/full", "react/window"), "the plan is stored unchanged"
    assert all("Odo Fenn" in row.answer for rows in seen.found.rows.values() for row in rows)


def test_a_started_plan_is_checked_and_stored_once(
    bench: Workbench, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert judges.count(model) == 1, "a single recipe needs no judge beyond the check"


def test_recipes_can_be_added_to_an_evaluation_with_the_same_questions(bench: Workbench, model: str) -> None:
    jobs = Evaluations(bench)
    jobs.start(plan(bench, model, "react/full"))
    ended(jobs)
    runs = {row.run for rows in jobs.progress("towers").found.rows.values() for row in rows}
    jobs.start(plan(bench, model, "react/window"))
    ended(jobs)
    found = jobs.progress("towers").found
    assert set(found.rows) == {"react/full", "react/window"} and found.left == 0
    assert {row.run for row in found.rows["react/full"]} == runs, "the first recipe was asked again"


@pytest.mark.parametrize("other", [{"questions": 2}, {"tokens": 8_000}])
def test_a_name_cannot_be_reused_for_other_questions_or_budgets(
    bench: Workbench, model: str, other: dict[str, int]
) -> None:
    jobs = Evaluations(bench)
    jobs.start(plan(bench, model, "react/full"))
    ended(jobs)
    with pytest.raises(ConfigError, match="choose another name"):
        jobs.start(plan(bench, model, "react/window", **other))  # type: ignore[arg-type]
    assert set(jobs.progress("towers").found.rows) == {"react/full"}


def test_two_recipes_that_differ_only_in_their_model_have_separate_rows(
    bench: Workbench, model: str, tmp_path: Path
) -> None:
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


def test_a_stopped_evaluation_resumes_without_asking_a_question_twice(bench: Workbench, model: str) -> None:
    jobs = Evaluations(bench)
    jobs.start(plan(bench, model, "react/full", questions=3))
    jobs.stop("towers")
    job = jobs.job("towers")
    assert job is not None
    job.join(LONG_S)
    before = {row.key: row for rows in jobs.progress("towers").found.rows.values() for row in rows}
    jobs.resume("towers")
    ended(jobs)
    rows = Records(bench.store, "towers").rows()
    assert len(rows) == 3 and all(row.done for row in rows.values())
    assert before.items() <= rows.items()
    assert len(bench.store.runs()) == 3


def test_a_plan_with_a_missing_folder_reports_it_and_stays_unfinished(
    bench: Workbench, model: str, tmp_path: Path
) -> None:
    jobs = Evaluations(bench)
    gone = tmp_path / "gone"
    jobs.start(replace(plan(bench, model, "react/full"), corpus=Corpus(str(gone))))
    job = jobs.job("towers")
    assert job is not None
    job.join(LONG_S)
    assert str(gone) in job.error
    assert jobs.progress("towers").found.left == 3


def test_a_running_evaluation_cannot_be_started_resumed_or_deleted(
    bench: Workbench, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, jobs = threading.Event(), Evaluations(bench)
    monkeypatch.setattr(bench, "prepare", lambda *_: gate.wait(LONG_S))  # the documents take a while
    long = replace(plan(bench, model, "react/full"), corpus=Corpus(str(tmp_path)))
    jobs.start(long)
    assert jobs.working("towers")
    for refused in (lambda: jobs.start(long), lambda: jobs.resume("towers"), lambda: jobs.forget("towers")):
        with pytest.raises(ConfigError, match="is (already )?running"):
            refused()
    gate.set()
    ended(jobs)
    assert not jobs.working("towers") and len(bench.store.runs()) == 3


def test_unjudged_reports_are_counted_beside_the_rows(bench: Workbench, model: str) -> None:
    jobs = Evaluations(bench)
    jobs.start(plan(bench, model, "react/full", "react/window"))
    ended(jobs)
    records = Records(bench.store, "towers")
    store_plan(records, replace(plan(bench, model, "react/full", "react/window"), judge=model))
    seen = jobs.progress("towers")
    # The other recipe's reports are judged against those of the first.
    assert (seen.total, seen.done, seen.unjudged, seen.found.left) == (6, 6, 3, 3)
    assert jobs.left(seen.saved) == 3


def test_unfinished_rows_are_counted_only_for_the_plans_questions(bench: Workbench, model: str) -> None:
    jobs, records = Evaluations(bench), Records(bench.store, "towers")
    store_plan(records, plan(bench, model, "react/full", "react/window", questions=2))
    assert [jobs.left(each) for each in stored_plans(bench.store)] == [4]
    key = candidate(bench, "react/full", model=model, tools=(), budget=Budget(tokens=9_000)).key
    begun_only, measured, other = (Row("towers", key, each.id, each.digest, f"run-{each.id}") for each in QUESTIONS)
    for row in (begun_only, replace(measured, outcome="answered"), replace(other, outcome="answered")):
        records.keep(row)
    assert [jobs.left(each) for each in stored_plans(bench.store)] == [jobs.progress("towers").found.left] == [3]


def test_a_deleted_evaluation_is_restored_with_every_row(bench: Workbench, model: str) -> None:
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
    assert jobs.progress("towers too").found.left == 0, "the other evaluation lost rows"
    assert len(bench.store.runs()) == 6, "the runs were deleted too"
    restore()
    assert jobs.progress("towers") == before
