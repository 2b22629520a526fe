"""A live run that has reached round k looks the same as its replay at round k."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from research.config.settings import load
from research.events.branches import first_rounds
from research.events.events import Asked, Replied, ReportUpdated, RunFinished, Streamed
from research.store import RunRow
from research.types import Citation, Judgement, Message, Reply, Usage
from research.workbench.workbench import Workbench
from tests.app.test_pages import report_text, reports

RUN = "261121-120000-abcd"


def tree(node: Any) -> list[Any]:
    """Return an element's kind and properties, with its descendants'.

    When a fragment writes into an outer container, Streamlit wraps the content in a transparent container and leaves an
    empty element in its place.  Neither is visible, so both are skipped.
    """
    children: list[Any] = []
    for _, child in sorted(getattr(node, "children", {}).items()):
        if child.type == "transparent":
            children += tree(child)[2]
        elif child.type != "empty":
            children.append(tree(child))
    return [node.type, str(node.proto), children]


def drawn(app: AppTest) -> list[Any]:
    assert not app.exception
    return [tree(app.get_by_key(part)) for part in ("rounds", "report")]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_live_equals_replay(visit: Callable[..., AppTest], home: Path, answered: Path, number: int) -> None:
    finished = Workbench(load(home=answered))
    row = finished.store.run(RUN)
    events = first_rounds(finished.store.events(RUN), number)
    watched = Workbench(load(home=home))
    watched.store.create(RunRow(RUN, row.question, row.recipe))
    watched.store.append(events)
    live = visit(home, run=RUN)
    assert any(button.label == "Stop" for button in live.button) == (number < 3)
    seen = drawn(live)
    assert seen[0][2], "nothing was drawn"
    assert seen == drawn(visit(answered, run=RUN, round=str(number)))


def test_an_unfinished_round_is_expanded_and_its_text_streams_in(
    visit: Callable[..., AppTest], home: Path, answered: Path
) -> None:
    finished = Workbench(load(home=answered))
    row, events = finished.store.run(RUN), finished.store.events(RUN)
    written = next(event.seq for event in events if isinstance(event, Streamed) and "$3.732 trillion" in event.text)
    watched = Workbench(load(home=home))
    watched.store.create(RunRow(RUN, row.question, row.recipe))
    watched.store.append([event for event in events if event.seq <= written])
    live = visit(home, run=RUN)
    steps = live.get_by_key("rounds").expander
    assert [step.proto.expanded for step in steps] == [False, False, True]
    (draft,) = reports(live.get_by_key("report"))
    assert draft["caret"] is True
    assert "$3.732 trillion" in report_text(draft)


def test_while_a_judge_reads_the_page_shows_the_report_with_the_verdicts_so_far_and_how_much_is_checked(
    visit: Callable[..., AppTest], home: Path, answered: Path
) -> None:
    finished = Workbench(load(home=answered))
    row, events = finished.store.run(RUN), finished.store.events(RUN)
    (end,) = (event for event in events if isinstance(event, RunFinished))
    before = [event for event in events if not isinstance(event, RunFinished)]
    known = len({each.claim for each in end.citations})
    read = tuple(Citation(1, claim, "unverified", by="rules") for claim in ("It rains.", "It snows.", "It pours."))
    said = Judgement("model:m", "partial")
    cached = Citation(1, "It hails.", "partial", judgements=(said, said))
    report = ReportUpdated(report=end.report, citations=(*end.citations, *read, cached))
    ask = Asked(agent="main/judge-1", ask=1, round=1, purpose="verify", model="m", messages=(Message("user", "?"),))
    verdict = '{"claim": 1, "verdict": "supported", "lines": [1]}'
    judged = Reply(answer=f'{{"verdicts": [{verdict}]}}', thinking="I compare the claims.")
    after = [
        report,
        ask,
        Replied(agent=ask.agent, ask=1, purpose="verify", reply=judged, usage=Usage(), seconds=1.0),
        msgspec.structs.replace(ask, agent="main/judge-2"),
        Streamed(agent="main/judge-2", ask=1, kind="text", text=f'{{"verdicts": [{verdict}, {{"cl'),
    ]
    seq = before[-1].seq
    recipe = msgspec.structs.replace(row.recipe, judge="uncertain")
    start = msgspec.structs.replace(before[0], recipe=recipe)
    watched = Workbench(load(home=home))
    watched.store.create(RunRow(RUN, row.question, recipe))
    watched.store.append([start, *before[1:]])
    watched.store.append(
        [msgspec.structs.replace(event, run=RUN, seq=seq + n, time=end.time) for n, event in enumerate(after, 1)]
    )
    live = visit(home, run=RUN)
    (drawn_report,) = reports(live.get_by_key("report"))
    assert "$3.732 trillion" in report_text(drawn_report)
    assert "verdicts" not in report_text(drawn_report)
    head = next(each.value for each in live.markdown if "-badge" in each.value)
    assert f"Checking citations: {known + 3} of {known + 4}" in head
    assert "round" not in head
    rounds = live.get_by_key("rounds").expander
    checks = [step.label for step in rounds if "Checking citations" in step.label]
    assert len(checks) == 2
    assert not any("**" in label or "judge-" in label for label in checks)
    assert sum("Write the answer" in step.label for step in rounds) <= 1


@pytest.mark.parametrize(("purpose", "title"), [("scribe", "Summing up"), ("extract", "Reading a page")])
def test_a_request_beside_the_rounds_is_named_for_what_it_does(
    visit: Callable[..., AppTest], home: Path, answered: Path, purpose: str, title: str
) -> None:
    finished = Workbench(load(home=answered))
    row, events = finished.store.run(RUN), first_rounds(finished.store.events(RUN), 1)
    ask = Asked(run=RUN, ask=50, round=2, purpose=purpose, model="m", messages=(Message("user", "?"),))
    reply = Replied(
        run=RUN, ask=50, purpose=purpose, reply=Reply(answer="- One", thinking="Hm."), usage=Usage(), seconds=1.0
    )
    seq = events[-1].seq
    watched = Workbench(load(home=home))
    watched.store.create(RunRow(RUN, row.question, row.recipe))
    watched.store.append(
        [
            *events,
            *(msgspec.structs.replace(e, seq=seq + n, time=events[-1].time) for n, e in enumerate((ask, reply), 1)),
        ]
    )
    live = visit(home, run=RUN)
    last = live.get_by_key("rounds").expander[-1].label
    assert last.startswith(title)
