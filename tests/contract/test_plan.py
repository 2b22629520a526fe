"""Planning before spending: the plan is shown, approved, followed, replayed and forked, whatever the framework."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import research
from research import plugins
from research.events import events as e
from research.events.events import PlanItem
from research.events.view import RunView, fold, messages_sent
from research.workbench.workbench import Workbench
from tests.conftest import Cli

Script = Callable[..., str]
QUESTION = "How many people live in Japan?"
ANSWER = "<answer>Japan has 123,201,945 people [1].</answer>"
SEARCH = '<tool_call>{"name": "search", "arguments": {"query": "Japan population total"}}</tool_call>'
PLAN = "1. What is the population of Japan? [library]\n2. What is the median age of Japan?"


def resumed(bench: Workbench, view: RunView, *plan: str) -> RunView:
    for _ in bench.engine.resume(view.run, plan=plan or view.plan, here=True).events():
        pass
    return fold(bench.store.events(view.run))


def prompts_of(view: RunView, purposes: set[str]) -> list[str]:
    return [
        "\n".join(message.content for message in messages_sent(view, each.agent, each.ask))
        for each in view.rounds
        if each.purpose in purposes
    ]


def test_a_run_waits_with_its_plan_and_nothing_is_spent_before(bench: Workbench, script: Script) -> None:
    view = research.run(QUESTION, workbench=bench, model=script({"text": PLAN, "purpose": "propose"}), plan="approve")
    assert (view.status, view.plan_waits, view.tool_calls, view.model_calls) == ("waiting_input", True, 0, 1)
    assert view.plan == (
        PlanItem("What is the population of Japan?", ("library",)),
        PlanItem("What is the median age of Japan?"),
    )
    assert view.forecast
    assert view.forecast.calls[1] >= view.forecast.calls[0] >= 1
    with pytest.raises(research.ConfigError, match="until its plan is approved"):
        bench.engine.resume(view.run, "what?")
    with pytest.raises(research.ConfigError, match="until its plan is approved"):
        bench.engine.resume(view.run)
    with pytest.raises(research.ConfigError, match="names the source 'moon'; known: library"):
        bench.engine.resume(view.run, plan=[PlanItem("Why?", ("moon",))])


def test_the_edited_plan_is_in_the_prompts_and_the_report_says_what_was_done(bench: Workbench, script: Script) -> None:
    said = '<part status="answered">What is the population of Japan?</part>\n<part status="not_found">Mount Fuji</part>'
    model = script({"text": PLAN, "purpose": "propose"}, SEARCH, ANSWER.replace("</answer>", f"\n{said}</answer>"))
    view = research.run(QUESTION, workbench=bench, model=model, plan="approve")
    view = resumed(bench, view, "What is the population of Japan?", "How high is Mount Fuji?")
    assert (view.status, view.approved) == ("completed", True)
    (first, _) = prompts_of(view, {"act"})
    assert "- How high is Mount Fuji?" in first
    assert "median age" not in first
    assert [(part.text, part.status) for part in view.plan_done] == [
        ("What is the population of Japan?", "answered"),
        ("How high is Mount Fuji?", "not_found"),
    ]
    assert "- What is the population of Japan? **Answered.**" in view.report
    assert "- How high is Mount Fuji? **Not found" in view.report
    with pytest.raises(research.ConfigError, match="does not wait for a plan"):
        bench.engine.resume(view.run, plan=["x"])


@pytest.mark.parametrize("framework", [each.id for each in plugins.framework.all()])
def test_every_framework_shows_its_plan_first_and_follows_it(bench: Workbench, framework: str) -> None:
    view = research.run(QUESTION, workbench=bench, framework=framework, plan="approve")
    assert [item.question for item in view.plan] == [QUESTION]
    assert (view.status, view.tool_calls) == ("waiting_input", 0)
    view = resumed(bench, view, QUESTION, "What is the median age of Japan?")
    assert view.status == "completed"
    steps = prompts_of(view, {each.purpose for each in view.rounds} - {"propose"})
    assert any("- What is the median age of Japan?" in text for text in steps)
    assert [part.status for part in view.plan_done] == ["answered", "answered"], view.report


def test_a_plan_is_kept_by_a_fork_and_a_replay(bench: Workbench, script: Script) -> None:
    model = script({"text": PLAN, "purpose": "propose"}, SEARCH, ANSWER, ANSWER)
    view = resumed(bench, research.run(QUESTION, workbench=bench, model=model, plan="approve"), QUESTION)
    assert fold(bench.store.events(view.run)) == view
    same = bench.engine.fork(view.run, 1, here=True)
    changed = bench.engine.fork(view.run, 1, recipe=bench.recipe(model="extractive", plan="approve"), here=True)
    for fork in (same, changed):
        events = list(fork.events())
        copy = fold(bench.store.events(fork.run_id))
        assert copy.status == "completed"
        assert [item.question for item in copy.plan] == [QUESTION]
        assert sum(isinstance(each, e.WaitingForUser) for each in events) == 1  # that of the first run
        assert f"- {QUESTION}" in prompts_of(copy, {"act"})[-1]


def test_a_model_that_writes_no_plan_gets_the_question_as_its_plan(bench: Workbench, script: Script) -> None:
    view = research.run(
        "How large is Lebanon, and what is its capital?",
        workbench=bench,
        model=script(*[{"text": "I would just search.", "purpose": "propose"}] * 4),
        plan="approve",
    )
    assert [item.question for item in view.plan] == ["How large is Lebanon, and what is its capital?"]
    assert any("no plan that can be read" in note for each in view.rounds for note in each.notes)


def test_the_command_line_stops_with_the_plan_and_goes_on_with_an_edited_one(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", QUESTION, "--plan", "approve", "--json")
    assert done.status == 3
    printed = json.loads(done.out)
    assert printed["plan"]["items"] == [{"question": QUESTION, "sources": []}]
    assert printed["plan"]["approved"] is False
    assert printed["plan"]["estimate"]["tokens"][1] > 0
    file = tmp_path / "plan.txt"
    file.write_text("What is the population of Japan? [library]\n- What is the median age of Japan?\n")
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"items": [{"question": "x", "sources": ["moon"]}]}')
    refused = cli("resume", printed["run_id"], "--plan", str(wrong))
    assert (refused.status, "names the source 'moon'" in refused.err) == (2, True)
    shown = cli("show", printed["run_id"])
    assert "Plan:\n- How many people live in Japan?" in shown.out
    done = cli("resume", printed["run_id"], "--plan", str(file), "--json")
    assert done.status == 0
    items = json.loads(done.out)["plan"]["items"]
    assert [(item["question"], item["status"]) for item in items] == [
        ("What is the population of Japan?", "answered"),
        ("What is the median age of Japan?", "answered"),
    ]


def test_a_recipe_without_a_plan_keeps_its_hash(bench: Workbench) -> None:
    recipe = bench.recipe()
    assert "plan" not in recipe.fields
    assert bench.recipe(plan="approve").hash != recipe.hash
    with pytest.raises(research.ConfigError, match="unknown plan 'maybe'"):
        bench.recipe(plan="maybe")
