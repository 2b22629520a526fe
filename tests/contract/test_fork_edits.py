"""A fork continues from edited rounds: the model reads the edit, no kept call is repeated, and an edit is not a source."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from research.agent.inherited import editable, prefix_hash
from research.compare.alignment import align, identical
from research.compare.forks import common_rounds, compare_with_origin, inherited, lineage
from research.errors import ConfigError
from research.events import events as e
from research.events.events import Event
from research.events.view import RunView, fold, messages_sent
from research.exports.json import as_dict
from research.exports.markdown import markdown
from research.types import HOLDS
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.workbench import Workbench
from tests.command import Cli
from tests.fake_openai import FakeOpenAI
from tests.player import QUESTION, Player, lap_of, purpose_of

FALSE = "9.111"
"""A figure that appears in no source."""


def asked(bench: Workbench, **recipe: object) -> tuple[RunView, list[Event]]:
    events = list(bench.engine.start(EXAMPLE_QUESTION, bench.recipe(**recipe), here=True).events())  # type: ignore[arg-type]
    return fold(events), events


def made(bench: Workbench, run: str, round: int, **given: object) -> tuple[RunView, list[Event]]:
    followed = bench.engine.fork(run, round, **given, here=True)  # type: ignore[arg-type]
    list(followed.events())
    events = bench.store.events(followed.run_id)
    return fold(events), events


def wrong(view: RunView, events: list[Event], round: int = 1) -> dict[str, str]:
    """Return edits that put `FALSE` in place of the figure that the search found."""
    offered = editable(events, round, view.recipe)
    return {each.name: each.text.replace("3.732", FALSE) for each in offered if "3.732" in each.text}


@pytest.mark.examples(3)
@pytest.mark.parametrize(
    ("framework", "context"),
    [
        ("react", "full"), ("react", "window"), ("react", "resum"), ("react", "evolving"),
        ("tool_rounds", "full"), ("tool_rounds", "window"), ("tool_rounds", "resum"), ("tool_rounds", "evolving"),
        ("iter_research", "evolving"), ("iter_research", "full"),
    ],
)  # fmt: skip
def test_the_model_reads_an_edit_and_no_citation_supports_it(bench: Workbench, framework: str, context: str) -> None:
    view, events = asked(bench, framework=framework, context=context)
    assert (FALSE in view.answer, {c.status for c in view.citations}) == (False, {"supported", "calculated"})
    fork, fork_events = made(bench, view.run, 1, edits=wrong(view, events))
    assert f"${FALSE} trillion" in fork.answer
    assert [c.status for c in fork.citations if FALSE in c.claim], "the model does not cite what the user wrote"
    assert not [c for c in fork.citations if FALSE in c.claim and c.status in HOLDS]
    # Replies are kept unchanged: only the observation differs.
    replies = [event for event in fork_events if isinstance(event, e.Replied)]
    before = [event for event in events if isinstance(event, e.Replied)]
    assert replies[0].reply == before[0].reply
    assert sum(isinstance(event, e.Resumed) for event in fork_events) == 1
    assert bench.store.events(view.run) == events, "the origin was changed"


def test_an_edit_records_the_original_text_and_is_marked_in_every_export(bench: Workbench) -> None:
    view, events = asked(bench)
    edits = wrong(view, events)
    fork, fork_events = made(bench, view.run, 1, edits=edits)
    [edit] = fork.edits
    assert isinstance(edit, e.Edited)
    assert (edit.observation.call_id, edit.observation.text, edit.observation.edited) == (
        "main-1-1",
        edits["main-1-1"],
        True,
    )
    assert edit.was == next(x.observation.text for x in events if isinstance(x, e.ToolFinished))
    assert edit in fork_events
    assert [e.decode(e.encode(event)) for event in fork_events] == fork_events
    shown = fork.rounds[0].calls[0].observation
    assert shown is not None
    assert (shown.edited, FALSE in shown.text) == (True, True)
    assert as_dict(fork)["edits"] == [{"call": "main-1-1", "by": "user", "text": edits["main-1-1"], "was": edit.was}]
    assert "edited by the user" in markdown(fork)
    assert "edited by the user" not in markdown(view)
    # The comparison of the two hides what is identical in both, and the edited step is not.
    rows = align([view, fork])
    assert [identical(row) for row in rows if row[1] and row[1].edited] == [False]
    assert any(map(identical, rows))
    # A fork of the fork still knows what the tool returned, and edits can be edited again.
    again, _ = made(bench, fork.run, 1, edits={"main-1-1": edits["main-1-1"].replace(FALSE, "7.777")})
    assert ([each.was for each in again.edits], "7.777" in again.answer) == ([edit.was], True)
    back, _ = made(bench, fork.run, 1)
    assert ([each.was for each in back.edits], FALSE in back.answer) == ([edit.was], True)


def test_a_source_keeps_its_quote_only_if_the_edit_contains_it_whole(bench: Workbench) -> None:
    view, events = asked(bench)
    [text] = wrong(view, events).values()
    fork, _ = made(bench, view.run, 1, edits={"main-1-1": text})
    touched = {n for n, seen in view.sources.items() if any("3.732" in source.quote for source in seen)}
    assert touched
    first = fork.rounds[0].calls[0].observation
    assert first is not None
    assert {source.n for source in first.sources} >= touched
    for source in first.sources:
        assert bool(source.quote) == (source.n not in touched)
        assert source.url == view.sources[source.n][0].url, "the source number changed although replies cite it"
    # Neither a longer figure nor a broken line contains the quote.
    for tampered in (text.replace(FALSE, "3.7321"), text.replace(f"${FALSE}", "\n> $3.732"), "3.732 trillion"):
        other, _ = made(bench, view.run, 1, edits={"main-1-1": tampered})
        seen = other.rounds[0].calls[0].observation
        assert seen is not None
        assert not [source for source in seen.sources if source.n in touched and source.quote]


def test_an_edited_python_result_does_not_count_as_computed(bench: Workbench) -> None:
    """It supports no figure of the report, neither in this run nor in a follow-up."""
    view, events = asked(bench)
    call = next(each for each in editable(events, 2, view.recipe) if each.call and each.call.name == "python")
    fork, _ = made(bench, view.run, 2, edits={call.name: "55.5\n77.7"})
    assert "55.5" in "".join(each.observation.text for r in fork.rounds for each in r.calls if each.observation)
    assert not [c for c in fork.citations if "55.5" in c.claim and c.status in HOLDS]
    following = list(bench.engine.follow_up(fork.run, "And in Spain?", here=True).events())
    earlier = following[0]
    assert isinstance(earlier, e.RunStarted)
    assert earlier.earlier is not None
    assert not [text for text in earlier.earlier.computed if "55.5" in text and "77.7" in text and "(" not in text]


def test_an_evolving_report_can_be_edited(bench: Workbench) -> None:
    with FakeOpenAI(Player("tagged", laps=4)) as server:
        bench.settings.openai_base_url = server.base_url
        recipe = bench.recipe(model="openai:fake", framework="iter_research", protocol="tagged")
        view = fold(bench.engine.start(QUESTION, recipe, here=True).events())
        server.requests.clear()
        fork, events = made(bench, view.run, 3, edits={"report": "The user says: look at Kyoto, lap 3."})
        assert [purpose_of(body) for body in server.requests] == ["act"] * (view.model_calls - 3)
        sent = json.dumps(server.requests[0], ensure_ascii=False)
        assert ("look at Kyoto" in sent, view.reports[2][1] in sent, lap_of(server.requests[0])) == (True, False, 3)
    [edit] = fork.edits
    assert isinstance(edit, e.ReportEdited)
    assert (edit.report, edit.was) == ("The user says: look at Kyoto, lap 3.", view.reports[2][1])
    assert fork.reports[:3] == [*view.reports[:2], (3, edit.report)]
    assert [event.adopts for event in events if isinstance(event, e.Resumed)] == [True]


def test_a_summary_of_edited_rounds_is_made_again(bench: Workbench) -> None:
    with FakeOpenAI(Player("native", laps=8)) as server:
        bench.settings.openai_base_url = server.base_url
        recipe = bench.recipe(
            model="openai:fake", context="resum", options={"context.max_tokens": 3000, "context.threshold": 0.5}
        )
        view = fold(bench.engine.start(QUESTION, recipe, here=True).events())
        assert "summarise" in [purpose_of(body) for body in server.requests], "the test needs a summary"
        last = view.forkable
        server.requests.clear()
        made(bench, view.run, last, edits={"main-1-1": "Kyoto was seen on lap 1."})
        assert any("Kyoto was seen" in json.dumps(body, ensure_ascii=False) for body in server.requests)


def test_edits_that_the_model_would_not_read_are_refused_with_the_reason(bench: Workbench) -> None:
    with FakeOpenAI(Player("native", laps=4)) as server:
        bench.settings.openai_base_url = server.base_url

        def run(**recipe: object) -> RunView:
            chosen = bench.recipe(model="openai:fake", **recipe)  # type: ignore[arg-type]
            return fold(bench.engine.start(QUESTION, chosen, here=True).events())

        react, windowed = run(), run(context="window", options={"context.k": 2})
        iterated, scribed = run(framework="iter_research"), run(context="evolving")
    count = len(bench.store.runs())
    for view, round, edits, reason in (
        (react, 3, {"report": "x"}, "shows the model no report"),
        (react, 3, {"main-9-9": "x"}, "no call 'main-9-9' in rounds 1 to 3; calls that can be edited: main-3-1"),
        (react, 1, {"main-2-1": "x"}, "no call 'main-2-1' in rounds 1 to 1"),
        (react, 3, {"main-1-1": " \n"}, "is empty"),
        (react, 3, {"main-1-1": "x" * 50_001}, "at most 50,000 are accepted"),
        (
            windowed,
            3,
            {"main-1-1": "x"},
            "made in round 1 of 3, which context 'window' no longer shows.*fork at round 1",
        ),
        (iterated, 3, {"main-2-1": "x"}, "made in round 2 of 3, which context 'evolving' no longer shows"),
        (scribed, 3, {}, ""),
    ):
        if reason:
            with pytest.raises(ConfigError, match=reason):
                bench.engine.fork(view.run, round, edits=edits)
    assert len(bench.store.runs()) == count, "a refused fork was saved"
    for framework in ("rewoo", "supervisor"):
        view, events = asked(bench, framework=framework)
        assert editable(events, 1, view.recipe) == []
        with pytest.raises(ConfigError, match="round by round.*edited"):
            bench.engine.fork(view.run, 1, edits={"main-1-1": "x"})


def test_an_edit_that_changes_nothing_is_ignored(bench: Workbench) -> None:
    view, events = asked(bench)
    same = {each.name: each.text for each in editable(events, 2, view.recipe)}
    fork, fork_events = made(bench, view.run, 2, edits=same)
    assert (fork.edits, [x.adopts for x in fork_events if isinstance(x, e.Resumed)]) == ([], [False])


def test_an_edited_fork_can_be_paused_and_resumed(bench: Workbench) -> None:
    view, events = asked(bench)
    followed = bench.engine.fork(view.run, 1, edits=wrong(view, events), here=True)
    for event in followed.events():
        if isinstance(event, e.Replied) and event.ask > 1:
            bench.engine.pause(event.run)
    while bench.store.run(followed.run_id).status == "paused":
        list(bench.engine.resume(followed.run_id, here=True).events())
    done = fold(bench.store.events(followed.run_id))
    assert (done.outcome, FALSE in done.answer, len(done.edits)) == ("answered", True, 1)


def test_the_model_is_sent_the_edit_and_kept_rounds_are_not_repeated(bench: Workbench) -> None:
    with FakeOpenAI(Player("native", laps=3)) as server:
        bench.settings.openai_base_url = server.base_url
        view = fold(bench.engine.start(QUESTION, bench.recipe(model="openai:fake"), here=True).events())
        server.requests.clear()
        fork, _ = made(bench, view.run, 2, edits={"main-1-1": "Kyoto, lap 1."})
        assert len(server.requests) == 2, "a kept round was repeated"
    sent = messages_sent(fork, "main", 3)
    first = next(message.content for message in sent if message.role == "tool")
    assert first.partition("\n\n(round ")[0] == "Kyoto, lap 1."
    assert fork.model_calls == view.model_calls, "the kept rounds' calls are not counted"


# -- the prefix hash --------------------------------------------------------------------------------------------------


def test_prefix_hashes_are_equal_exactly_if_the_rounds_are_equal(bench: Workbench) -> None:
    view, events = asked(bench)
    other, others = asked(bench, framework="tool_rounds", context="window")
    for round in range(1, view.forkable + 1):
        assert prefix_hash(events, round) == prefix_hash(others, round), "the recipe changed the hash"
    fork, fork_events = made(bench, view.run, 2)
    assert [prefix_hash(fork_events, n) for n in (1, 2)] == [prefix_hash(events, n) for n in (1, 2)]
    moved, adopted = made(bench, view.run, 1, recipe=bench.recipe(framework="tool_rounds"))
    assert prefix_hash(adopted, 1) == prefix_hash(events, 1)
    edited, edits = made(bench, view.run, 1, edits=wrong(view, events))
    assert prefix_hash(edits, 1) != prefix_hash(events, 1)
    assert len({prefix_hash(events, n) for n in (1, 2)}) == 2
    slower = [
        msgspec.structs.replace(x, observation=msgspec.structs.replace(x.observation, seconds=99.0, cached=True))
        if isinstance(x, e.ToolFinished)
        else x
        for x in events
    ]
    assert prefix_hash(slower, 2) == prefix_hash(events, 2)
    reworded = [
        msgspec.structs.replace(x, reply=msgspec.structs.replace(x.reply, thinking="?"))
        if isinstance(x, e.Replied) and x.ask == 2
        else x
        for x in events
    ]
    assert prefix_hash(reworded, 1) == prefix_hash(events, 1)
    assert prefix_hash(reworded, 2) != prefix_hash(events, 2)


def test_runs_of_one_lineage_know_how_many_rounds_they_share(bench: Workbench) -> None:
    view, events = asked(bench)
    one, _ = made(bench, view.run, 2)
    two, _ = made(bench, view.run, 1, recipe=bench.recipe(framework="tool_rounds"))
    edited, _ = made(bench, view.run, 2, edits=wrong(view, events, 2))
    deep, _ = made(bench, one.run, 1)
    elsewhere, _ = asked(bench)

    def shared(*views: RunView) -> int:
        found = common_rounds(bench.store, [each.run for each in views])
        return found.rounds if found else -1

    assert shared(view, one) == shared(one, view) == 2
    assert shared(one, two) == shared(view, one, two) == shared(deep, one) == shared(deep, view) == 1
    assert shared(view, edited) == 0, "its first observation was edited"
    assert shared(view, elsewhere) == -1, "an unrelated run, although its rounds are equal"
    assert shared(view) == -1
    found = common_rounds(bench.store, [view.run, one.run])
    assert found is not None
    assert found.hash == prefix_hash(events, 2)
    own = inherited(bench.store, bench.store.run(edited.run))
    assert own is not None
    assert (own.same, own.round, own.origin) == (False, 2, view.run)
    assert compare_with_origin(bench, one.run) == compare_with_origin(bench, one.run)
    assert compare_with_origin(bench, one.run).runs == (view.run, one.run)
    with pytest.raises(ConfigError, match="is not a fork"):
        compare_with_origin(bench, view.run)
    family = lineage(bench.store, bench.store.run(view.run))
    assert (family["origin"], len(family["forks"])) == (None, 3)  # type: ignore[arg-type]


def test_the_command_line_edits_a_fork_and_shows_its_prefix_hash(cli: Cli, bench: Workbench, tmp_path: Path) -> None:
    view, events = asked(bench)
    (tmp_path / "seen.txt").write_text(wrong(view, events)["main-1-1"], encoding="utf-8")
    bench.store.close()
    done = cli("fork", view.run, "--round", "1", "--edit", f"main-1-1={tmp_path / 'seen.txt'}", "--json")
    assert (done.status, FALSE in done.json["answer"]) == (0, True), done.err
    shown = cli("show", done.json["run_id"], "--json").json
    mark = shown["origin"]["prefix"]
    assert shown["origin"] == {"run": view.run, "how": "fork", "round": 1, "prefix": mark, "same": False}
    origin = cli("show", view.run, "--json").json
    assert origin["origin"] is None
    assert origin["forks"] == [{"run": done.json["run_id"], "round": 1, "prefix": mark, "same": False}]
    assert "--edit" in cli("fork", view.run, "--round", "1", "--edit", "main-1-1=nowhere.txt").err
