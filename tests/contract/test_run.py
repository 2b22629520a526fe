"""The agent loop with a scripted model, checked by its events."""

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
from research.events.branches import first_rounds
from research.events.events import Event, decode, encode
from research.events.recipe import Budget, Recipe
from research.events.view import fold, messages_sent
from research.models.host import Host
from research.store.sqlite import SqliteStore
from research.types import ToolOutput, ToolSpec
from research.workbench import run_import
from research.workbench.workbench import Workbench
from tests.registrations import registering

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


def test_stored_events_equal_the_streamed_ones(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, ANSWER))
    assert bench.store.events(events[0].run) == events
    assert [decode(encode(event)) for event in events] == events


def test_applying_events_one_by_one_gives_the_same_view_as_folding(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, ANSWER))
    view = fold([])
    for index, event in enumerate(events, 1):
        view.apply(event)
        assert view == fold(events[:index])


def test_replay_to_a_round_stops_before_the_next(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, SEARCH.replace("Japan", "Kenya"), ANSWER))
    assert fold(first_rounds(events, 1)).round_count() == 1
    assert fold(first_rounds(events, 2)).round_count() == 2
    assert first_rounds(events, 99) == events


def test_the_sent_messages_can_be_reconstructed(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, "gibberish", ANSWER))
    sent = messages_sent(fold(events), "main", 2)
    assert [message.role for message in sent] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "neither" in sent[-1].content
    assert sent[2].content == SEARCH


def test_an_unreadable_reply_is_retried_and_dropped_from_the_history(bench: Workbench, script: Script) -> None:
    events = play(bench, script("nonsense", SEARCH, ANSWER))
    assert [type(event).__name__ for event in events].count("Rejected") == 1
    assert all("nonsense" not in message.content for message in messages_sent(fold(events), "main", 2))
    assert events[-1].outcome == "answered"  # type: ignore[union-attr]


def test_endless_unreadable_replies_fail_the_run(bench: Workbench, script: Script) -> None:
    events = play(bench, script(*["nonsense"] * 20))
    assert isinstance(events[-1], e.RunFinished)
    assert events[-1].outcome == "failed"


def test_an_unknown_tool_is_reported_to_the_model(bench: Workbench, script: Script) -> None:
    events = play(bench, script("<think>a</think>" + call("teleport", to="Mars"), SEARCH, ANSWER))
    refused = [event.problem for event in events if isinstance(event, e.Rejected)]
    assert "teleport" in refused[0]
    assert "search" in refused[0]
    assert events[-1].outcome == "answered"  # type: ignore[union-attr]


def test_a_failing_call_does_not_affect_its_sibling(bench: Workbench, script: Script) -> None:
    both = (
        "<think>a</think>" + call("visit", url="library://nowhere", goal="x") + call("search", query="Japan population")
    )
    view = fold(play(bench, script(both, ANSWER)))
    results = [c.observation for c in view.rounds[0].calls]
    assert [seen.ok for seen in results if seen] == [False, True]


class Broken:
    """A tool of somebody else, which raises what it likes."""

    timeout_s = 10.0
    spec = ToolSpec("meter", "Read a meter.", {"type": "object", "properties": {}})

    def __call__(self) -> ToolOutput:
        raise RuntimeError("the device is off")


def test_what_an_own_tool_raises_is_told_to_the_model_and_the_run_goes_on(bench: Workbench, script: Script) -> None:
    def meter(host: Host, recipe: Recipe, stop: threading.Event) -> Broken:
        """Read a meter."""
        return Broken()

    with registering():
        research.tool("Meter")(meter)
        view = fold(play(bench, script("<think>a</think>" + call("meter"), SEARCH, ANSWER), tools=("search", "meter")))
    seen = view.rounds[0].calls[0].observation
    assert seen
    assert (seen.ok, seen.text) == (False, "meter failed: RuntimeError: the device is off. Try something else.")
    assert view.outcome == "answered"


def test_an_answer_without_a_source_has_no_evidence(bench: Workbench, script: Script) -> None:
    final = play(bench, script("<think>x</think><answer>It is 5.</answer>"))[-1]
    assert isinstance(final, e.RunFinished)
    assert final.outcome == "no_evidence"
    assert final.answer.startswith("**No answer found.**")


def test_an_answer_that_cites_an_unseen_source_has_no_evidence(bench: Workbench, script: Script) -> None:
    final = play(bench, script(SEARCH, "<think>x</think><answer>It is 5 [99].</answer>"))[-1]
    assert isinstance(final, e.RunFinished)
    assert final.outcome == "no_evidence"
    assert [citation.status for citation in final.citations] == ["dead"]


def test_the_round_limit_forces_an_answer_without_tools(bench: Workbench, script: Script) -> None:
    model = script(SEARCH, SEARCH.replace("Japan", "Kenya"), {"text": ANSWER, "purpose": "conclude"})
    events = play(bench, model, options={"framework.rounds": 2})
    asked = [event for event in events if isinstance(event, e.Asked)]
    assert [event.purpose for event in asked] == ["act", "act", "conclude"]
    assert asked[-1].tools == ()
    assert events[-1].outcome == "rounds"  # type: ignore[union-attr]


def test_a_tool_call_in_the_final_reply_ends_with_the_findings(bench: Workbench, script: Script) -> None:
    events = play(
        bench, script(*[SEARCH.replace("Japan", f"Japan {i}") for i in range(9)]), options={"framework.rounds": 1}
    )
    final = events[-1]
    assert isinstance(final, e.RunFinished)
    assert final.outcome == "rounds"
    assert "[1]" in final.answer


def test_a_repeated_action_gets_a_hint_and_then_ends_the_run(bench: Workbench, script: Script) -> None:
    events = play(bench, script(*[SEARCH] * 5, {"text": ANSWER, "purpose": "conclude"}))
    assert [event.kind for event in events if isinstance(event, e.Warned)] == ["loop"]
    assert events[-1].outcome == "loop"  # type: ignore[union-attr]
    sent = messages_sent(fold(events), "main", 4)
    assert sent[-1].content.rstrip().endswith("what is known.")


def test_a_query_in_other_order_case_and_punctuation_is_the_same_action(bench: Workbench, script: Script) -> None:
    queries = ["Japan population", "population, Japan", "JAPAN: population?"] * 2
    lines = [SEARCH.replace("Japan population", query) for query in queries]
    events = play(bench, script(*lines, {"text": ANSWER, "purpose": "conclude"}))
    assert [event.kind for event in events if isinstance(event, e.Warned)] == ["loop"]
    assert events[-1].outcome == "loop"  # type: ignore[union-attr]


@pytest.mark.parametrize("length", [2, 3])
def test_a_cycle_of_actions_gets_a_hint_and_then_ends_the_run(bench: Workbench, script: Script, length: int) -> None:
    circle = [SEARCH.replace("Japan", place) for place in ("Japan", "Kenya", "Chile")[:length]]
    events = play(bench, script(*circle * 4, {"text": ANSWER, "purpose": "conclude"}), novelty=False)
    assert [event.kind for event in events if isinstance(event, e.Warned)] == ["loop"]
    assert events[-1].outcome == "loop"  # type: ignore[union-attr]
    asked = [event.purpose for event in events if isinstance(event, e.Asked)]
    assert asked.count("act") == 3 * length + 1


def test_returning_to_an_earlier_action_is_not_a_cycle(bench: Workbench, script: Script) -> None:
    places = ("Japan", "Kenya", "Japan", "Kenya", "Chile", "Japan", "Kenya", "Japan", "Chile")
    events = play(bench, script(*[SEARCH.replace("Japan", place) for place in places], ANSWER), novelty=False)
    assert not [event for event in events if isinstance(event, e.Warned)]
    assert events[-1].outcome == "answered"  # type: ignore[union-attr]


def test_a_budget_may_be_a_mapping(bench: Workbench) -> None:
    assert bench.recipe(budget={"seconds": 120, "tokens": 9_000.0}).budget == Budget(seconds=120, tokens=9_000)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (120, "budget 120: give"), ({"second": 1}, "'second'.*seconds"), ({"tokens": 1.5}, "tokens=1.5: expected a whole number"),
        ({"seconds": "120"}, "seconds='120': expected a number"), ({"usd": float("nan")}, "usd=nan"), ({"seconds": 0}, "above 0"),
    ],
)  # fmt: skip
def test_a_wrong_budget_is_refused_with_what_is_accepted(bench: Workbench, budget: object, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        bench.recipe(budget=budget)


@pytest.mark.parametrize(("budget", "outcome"), [(Budget(tokens=1), "tokens"), (Budget(seconds=1e-9), "time")])
def test_a_spent_budget_ends_the_run_and_is_named_as_the_reason(
    bench: Workbench, script: Script, budget: Budget, outcome: str
) -> None:
    events = play(bench, script(SEARCH, ANSWER, ANSWER, ANSWER), budget=budget)
    assert events[-1].outcome == "no_evidence"  # type: ignore[union-attr]
    reasons = [event.reason for event in events if isinstance(event, e.Concluding)]
    assert reasons == [outcome]


@pytest.mark.parametrize("error", ["429", "500", "reset", "truncated"])
def test_a_transient_fault_is_retried_and_its_draft_withdrawn(bench: Workbench, script: Script, error: str) -> None:
    events = play(bench, script({"text": "half of", "error": error}, SEARCH, ANSWER))
    assert [type(event).__name__ for event in events].count("Withdrawn") == 1
    view = fold(events)
    assert view.outcome == "answered"
    assert "half of" not in view.rounds[0].draft


def test_a_persistent_fault_pauses_the_run_with_the_reason(bench: Workbench, script: Script) -> None:
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


def test_a_run_resumes_from_its_journal_without_repeating_requests(bench: Workbench, script: Script) -> None:
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


def test_the_window_strategy_keeps_whole_rounds(bench: Workbench, script: Script) -> None:
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
def test_an_invalid_choice_gives_an_error_with_the_accepted_values(
    bench: Workbench, arguments: dict[str, object], named: str
) -> None:
    with pytest.raises(ConfigError) as error:
        bench.recipe(**arguments)  # type: ignore[arg-type]
    assert named in str(error.value)
    assert bench.store.runs() == []


def test_the_gold_evaluator_needs_a_gold_answer(bench: Workbench, script: Script) -> None:
    events = play(bench, script(SEARCH, ANSWER), framework="reflexion", options={"framework.evaluator": "gold"})
    failed = [event for event in events if isinstance(event, e.RunFailed)]
    assert "framework.gold" in failed[0].error
    assert failed[0].traceback == ""


def test_a_second_writer_of_a_run_is_rejected(bench: Workbench, script: Script) -> None:
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
        kept = run_import.import_run(elsewhere, run_import.read_run(run_import.to_jsonl(events)))
        assert (kept.id, kept.state, kept.withheld) == (run, "new", (f"model {model}",))
        # The first event contains the recipe, whose model is a file of the other home.
        assert elsewhere.events(run)[1:] == events[1:]


def test_a_reply_with_very_many_calls_runs_the_first_and_says_so_about_the_others(
    bench: Workbench, script: Script
) -> None:
    many = "".join(call("search", query=f"Japan population {n}") for n in range(24))
    events = play(bench, script(f"<think>Look.</think>{many}", ANSWER))
    seen = [event.observation for event in events if isinstance(event, e.ToolFinished)]
    assert [each.ok for each in seen] == [True] * 16 + [False] * 8
    assert "one reply may make 16 calls" in seen[-1].text
    assert sum(isinstance(event, e.ToolStarted) for event in events) == 16
