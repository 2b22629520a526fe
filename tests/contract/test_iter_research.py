"""IterResearch: it keeps its report, within its limit, takes one action a round, and works with models that only call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import research
from research.config.settings import load
from research.events.view import RunView, fold
from research.exports.html import html
from research.exports.markdown import markdown
from research.exports.progress import summary
from research.models.llama import form
from research.text import estimate_tokens
from research.types import Message, Request, ToolSpec
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.player import ANSWER, QUESTION, Player, lap_of, query

KEPT = "### Confirmed\n- Japan has 123,201,945 people [1].\n- Only the report says so [1]."
Played = tuple[RunView, FakeOpenAI]
Play = Callable[..., Played]


@pytest.fixture
def play(prepared_home: Path, tmp_path: Path) -> Iterator[Play]:
    home = linked_home(prepared_home, tmp_path / "home")

    def run(misbehave: object, protocol: str = "tagged", laps: int = 3, **options: int) -> Played:
        player = Player(protocol, laps, misbehave=misbehave)  # type: ignore[arg-type]
        with FakeOpenAI(player) as server:
            bench = Workbench(load(home=home, openai_base_url=server.base_url))
            events = research.stream(
                QUESTION, workbench=bench, model="openai:fake", framework="iter_research", protocol=protocol,
                options={f"framework.{name}": value for name, value in options.items()},
            )  # fmt: skip
            view = fold(list(events))
        assert player.refused == []
        return view, server

    yield run


def acts(player: Player, purpose: str, body: Body, report: str, searches: int = 1) -> FakeReply | None:
    if purpose != "act":
        return None
    lap = lap_of(body)
    if lap < player.laps:
        return player.say(calls=[("search", {"query": query(lap + 1 + n)}) for n in range(searches)], report=report)
    return player.say(answer=ANSWER, report=report)


@pytest.mark.parametrize("protocol", ["tagged", "native"])
def test_the_result_is_the_answer_above_the_report(play: Play, protocol: str) -> None:
    notes = f"{KEPT}\n\n### Gaps\n- none known\n\n### Tried\n- search {{}}"
    view, _ = play(lambda player, purpose, body, _: acts(player, purpose, body, notes), protocol)
    assert (view.outcome, view.answer) == ("answered", ANSWER)
    assert view.report == f"{ANSWER}\n\n## Report\n\n{KEPT}", "working notes belong to the rounds"
    assert "### Tried" in view.reports[-1][1]
    assert "Only the report says so." in [citation.claim for citation in view.citations]
    pairs = [(citation.n, citation.claim) for citation in view.citations]
    assert len(pairs) == len(set(pairs))
    for text in (markdown(view), summary(view), html(view)):
        assert text.index("123,201,945") < text.index("Only the report says so")


def test_a_report_over_its_limit_is_condensed_then_cut_at_a_section(play: Play) -> None:
    long = KEPT + "".join(f"\n### Part {n}\n" + "More words about it [1]. " * 100 for n in range(6))
    assert estimate_tokens(long) > 3_000
    view, server = play(lambda player, purpose, body, _: acts(player, purpose, body, long), report_tokens=900)
    assert view.outcome == "answered"
    assert all(estimate_tokens(report) <= 900 for _, report in view.reports)
    assert {each.purpose for each in view.rounds} == {"act", "condense"}
    condensed, _ = play(
        lambda player, purpose, body, _: (
            FakeReply(long) if purpose == "condense" else acts(player, purpose, body, long)
        ),
        report_tokens=900,
    )
    assert condensed.outcome == "answered"
    (report,) = {report for _, report in condensed.reports}
    assert report.startswith(KEPT)
    assert report.endswith("More words about it [1].")
    assert 450 < estimate_tokens(report) <= 900
    assert any("its last sections were cut" in note for each in condensed.rounds for note in each.notes)


def test_a_round_takes_one_action(play: Play) -> None:
    view, server = play(lambda player, purpose, body, _: acts(player, purpose, body, KEPT, searches=2))
    assert view.outcome == "answered"
    searching = [each for each in view.rounds if each.reply and each.reply.calls]
    assert [len(each.reply.calls) for each in searching if each.reply] == [2] * len(searching)
    assert [len(each.calls) for each in searching] == [1] * len(searching)
    assert all("One action a round: search was not run." in each.notes for each in searching)
    assert any("(not run: each round takes one action" in str(body["messages"]) for body in server.requests)


def test_a_model_that_only_calls_tools_keeps_a_report(play: Play) -> None:
    def silent(player: Player, purpose: str, body: Body, _: int) -> FakeReply | None:
        lap = lap_of(body)
        if purpose == "act" and lap < player.laps:
            return FakeReply("", [("search", {"query": query(lap + 1)})])
        return FakeReply(ANSWER) if purpose == "act" else None

    view, server = play(silent, "native", laps=12)
    assert (view.outcome, view.answer, view.error) == ("answered", ANSWER, "")
    assert [each.purpose for each in view.rounds if each.number == 1] == ["act"]
    assert view.reports[-1][1].startswith("Notes up to lap 12.")
    assert "Notes up to lap 12." in view.report
    sizes = [len(str(body["messages"])) for body in server.requests]
    early, late = sizes[3:13], sizes[13:]
    assert max(late) < 1.1 * max(early), "the prompts grow with the rounds"


def test_a_tagged_model_that_never_writes_a_report_is_asked_again_once(play: Play) -> None:
    view, _ = play(lambda player, purpose, body, _: acts(player, purpose, body, ""))
    assert view.outcome == "answered"
    asked = [sum("held no <report>" in note for note in each.notes) for each in view.rounds if each.purpose == "act"]
    assert set(asked) == {1}
    assert view.report.startswith(f"{ANSWER}\n\n## Report\n\nNotes up to lap ")


def test_the_grammar_for_model_files_demands_the_report() -> None:
    tool = ToolSpec("search", "Search.", {"type": "object", "properties": {"query": {"type": "string"}}})
    request = Request((Message("user", QUESTION),), (tool,), report=True)
    schema = form.schema_of(request, answer=1_000)
    assert schema is not None
    assert all(each["required"][:2] == ["thought", "report"] for each in schema["anyOf"])
    reply = form.FormReply(1)
    list(reply.take('{"thought":"t","report":"### Confirmed","tool":"search","arguments":{"query":"x"}}'))
    completion = reply.completion("stop", None)
    assert (completion.text, completion.calls[0].name) == ("<report>### Confirmed</report>", "search")
