"""Parallel sampling and Reflexion: their rounds are counted, replayed and forked, and each branch keeps its reports."""

from __future__ import annotations

import pytest

from research.agent.inherited import prefix_hash
from research.events import events as e
from research.events.branches import first_rounds
from research.events.view import RunView, fold
from research.exports.progress import summary
from research.workbench.workbench import Workbench
from tests.fake_openai import FakeOpenAI
from tests.player import QUESTION, Player

PARALLEL = {"framework.n": 2, "framework.rounds": 6}


def played(bench: Workbench, player: Player, **recipe: object) -> list[e.Event]:
    with FakeOpenAI(player) as server:
        bench.settings.openai_base_url = server.base_url
        chosen = bench.recipe(model="openai:fake", **recipe)  # type: ignore[arg-type]
        events = list(bench.engine.start(QUESTION, chosen, here=True).events())
    assert player.refused == []
    return events


def forked(bench: Workbench, player: Player, run: str, round: int) -> RunView:
    with FakeOpenAI(player) as server:
        bench.settings.openai_base_url = server.base_url
        view = fold(bench.engine.fork(run, round, here=True).events())
    assert player.refused == []
    return view


def test_branches_that_work_side_by_side_share_the_rounds_of_the_run(bench: Workbench) -> None:
    events = played(bench, Player("native", laps=3), framework="parallel", options=PARALLEL)
    view = fold(events)
    own = {agent: [r.number for r in view.rounds if r.agent == agent] for agent in view.branches}
    assert view.last_round == max(max(numbers) for numbers in own.values()) + 1, "the synthesis is a round of its own"
    assert view.forkable == view.last_round - 1
    shown = fold(first_rounds(events, 2))
    assert {agent: {r.number for r in shown.rounds if r.agent == agent} for agent in own} == {a: {1, 2} for a in own}
    assert (shown.last_round, shown.outcome, shown.answer) == (2, None, "")
    assert first_rounds(events, view.last_round) == events


def test_trials_continue_the_count_of_rounds(bench: Workbench) -> None:
    options = {"framework.trials": 2, "framework.evaluator": "gold", "framework.gold": "no such answer"}
    events = played(bench, Player("native", laps=2), framework="reflexion", options=options)
    view = fold(events)
    first, second = view.branches
    places = [[r.place for r in view.rounds if r.agent == agent] for agent in (first, "main", second)]
    assert places == [[1, 2, 3], [4], [5, 6, 7]]
    assert [r.agent for r in fold(first_rounds(events, 5)).rounds][-1] == second
    assert second not in fold(first_rounds(events, 4)).branches


@pytest.mark.examples(1)
@pytest.mark.parametrize("framework", ["parallel", "reflexion"])
def test_a_fork_repeats_no_round_that_it_keeps(bench: Workbench, framework: str) -> None:
    reflexion = {"framework.trials": 2, "framework.evaluator": "gold", "framework.gold": "no such answer"}
    options = PARALLEL if framework == "parallel" else reflexion
    events = played(bench, Player("native", laps=3), framework=framework, options=options)
    view = fold(events)
    for number in range(1, view.forkable + 1):
        again = Player("native", laps=3)
        fork = forked(bench, again, view.run, number)
        kept = sum(isinstance(event, e.Replied) for event in first_rounds(events, number))
        assert (fork.outcome, fork.error) == (view.outcome, "")
        assert len(again.purposes) == view.model_calls - kept
        assert fork.last_round == view.last_round
        assert {agent: branch.answer for agent, branch in fork.branches.items()} == {
            agent: branch.answer for agent, branch in view.branches.items()
        }
        made = bench.store.events(fork.run)
        assert prefix_hash(made, number) == prefix_hash(events, number)
        assert [event.seq for event in made] == list(range(len(made)))
    assert len({prefix_hash(events, number) for number in range(1, view.last_round + 1)}) == view.last_round


def test_each_report_belongs_to_the_branch_that_wrote_it(bench: Workbench) -> None:
    events = played(bench, Player("native", laps=3), framework="parallel", options=PARALLEL)
    view = fold(events)
    written: dict[str, list[str]] = {}
    for event in events:
        if isinstance(event, e.ReportUpdated):
            written.setdefault(event.agent, []).append(event.report)
    assert len(written) == 2
    assert {agent: [text for _, text in branch.reports] for agent, branch in view.branches.items()} == written
    assert view.reports == [], "a branch's report is not the run's"
    for branch in view.branches.values():
        assert branch.text.startswith(branch.answer)
        assert branch.outcome == "answered"


@pytest.mark.parametrize(("gold", "outcome"), [("no such answer", "rejected"), ("123,201,945", "answered")])
def test_the_outcome_tells_the_last_verdict_of_reflexion(bench: Workbench, gold: str, outcome: str) -> None:
    options = {"framework.trials": 2, "framework.evaluator": "gold", "framework.gold": gold}
    view = fold(played(bench, Player("native", laps=2), framework="reflexion", options=options))
    assert (view.outcome, view.status) == (outcome, "completed")
    told = [note for each in view.rounds for note in each.notes if "FAIL" in note]
    verdicts = [
        f"{which} is FAIL: The answer is not the right one."
        for which in ("The verdict on this attempt", "The last verdict")
    ]
    assert told == (verdicts if outcome == "rejected" else [])
    assert ("the last verdict on the answer is FAIL" in summary(view)) == (outcome == "rejected")
