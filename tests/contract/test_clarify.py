"""Every framework asks the user for a missing detail, by the tool or in plain text, and goes on with the reply."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

import research
from research import plugins
from research.events import events as e
from research.events.view import RunView, fold, messages_sent
from research.workbench.workbench import Workbench
from tests.command import Cli
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.workers import LONG_S

Script = Callable[..., str]

FRAMEWORKS = sorted(entry.id for entry in plugins.framework.all())
VAGUE = "Compare them."
DETAIL = "the population of Japan and of Kenya"
FIGURES = ("123,201,945", "55,751,717")


def tagged(name: str, **arguments: object) -> str:
    return f"<think>x</think><tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


SEARCH = tagged("search", query="Japan population")
ANSWER = "<answer>Japan has 123,201,945 people [1].</answer>"
JAPAN = "How many people live there?"


def begin(bench: Workbench, model: str, question: str = JAPAN, **recipe: Any) -> tuple[str, RunView]:
    """Run until the first end or question; return the run's id and view."""
    events = list(research.stream(question, workbench=bench, model=model, **recipe))
    return events[0].run, fold(events)


def reply(bench: Workbench, run: str, text: str) -> RunView:
    """Reply, run to the next end or question, and return the view of all saved events."""
    list(bench.engine.resume(run, text, here=True).events())
    return fold(bench.store.events(run))


def sent(view: RunView, agent: str = "main") -> str:
    """Return the agent's last prompt."""
    asks = [each.ask for each in view.rounds if each.agent == agent and each.ask]
    return "\n".join(message.content for message in messages_sent(view, agent, max(asks)))


# -- what is a question to the user -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("Which of the two rivers do you mean?", True),
        ("Two of that name come up. **Which one is meant?**", True),
        ("还需要知道您想去哪里？", True),
        ("您问的是苹果公司还是水果？」", True),
        ("I need the destination before I can search.", False),
        ("请说出目的地。", False),
        ('The form says "please provide a photo". Nothing else is needed.', False),
        ("Which of the two is meant, asks the guide [1]?", False),
        ("The figures of the census are long and many. " * 20 + "Which year?", False),
        ('Which year?\n<part status="not_found">the year</part>', False),
    ],
)
def test_the_default_framework_waits_for_a_question_and_not_for_a_report(
    bench: Workbench, script: Script, text: str, waits: bool
) -> None:
    _, view = begin(bench, script(f"<answer>{text}</answer>"))
    assert (view.status == "waiting_input") is waits
    assert view.answer == text or not waits


# -- every framework --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_framework_asks_for_what_is_missing_and_goes_on(bench: Workbench, framework: str) -> None:
    run, view = begin(bench, "extractive", VAGUE, framework=framework)
    events = bench.store.events(run)
    assert [type(event) for event in events if isinstance(event, e.WaitingForUser)] == [type(events[-1])]
    assert view.status == "waiting_input"
    view = reply(bench, run, DETAIL)
    assert (view.status, view.outcome) == ("completed", "answered")
    assert [figure for figure in FIGURES if figure not in view.report] == []


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_run_that_can_ask_nobody_ends_and_is_told_to_assume(bench: Workbench, framework: str) -> None:
    _, view = begin(bench, "extractive", VAGUE, framework=framework, ask=False)
    assert (view.status, view.outcome) == ("completed", "no_evidence")
    prompts = [message.content for each in view.rounds for _, added in each.sent for message in added]
    assert any("Nobody can be asked" in prompt for prompt in prompts)
    assert not any("ask_user" in prompt for prompt in prompts)


@pytest.mark.examples(4)
@pytest.mark.parametrize("context", ["full", "window", "resum", "evolving"])
@pytest.mark.parametrize("framework", ["react", "tool_rounds", "iter_research"])
def test_the_tool_asks_in_every_loop_and_the_reply_stays_in_every_prompt(
    bench: Workbench, script: Script, framework: str, context: str
) -> None:
    report = "<report>### Confirmed\nnothing</report>" if framework == "iter_research" else ""
    lines = [report + tagged("ask_user", question="Which country?"), *[report + SEARCH] * 2, report + ANSWER]
    model = script(*lines, *["Notes: nothing yet."] * 6)
    options = {"framework.rounds": 9, **({"context.k": 1} if context == "window" else {})}
    run, view = begin(bench, model, framework=framework, context=context, options=options)
    assert (view.status, view.answer) == ("waiting_input", "Which country?")
    view = reply(bench, run, "I mean Japan")
    seen = [call.observation for each in view.rounds for call in each.calls if call.call.name == "ask_user"]
    assert [each.text for each in seen if each] == ["I mean Japan"]
    assert "The user was asked: Which country?\nThe user replied: I mean Japan" in sent(view)


def test_a_plan_may_ask_the_user_in_a_step(bench: Workbench, script: Script) -> None:
    plan = "Plan: It is unclear.\n#E1 = ask_user[Which country?]\nPlan: Look.\n#E2 = search[#E1 population]"
    run, view = begin(bench, script(plan, ANSWER), framework="rewoo")
    assert (view.status, view.answer) == ("waiting_input", "Which country?")
    view = reply(bench, run, "Japan")
    calls = [(call.call.name, call.call.arguments) for each in view.rounds for call in each.calls]
    assert calls[1] == ("search", {"query": "Japan population"})


def test_a_question_in_place_of_a_plan_is_put_to_the_user(bench: Workbench, script: Script) -> None:
    plan = "Plan: Look.\n#E1 = search[Japan population]"
    run, view = begin(bench, script("Which country do you mean?", plan, ANSWER), framework="rewoo")
    assert (view.status, view.answer) == ("waiting_input", "Which country do you mean?")
    view = reply(bench, run, "Japan")
    assert view.outcome == "answered"
    planned = "\n".join(message.content for message in messages_sent(view, "main", 2))
    assert "The user replied: Japan" in planned and planned.index("Which country") < planned.index("replied: Japan")


def test_native_calls_get_the_reply_as_their_result(bench: Workbench) -> None:
    def play(body: Body) -> FakeReply:
        asked = {tool["function"]["name"]: tool["function"] for tool in body.get("tools", ())}
        roles = [message["role"] for message in body["messages"]]
        if "tool" not in roles:
            assert asked["ask_user"]["parameters"]["required"] == ["question"]
            return FakeReply("", calls=[("ask_user", {"question": "Which country?"})])
        result = next(message for message in body["messages"] if message["role"] == "tool")
        return FakeReply(f"You said {result['content'].splitlines()[0]}.")

    with FakeOpenAI(play) as server:
        bench.settings.openai_base_url = server.base_url
        run, view = begin(bench, "openai:fake")
        assert (view.status, view.answer) == ("waiting_input", "Which country?")
        view = reply(bench, run, "Japan")
    assert "You said Japan." in view.answer


def test_several_questions_in_a_row_each_wait_for_their_reply(bench: Workbench, script: Script) -> None:
    same = "<answer>Which one do you mean?</answer>"
    lines = [same, same, tagged("ask_user", question="Which year?"), SEARCH, ANSWER]
    run, view = begin(bench, script(*lines))
    replies = ["a country", "Japan", "2024"]
    for number, text in enumerate(replies):
        assert view.status == "waiting_input", number
        view = reply(bench, run, text)
    assert (view.status, view.outcome) == ("completed", "answered")
    prompt = sent(view)
    assert [prompt.index(f"The user replied: {text}") for text in replies] == sorted(
        prompt.index(f"The user replied: {text}") for text in replies
    )


def test_branches_that_lack_the_same_detail_ask_for_it_once(bench: Workbench) -> None:
    all_ask = threading.Barrier(3)

    def play(body: Body) -> FakeReply:
        if body["messages"][-1]["content"] != JAPAN:
            return FakeReply("<answer>Japan, then.</answer>")
        all_ask.wait(LONG_S)
        return FakeReply("<answer>Which country?</answer>")

    with FakeOpenAI(play) as server:
        bench.settings.openai_base_url = server.base_url
        options = {"framework.branch": "react", "framework.n": 3}
        run, view = begin(bench, "openai:fake", framework="parallel", options=options)
        assert view.status == "waiting_input"
        view = reply(bench, run, "Japan")
    events = bench.store.events(run)
    assert view.status == "completed" and "Japan, then." in view.answer
    assert sum(isinstance(event, e.WaitingForUser) for event in events) == 1
    for number in (1, 2, 3):
        assert sent(view, f"main/run-{number}").endswith("Japan")


# -- going on ---------------------------------------------------------------------------------------------------------


def test_a_fork_keeps_what_the_user_replied(bench: Workbench, script: Script) -> None:
    model = script(tagged("ask_user", question="Which country?"), SEARCH, ANSWER)
    run, _ = begin(bench, model)
    reply(bench, run, "Japan")
    again = bench.recipe(model=script(SEARCH, SEARCH, ANSWER), context="window")
    for recipe in (None, again):
        events = list(bench.engine.fork(run, 2, recipe=recipe, here=True).events())
        view = fold(bench.store.events(events[0].run))
        assert view.outcome == "answered"
        assert "The user replied: Japan" in sent(view)


def test_a_fork_of_a_waiting_run_asks_again_and_then_further(bench: Workbench, script: Script) -> None:
    options = {"framework.branch": "react", "framework.n": 2}
    first = {"agent": "main/run-1", "text": SEARCH}
    asks = [{"agent": "main/run-1", "text": f"<answer>Which {what}?</answer>"} for what in ("country", "year")]
    other = [{"agent": "main/run-2", "text": text} for text in (SEARCH, ANSWER)]
    model = script(first, *asks, {"agent": "main/run-1", "text": ANSWER}, *other, {"agent": "main", "text": ANSWER})
    run, view = begin(bench, model, framework="parallel", options=options)
    assert view.answer == "Which country?"
    fork = bench.engine.fork(run, view.forkable, here=True)
    list(fork.events())
    for asked, said in (("Which country?", "Japan"), ("Which year?", "2024")):
        assert bench.store.run(fork.run_id).answer == asked
        view = reply(bench, fork.run_id, said)
    assert (view.status, view.outcome) == ("completed", "answered")


def test_a_framework_that_may_not_ask_offers_no_tool_for_it(bench: Workbench, script: Script) -> None:
    options = {"framework.ask": False}
    _, view = begin(
        bench, script("<answer>Which country do you mean?</answer>"), framework="tool_rounds", options=options
    )
    assert (view.status, view.outcome) == ("completed", "no_evidence")
    assert "ask_user" not in sent(view)


def test_an_empty_question_is_refused_and_the_run_goes_on(bench: Workbench, script: Script) -> None:
    _, view = begin(bench, script(tagged("ask_user", question=" "), SEARCH, ANSWER))
    assert view.outcome == "answered"
    first = view.rounds[0].calls[0].observation
    assert first is not None and not first.ok


# -- what callers see -------------------------------------------------------------------------------------------------


def test_json_tells_a_run_that_asked_from_one_that_did_not(cli: Cli, script: Script) -> None:
    at_once = cli("run", JAPAN, "--model", script(SEARCH, ANSWER), "--json").json
    assert at_once["agent_status"] == "SUCCESS"
    asked = cli("run", JAPAN, "--model", script("<answer>Which country?</answer>", SEARCH, ANSWER), "--json").json
    assert (asked["agent_status"], asked["prompt"]) == ("WAITING_INPUT", "Which country?")
    done = cli("resume", asked["run_id"], "--reply", "Japan", "--json").json
    assert done["agent_status"] == "COMPLETED"
    assert cli("show", asked["run_id"], "--json").json["agent_status"] == "COMPLETED"


def test_no_ask_on_the_command_line_asks_nobody(cli: Cli) -> None:
    done = cli("run", VAGUE, "--no-ask", "--json")
    assert (done.status, done.json["status"], done.json["recipe"]["ask"]) == (0, "completed", False)


def test_comparisons_and_evaluations_ask_nobody(bench: Workbench) -> None:
    from research.compare.starting import compare
    from research.evaluation.recipe_notation import candidate

    assert candidate(bench, "react/full").recipe.ask is False
    recipes = [bench.recipe(model="extractive", context=context) for context in ("full", "window")]
    runs = compare(bench, VAGUE, recipes).runs
    assert all(bench.engine.wait(run, LONG_S) for run in runs)
    assert {bench.store.run(run).status for run in runs} == {"completed"}
