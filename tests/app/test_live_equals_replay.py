"""A live run that has reached round k looks the same as its replay at round k."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from research.config.settings import load
from research.events.branches import first_rounds
from research.events.events import Asked, Replied, RunFinished, Streamed
from research.types import Message, Reply, Usage
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
    watched.store.create(RUN, row.question, row.recipe)
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
    written = next(event.seq for event in events if isinstance(event, Streamed) and "<answer>" in event.text)
    watched = Workbench(load(home=home))
    watched.store.create(RUN, row.question, row.recipe)
    watched.store.append([event for event in events if event.seq <= written])
    live = visit(home, run=RUN)
    steps = live.get_by_key("rounds").expander
    assert [step.proto.expanded for step in steps] == [False, False, True]
    (draft,) = reports(live.get_by_key("report"))
    assert draft["caret"] is True
    assert "$3.732 trillion" in report_text(draft)


def test_while_a_judge_writes_its_verdicts_the_page_shows_the_finished_text_and_how_much_is_checked(
    visit: Callable[..., AppTest], home: Path, answered: Path
) -> None:
    finished = Workbench(load(home=answered))
    row, events = finished.store.run(RUN), finished.store.events(RUN)
    before = [event for event in events if not isinstance(event, RunFinished)]
    seq = before[-1].seq
    judged = Reply(answer='{"verdicts": [{"claim": 1, "verdict": "supported", "reason": "", "quote": ""}]}')
    watched = Workbench(load(home=home))
    watched.store.create(RUN, row.question, row.recipe)
    watched.store.append(
        [
            *before,
            Asked(run=RUN, seq=seq + 1, ask=98, round=3, purpose="verify", model="m", messages=(Message("user", "?"),)),
            Replied(run=RUN, seq=seq + 2, ask=98, purpose="verify", reply=judged, usage=Usage(), seconds=1.0),
            Asked(run=RUN, seq=seq + 3, ask=99, round=3, purpose="verify", model="m", messages=(Message("user", "?"),)),
            Streamed(run=RUN, seq=seq + 4, ask=99, kind="text", text='{"verdicts": [{"claim": 2'),
        ]
    )
    live = visit(home, run=RUN)
    (draft,) = reports(live.get_by_key("report"))
    assert draft["caret"] is False
    assert "$3.732 trillion" in report_text(draft)
    assert "verdicts" not in report_text(draft)
    assert any(each.value.startswith("Checking the citations: 1 of ") for each in live.caption)
