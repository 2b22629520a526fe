"""ReWOO's steps: how their input becomes a call, and what happens when one fails."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import research
from research.events import events as e
from research.events.events import Event
from research.events.view import fold, messages_sent
from research.types import Message
from research.workbench.workbench import Workbench

Script = Callable[..., str]
FOUND = "Plan: Look.\n#E1 = search[Japan population total]\n"
ANSWER = "<answer>Japan has 123,201,945 people [1].</answer>"


def play(bench: Workbench, model: str, **options: object) -> list[Event]:
    question = "How many people live in Japan?"
    given = {f"framework.{name}": value for name, value in options.items()}
    return list(research.stream(question, workbench=bench, model=model, framework="rewoo", options=given))


def calls(events: list[Event]) -> list[tuple[str, dict[str, object]]]:
    return [(event.call.name, event.call.arguments) for event in events if isinstance(event, e.ToolStarted)]


def seen(events: list[Event]) -> list[str]:
    return [event.observation.text for event in events if isinstance(event, e.ToolFinished)]


def purposes(events: list[Event]) -> list[str]:
    return [turn.purpose for turn in fold(events).rounds]


def prompt(events: list[Event], purpose: str) -> list[Message]:
    view = fold(events)
    asked = next(turn for turn in view.rounds if turn.purpose == purpose)
    return messages_sent(view, asked.agent, asked.ask)


def test_an_input_is_parsed_before_the_evidence_is_filled_in(bench: Workbench, script: Script) -> None:
    task = json.dumps({"url": "#E1", "goal": "median age"})
    events = play(bench, script(f"{FOUND}Plan: Read.\n#E2 = visit[{task}]", ANSWER))
    name, arguments = calls(events)[1]
    assert (name, arguments["goal"]) == ("visit", "median age")
    assert str(arguments["url"]).startswith("library://")


def test_a_plan_with_arrows_is_read(bench: Workbench, script: Script) -> None:
    plan = 'Plan: search("Japan population total") → #E1\nPlan: visit(#E1.url) → #E2\nPlan: combine(#E1, #E2) → Answer'
    events = play(bench, script(plan, ANSWER))
    assert calls(events)[0] == ("search", {"query": "Japan population total"})
    name, arguments = calls(events)[1]
    assert (name, len(calls(events))) == ("visit", 2)
    assert str(arguments["url"]).startswith("library://")
    assert fold(events).outcome == "answered"


@pytest.mark.parametrize("code", ['print(len("#E1") > 5)', "text = #E1\nprint(len(text) > 5)"])
def test_evidence_in_code_is_a_string(bench: Workbench, script: Script, code: str) -> None:
    step = json.dumps({"code": code})
    events = play(bench, script(f"{FOUND}Plan: Count.\n#E2 = python[{step}]", ANSWER))
    assert seen(events)[1].strip() == "True"


def test_a_number_in_code_stays_a_number(bench: Workbench, script: Script) -> None:
    plan = "Plan: Add.\n#E1 = python[print(1200 + 34)]\nPlan: Double.\n#E2 = python[print(#E1 * 2)]"
    assert seen(play(bench, script(plan, ANSWER)))[1].strip() == "2468"


def test_code_that_looks_like_an_object_is_code(bench: Workbench, script: Script) -> None:
    events = play(bench, script('Plan: Show.\n#E1 = python[{"a": 1}]', ANSWER))
    assert calls(events) == [("python", {"code": '{"a": 1}'})]


def test_the_model_itself_is_asked_with_the_prompt_of_an_object(bench: Workbench, script: Script) -> None:
    events = play(bench, script(f'{FOUND}Plan: Read.\n#E2 = LLM[{{"prompt": "Which? #E1"}}]', "Japan.", ANSWER))
    assert prompt(events, "worker")[-1].content.startswith("Which? ")


def test_the_solver_is_shown_no_tool_that_it_cannot_call(bench: Workbench, script: Script) -> None:
    events = play(bench, script(FOUND, ANSWER))
    system = prompt(events, "solve")[0].content
    assert "<tool_call>" not in system
    assert '"properties"' not in system
    assert fold(events).outcome == "answered"


def test_a_failed_step_is_planned_again_alone(bench: Workbench, script: Script) -> None:
    plan = f'{FOUND}Plan: Read.\n#E2 = visit[{{"url": "nowhere", "goal": "age"}}]'
    again = 'Plan: Read what was found.\n#E2 = visit[{"url": "#E1", "goal": "age"}]'
    events = play(bench, script(plan, again, ANSWER))
    assert purposes(events) == ["plan", "replan", "solve"]
    assert [name for name, _ in calls(events)] == ["search", "visit", "visit"]
    assert fold(events).outcome == "answered"


def test_a_step_that_cannot_be_planned_again_keeps_its_error(bench: Workbench, script: Script) -> None:
    plan = 'Plan: Read.\n#E1 = visit[{"url": "nowhere", "goal": "age"}]\nPlan: Look.\n#E2 = search[Japan population]'
    events = play(bench, script(plan, *["I do not know."] * 4, ANSWER))
    assert [name for name, _ in calls(events)] == ["visit", "search"]
    assert fold(events).status == "completed"


def test_planning_again_can_be_switched_off(bench: Workbench, script: Script) -> None:
    plan = f'{FOUND}Plan: Read.\n#E2 = visit[{{"url": "nowhere", "goal": "age"}}]'
    events = play(bench, script(plan, ANSWER), replan=False)
    assert purposes(events) == ["plan", "solve"]


def test_a_plan_of_more_steps_than_one_reply_may_call_runs_them_all(bench: Workbench, script: Script) -> None:
    plan = "\n".join(f"Plan: Look.\n#E{n} = search[Japan population {n}]" for n in range(1, 21))
    events = play(bench, script(plan, ANSWER))
    assert len(calls(events)) == 20
    assert purposes(events) == ["plan", "solve"]


def test_a_plan_of_fifty_steps_is_carried_out_and_a_longer_one_is_asked_for_again(
    bench: Workbench, script: Script
) -> None:
    def plan(count: int) -> str:
        return "\n".join(f"Plan: {n}.\n#E{n} = search[Japan {n}]" for n in range(1, count + 1))

    events = play(bench, script(plan(200), plan(50), ANSWER))
    problems = [event.problem for event in events if isinstance(event, e.Rejected)]
    assert problems == ["The plan has 200 steps; at most 50 are accepted. Plan only what the answer needs."]
    assert calls(events) == [("search", {"query": f"Japan {n}"}) for n in range(1, 51)]
    assert len(seen(events)) == 50
