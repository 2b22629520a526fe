"""The loop, by its events, with a scripted model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import research
from research.agent.journal import Journal
from research.agent.lifecycle import execute
from research.agent.run import Run
from research.errors import ConfigError
from research.events import events as e
from research.events.events import Event, decode, encode
from research.events.recipe import Budget
from research.events.view import first_rounds, fold, messages_sent
from research.store.sqlite import SqliteStore
from research.workbench import run_import
from research.workbench.workbench import Workbench

Script = Callable[..., str]


def call(name: str, **arguments: object) -> str:
    import json

    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


SEARCH = "<think>Look.</think>" + call("search", query="Japan population")
ANSWER = "<think>Done.</think><answer>Japan has 123,201,945 people [1].</answer>"


def play(bench: Workbench, model: str, **recipe: object) -> list[Event]:
    return list(research.stream("How many people live in Japan?", workbench=bench, model=model, **recipe))


def test_events_are_numbered_without_gaps_and_end_once(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, ANSWER))
    assert [event.seq for event in events] == list(range(len(events)))
    assert [type(event).__name__ for event in events if isinstance(event, e.RunFinished)] == ["RunFinished"]
    assert isinstance(events[0], e.RunStarted)
    assert isinstance(events[-1], e.RunFinished)
    assert events[-1].outcome == "answered"


def test_what_is_saved_is_what_was_seen(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, ANSWER))
    assert bench.store.events(events[0].run) == events
    assert [decode(encode(event)) for event in events] == events


def test_folding_step_by_step_gives_the_same_view_as_folding_all(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, ANSWER))
    view = fold([])
    for index, event in enumerate(events, 1):
        view.apply(event)
        assert view == fold(events[:index])


def test_replay_to_a_round_ends_before_the_next(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, SEARCH.replace("Japan", "Kenya"), ANSWER))
    assert fold(first_rounds(events, 1)).round_count() == 1
    assert fold(first_rounds(events, 2)).round_count() == 2
    assert first_rounds(events, 99) == events


def test_the_messages_sent_can_be_read_back(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, "gibberish", ANSWER))
    sent = messages_sent(fold(events), "main", 2)
    assert [message.role for message in sent] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "neither" in sent[-1].content
    assert sent[2].content == SEARCH


def test_an_unreadable_reply_is_asked_again_and_does_not_stay_in_the_history(bench: Workbench, script: Script) -> None:
    events = play(bench, script("nonsense", SEARCH, ANSWER))
    assert [type(event).__name__ for event in events].count("Rejected") == 1
    assert all("nonsense" not in message.content for message in messages_sent(fold(events), "main", 2))
    assert events[-1].outcome == "answered"  # type: ignore[union-attr]


def test_garbage_forever_ends_with_a_named_outcome(bench: Workbench, script: Script) -> None:
    events = play(bench, script(*["nonsense"] * 20))
    assert isinstance(events[-1], e.RunFinished)
    assert events[-1].outcome == "failed"


def test_unknown_tool_goes_back_to_the_model(bench: Workbench, script: Script) -> None:
    events = play(bench, script("<think>a</think>" + call("teleport", to="Mars"), SEARCH, ANSWER))
    refused = [event.problem for event in events if isinstance(event, e.Rejected)]
    assert "teleport" in refused[0]
    assert "search" in refused[0]
    assert events[-1].outcome == "answered"  # type: ignore[union-attr]


def test_one_failing_call_leaves_its_sibling_alone(bench: Workbench, script: Script) -> None:
    both = (
        "<think>a</think>" + call("visit", url="library://nowhere", goal="x") + call("search", query="Japan population")
    )
    view = fold(play(bench, script(both, ANSWER)))
    results = [c.observation for c in view.rounds[0].calls]
    assert [seen.ok for seen in results if seen] == [False, True]


def test_an_answer_without_a_source_is_no_evidence(bench: Workbench, script: Script) -> None:
    final = play(bench, script("<think>x</think><answer>It is 5.</answer>"))[-1]
    assert isinstance(final, e.RunFinished)
    assert final.outcome == "no_evidence"
    assert final.answer.startswith("**No evidence.**")


def test_a_source_that_was_never_seen_is_no_source(bench: Workbench, script: Script) -> None:
    final = play(bench, script(SEARCH, "<think>x</think><answer>It is 5 [99].</answer>"))[-1]
    assert isinstance(final, e.RunFinished)
    assert final.outcome == "no_evidence"
    assert [citation.status for citation in final.citations] == ["dead"]


def test_the_limit_of_rounds_forces_an_answer_without_tools(bench: Workbench, script: Script) -> None:
    model = script(SEARCH, SEARCH.replace("Japan", "Kenya"), {"text": ANSWER, "purpose": "conclude"})
    events = play(bench, model, options={"framework.rounds": 2})
    asked = [event for event in events if isinstance(event, e.Asked)]
    assert [event.purpose for event in asked] == ["act", "act", "conclude"]
    assert asked[-1].tools == ()
    assert events[-1].outcome == "rounds"  # type: ignore[union-attr]


def test_tools_asked_for_in_the_last_call_end_with_what_is_known(bench: Workbench, script: Script) -> None:
    events = play(
        bench, script(*[SEARCH.replace("Japan", f"Japan {i}") for i in range(9)]), options={"framework.rounds": 1}
    )
    final = events[-1]
    assert isinstance(final, e.RunFinished)
    assert final.outcome == "rounds"
    assert "[1]" in final.answer


def test_the_same_action_three_times_gets_a_hint_and_then_an_end(bench: Workbench, script: Script) -> None:
    events = play(bench, script(*[SEARCH] * 5, {"text": ANSWER, "purpose": "conclude"}))
    assert [event.kind for event in events if isinstance(event, e.Warned)] == ["loop"]
    assert events[-1].outcome == "loop"  # type: ignore[union-attr]
    sent = messages_sent(fold(events), "main", 4)
    assert sent[-1].content.rstrip().endswith("what is known.")


@pytest.mark.parametrize("length", [2, 3])
def test_actions_that_go_in_a_circle_get_a_hint_and_then_an_end(bench: Workbench, script: Script, length: int) -> None:
    circle = [SEARCH.replace("Japan", place) for place in ("Japan", "Kenya", "Chile")[:length]]
    events = play(bench, script(*circle * 4, {"text": ANSWER, "purpose": "conclude"}), options={"framework.rounds": 20})
    assert [event.kind for event in events if isinstance(event, e.Warned)] == ["loop"]
    assert events[-1].outcome == "loop"  # type: ignore[union-attr]
    asked = [event.purpose for event in events if isinstance(event, e.Asked)]
    assert asked.count("act") == 3 * length + 1


def test_going_back_to_something_is_no_circle(bench: Workbench, script: Script) -> None:
    places = ("Japan", "Kenya", "Japan", "Kenya", "Chile", "Japan", "Kenya", "Japan", "Chile")
    events = play(bench, script(*[SEARCH.replace("Japan", place) for place in places], ANSWER))
    assert not [event for event in events if isinstance(event, e.Warned)]
    assert events[-1].outcome == "answered"  # type: ignore[union-attr]


@pytest.mark.parametrize(("budget", "outcome"), [(Budget(tokens=1), "tokens"), (Budget(seconds=1e-9), "time")])
def test_a_spent_budget_ends_the_run_by_name(bench: Workbench, script: Script, budget: Budget, outcome: str) -> None:
    events = play(bench, script(SEARCH, ANSWER, ANSWER, ANSWER), budget=budget)
    assert events[-1].outcome == "no_evidence"  # type: ignore[union-attr]
    reasons = [event.reason for event in events if isinstance(event, e.Concluding)]
    assert reasons == [outcome]


@pytest.mark.parametrize("error", ["429", "500", "reset", "truncated"])
def test_a_passing_fault_is_retried_and_its_draft_withdrawn(bench: Workbench, script: Script, error: str) -> None:
    events = play(bench, script({"text": "half of", "error": error}, SEARCH, ANSWER))
    assert [type(event).__name__ for event in events].count("Withdrawn") == 1
    view = fold(events)
    assert view.outcome == "answered"
    assert "half of" not in view.rounds[0].draft


def test_a_fault_that_stays_lets_the_run_rest_and_says_why(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, *[{"error": "500"}] * 3))
    assert isinstance(events[-1], e.Paused)
    assert "answered 500" in events[-1].reason
    assert fold(events).error == events[-1].reason
    assert bench.store.run(events[0].run).status == "paused"


def test_stop_leaves_a_readable_report(bench: Workbench, script: Script) -> None:
    stream = iter(research.stream("How many people live in Japan?", workbench=bench, model=script(SEARCH, ANSWER)))
    events = []
    for event in stream:
        events.append(event)
        if isinstance(event, e.ToolFinished):
            bench.engine.stop(event.run)
    final = events[-1]
    assert isinstance(final, e.RunFinished)
    assert (final.status, final.outcome) == ("stopped", "stopped")
    assert "[1]" in final.report


def test_a_run_goes_on_from_its_journal_without_asking_again(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, SEARCH.replace("Japan", "Kenya"), ANSWER))
    for cut in range(1, len(events)):
        recipe = bench.recipe(model=script(SEARCH, SEARCH.replace("Japan", "Kenya"), ANSWER))
        shared = bench.context_for(recipe, Journal(events[:cut]), threading.Event())
        rest = list(execute(Run(events[0].question, recipe, shared), events[0].run))  # type: ignore[union-attr]
        whole = [*events[:cut], *rest]
        assert [event.seq for event in whole] == list(range(len(whole)))
        assert sum(isinstance(event, e.Replied) for event in whole) == 3, f"cut at {cut}"
        assert whole[-1].answer == events[-1].answer  # type: ignore[union-attr]
        assert len({event.observation.call_id for event in whole if isinstance(event, e.ToolFinished)}) == 2


def test_window_keeps_whole_rounds(bench: Workbench, script: Script) -> None:
    searches = [SEARCH.replace("Japan", name) for name in ("Kenya", "Peru", "Chad", "Japan")]
    events = play(bench, script(*searches, ANSWER), context="window", options={"context.k": 2})
    sent = messages_sent(fold(events), "main", 5)
    assert [message.role for message in sent] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "Chad" in sent[2].content


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"framework": "telepathy"}, "react"),
        ({"context": "crystal"}, "window"),
        ({"model": "gpt-9"}, "extractive"),
        ({"tools": ["search", "hammer"]}, "python"),
        ({"options": {"framework.rounds": "many"}}, "whole number from 1 to 2,048"),
        ({"options": {"framework.rounds": 0}}, "from 1 to 2,048"),
        ({"options": {"framework.speed": 1}}, "rounds"),
        ({"options": {"rounds": 1}}, "framework.NAME"),
        ({"model": "openai:x"}, "OPENAI_API_KEY"),
    ],
)
def test_a_wrong_choice_names_itself_and_what_is_known(
    bench: Workbench, arguments: dict[str, object], named: str
) -> None:
    with pytest.raises(ConfigError) as error:
        bench.recipe(**arguments)  # type: ignore[arg-type]
    assert named in str(error.value)
    assert bench.store.runs() == []


def test_the_gold_evaluator_needs_the_right_answer(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, ANSWER), framework="reflexion", options={"framework.evaluator": "gold"})
    failed = [event for event in events if isinstance(event, e.RunFailed)]
    assert "framework.gold" in failed[0].error
    assert failed[0].traceback == ""


def test_a_second_writer_of_a_run_is_refused_by_name(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, ANSWER))
    with pytest.raises(ConfigError, match="running elsewhere"):
        bench.store.append([events[3]])
    assert bench.store.events(events[0].run) == events


def test_an_old_request_to_stop_does_not_stop_a_resumed_run(bench: Workbench, script: Script) -> None:
    question = "<answer>Which country do you mean?</answer>"
    waiting = play(bench, script(question, SEARCH, ANSWER), framework="tool_rounds")
    assert isinstance(waiting[-1], e.WaitingForUser)
    bench.store.request(waiting[0].run, "stop")
    rest = list(bench.engine.resume(waiting[0].run, "Japan", here=True).events())
    assert rest[-1].outcome == "answered"  # type: ignore[union-attr]


def test_a_run_is_exported_from_one_home_and_imported_into_another(
    bench: Workbench, script: Script, tmp_path: Path
) -> None:
    events = play(bench, model := script(SEARCH, ANSWER))
    run = events[0].run
    with closing(SqliteStore(tmp_path / "elsewhere.sqlite")) as elsewhere:
        kept = run_import.keep(elsewhere, run_import.read_run(run_import.written(events)))
        assert (kept.id, kept.state, kept.withheld) == (run, "new", (f"model {model}",))
        # The first event contains the recipe, whose model is a file of the other home.
        assert elsewhere.events(run)[1:] == events[1:]
