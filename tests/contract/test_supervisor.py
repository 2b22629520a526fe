"""Supervisor and researchers: sections in order, isolated researchers, a report that code assembles."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import research
from research.config.settings import load
from research.events import events as e
from research.events.events import Event
from research.events.view import fold
from research.exports.json import as_dict
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.player import purpose_of
from tests.workers import LONG_S

ROOT = Path(__file__).parents[2]
QUESTION = "Describe the people and the economy of Japan."
PARTS = ("People", "Economy")
Reply = Callable[[str, Body], FakeReply | None]
Play = Callable[..., tuple[list[Event], list[Body]]]


def call(tool: str, /, **arguments: object) -> FakeReply:
    return FakeReply("", [(tool, arguments)])


def behave(body: Body) -> FakeReply:
    """Plan two sections, search once for each, write it, and frame the report."""
    purpose = purpose_of(body)
    if purpose == "outline":
        return call("Sections", sections=[{"name": part, "description": f"the {part} of Japan"} for part in PARTS])
    if purpose == "introduce":
        return call("Introduction", name="Japan", content="An overview [1].")
    if purpose == "finish":
        return call("Conclusion", name="End", content="That is all [1].")
    part = next(each for each in PARTS if f"the {each} of Japan" in json.dumps(body["messages"]))
    if any(message["role"] == "tool" for message in body["messages"]):
        return call("Section", name=part, description="", content=f"About {part}: 123,201,945 people [1].")
    return call("search", query=f"Japan {part}")


@pytest.fixture
def play(prepared_home: Path, tmp_path: Path) -> Iterator[Play]:
    home = linked_home(prepared_home, tmp_path / "home")

    def run(
        otherwise: Reply = lambda purpose, body: None, *, mcp: tuple[str, ...] = (), **options: object
    ) -> tuple[list[Event], list[Body]]:
        with FakeOpenAI(lambda body: otherwise(purpose_of(body), body) or behave(body)) as server:
            bench = Workbench(load(home=home, openai_base_url=server.base_url))
            given = {f"framework.{name}": value for name, value in options.items()}
            found = research.stream(
                QUESTION, workbench=bench, model="openai:fake", framework="supervisor", options=given, mcp=mcp
            )
            return list(found), server.requests

    yield run


def test_the_report_is_introduction_sections_in_order_and_conclusion(play: Play) -> None:
    view = fold(play()[0])
    headings = [line for line in view.report.splitlines() if line.startswith("#")]
    assert headings == ["# Japan", "## People", "## Economy", "## End"]
    assert set(view.branches) == {"main/researcher-1", "main/researcher-2"}


def test_every_request_of_a_planner_or_researcher_forces_a_call(play: Play) -> None:
    _, requests = play()
    assert {body.get("tool_choice") for body in requests} == {"required"}


def test_a_researcher_sees_only_its_own_section_and_tools(play: Play) -> None:
    _, requests = play()
    researching = [body for body in requests if purpose_of(body) == "research"]
    assert len(researching) == 4
    for body in researching:
        text = json.dumps(body["messages"])
        assert sum(f"the {part} of Japan" in text for part in PARTS) == 1
        names = {tool["function"]["name"] for tool in body["tools"]}
        assert {"Section", "FinishResearch", "search"} <= names
        assert not names & {"Sections", "Introduction", "Conclusion", "FinishReport"}


def test_the_supervisor_has_search_and_its_own_tools(play: Play) -> None:
    _, requests = play(lambda purpose, body: None, ask=True)
    planning = next(body for body in requests if purpose_of(body) == "outline")
    names = {tool["function"]["name"] for tool in planning["tools"]}
    assert {"search", "Sections", "Question"} <= names
    assert "Section" not in names


def test_researchers_work_at_the_same_time(play: Play) -> None:
    both = threading.Barrier(2, timeout=LONG_S)

    def meet(purpose: str, body: Body) -> FakeReply | None:
        if purpose == "research" and not any(message["role"] == "tool" for message in body["messages"]):
            both.wait()
        return None

    assert fold(play(meet)[0]).outcome != "failed"


@pytest.mark.parametrize("finish", [True, False])
def test_a_researcher_that_writes_nothing_leaves_a_marked_gap(play: Play, finish: bool) -> None:
    def idle(purpose: str, body: Body) -> FakeReply | None:
        if purpose != "research" or "the Economy of Japan" not in json.dumps(body["messages"]):
            return None
        return call("FinishResearch") if finish else FakeReply(status=400, body={"error": {"message": "no"}})

    events, _ = play(idle)
    report = fold(events).report
    economy = report.partition("## Economy")[2].partition("## End")[0]
    assert "About People: 123,201,945 people" in report
    assert "About Economy" not in report
    assert economy.strip().startswith("*")


def test_the_rounds_of_a_researcher_are_limited_and_the_last_one_offers_the_section_alone(play: Play) -> None:
    def searching(purpose: str, body: Body) -> FakeReply | None:
        turn = sum(message["role"] == "tool" for message in body["messages"])
        return call("search", query=f"Japan {turn}") if purpose == "research" and turn < 2 else None

    _, requests = play(searching, rounds=3)
    last = [body for body in requests if purpose_of(body) == "research" and len(body["tools"]) == 1]
    assert [body["tools"][0]["function"]["name"] for body in last] == ["Section", "Section"]


def test_the_supervisors_question_waits_for_the_user(play: Play) -> None:
    def asking(purpose: str, body: Body) -> FakeReply | None:
        return call("Question", question="Which decade?") if purpose == "outline" else None

    events, _ = play(asking, ask=True)
    waiting = [event for event in events if isinstance(event, e.WaitingForUser)]
    assert [event.prompt for event in waiting] == ["Which decade?"]
    assert fold(events).status == "waiting_input"


def test_sections_may_be_given_as_headings(play: Play) -> None:
    def headings(purpose: str, body: Body) -> FakeReply | None:
        return call("Sections", sections=[f"the {part} of Japan" for part in PARTS]) if purpose == "outline" else None

    view = fold(play(headings)[0])
    assert "About People: 123,201,945 people" in view.report
    assert "About Economy" in view.report


def test_researchers_know_what_the_report_is_about(play: Play) -> None:
    _, requests = play()
    researching = [json.dumps(body["messages"]) for body in requests if purpose_of(body) == "research"]
    assert researching
    assert all(QUESTION in text for text in researching)


def test_no_prompt_asks_for_a_reply_without_a_call_where_a_call_is_forced(play: Play) -> None:
    _, requests = play()
    forced = [body["messages"][0]["content"] for body in requests if body.get("tool_choice") == "required"]
    assert len(forced) == len(requests)
    assert not [text for text in forced if "call no tool" in text]


def test_supervisor_and_researchers_have_the_tools_of_mcp_servers_and_are_told_about_them(
    play: Play, tmp_path: Path
) -> None:
    server = {"command": sys.executable, "args": [str(ROOT / "tests" / "mcp_bare.py")]}
    (tmp_path / "home" / "mcp.json").write_text(json.dumps({"mcpServers": {"notes": server}}))
    _, requests = play(mcp=("notes",), mcp_prompt="Ask the lighthouse register first.")
    for purpose in ("outline", "research"):
        body = next(body for body in requests if purpose_of(body) == purpose)
        assert any("fact" in tool["function"]["name"] for tool in body["tools"])
        assert "Ask the lighthouse register first." in body["messages"][0]["content"]


@pytest.mark.parametrize("wanted", [True, False])
def test_the_text_of_all_sources_is_in_the_json_if_wanted(play: Play, wanted: bool) -> None:
    found = as_dict(fold(play(include_source_str=wanted)[0]))
    assert ("[1] Japan" in found.get("source_str", "")) is wanted
