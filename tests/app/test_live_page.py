"""The page of a run at work: the whole draft, and what is known before there is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.parts.run import details, drafting
from research.config.settings import load
from research.events.events import Asked, Event, Replied, RunStarted, Streamed, ToolFinished, ToolStarted
from research.events.recipe import Recipe
from research.exports.blocks import parse, passages
from research.store import RunRow
from research.types import Observation, Reply, Source, ToolCall, Usage
from research.workbench.workbench import Workbench
from tests.app.test_pages import report_text, reports
from tests.long_run import stamp

Visit = Callable[..., AppTest]
RUN = "261121-120000-live"
TABLE = "| Country | Hydropower |\n|---|---:|\n" + "\n".join(f"| Country {n} | {n} % |" for n in range(40))
SECTIONS = [
    f"## Section {n}\n\n{'Hydropower dominates the mix of this country. ' * 20}\n\n- one\n\n- two" for n in range(30)
]
LONG = "\n\n".join(["The beginning of the report: wind < 5 %.", TABLE, *SECTIONS])
URL = "library://factbook/norway/energy"


class Live:
    """A run without an evolving report, written event by event."""

    def __init__(self, home: Path) -> None:
        self._store, self._seq = Workbench(load(home=home)).store, -1
        self._store.create(RunRow(RUN, "How is electricity made?", Recipe(framework="react")))
        self.add(RunStarted(question="How is electricity made?", recipe=Recipe(framework="react")))

    def add(self, *events: Event) -> None:
        for event in events:
            self._seq += 1
            self._store.append([stamp(event, RUN, self._seq, 1e9)])
        self._store.heartbeat([RUN])

    def asks(self, ask: int) -> None:
        self.add(Asked(ask=ask, round=ask, purpose="act", model="m"))

    def calls(self, ask: int, call: ToolCall, *sources: Source) -> None:
        self.asks(ask)
        self.add(
            Replied(ask=ask, purpose="act", reply=Reply("", "Where are we?", (call,)), usage=Usage(), seconds=1.0),
            ToolStarted(call=call),
            ToolFinished(observation=Observation(call.id, call.name, "…", sources=sources)),
        )


def drafts(app: AppTest) -> list[dict[str, Any]]:
    assert not app.exception
    return reports(app.get_by_key("draft"))


@pytest.mark.parametrize("tag", ["<answer>", ""])
def test_a_long_draft_is_drawn_from_its_beginning_and_its_complete_parts_stay(
    visit: Visit, home: Path, tag: str
) -> None:
    live = Live(home)
    live.asks(1)
    live.add(Streamed(ask=1, text=f"{tag}{LONG}"))
    app = visit(home, run=RUN)
    first = drafts(app)
    assert len(first) > 2
    assert any("● Writing the report]" in each.value for each in app.markdown)
    drawn = "".join(map(report_text, first))
    assert drawn.startswith("The beginning of the report: wind < 5 %.") and "Section 29" in drawn
    (table,) = [block for part in first for block in part["blocks"] if block["t"] == "table"]
    assert len(table["rows"]) == 40
    assert [part["caret"] for part in first] == [False] * (len(first) - 1) + [True]
    live.add(Streamed(ask=1, text="\n\nThe end is near."))
    later = drafts(app.run())
    assert later[: len(first) - 1] == first[:-1]
    assert "The end is near." in report_text(later[-1])


def test_a_draft_stays_while_another_agent_reviews_it_and_writes_the_next(visit: Visit, home: Path) -> None:
    live, reply = Live(home), Reply("", answer="A first draft.")
    live.add(Asked(ask=1, round=1, purpose="act", model="m", agent="main/trial-1"))
    live.add(Replied(ask=1, purpose="act", agent="main/trial-1", reply=reply, usage=Usage(), seconds=1.0))
    live.add(
        Asked(ask=1, round=1, purpose="evaluate", model="m", role="judge"), Streamed(ask=1, text="It lacks figures.")
    )
    app = visit(home, run=RUN)
    assert "".join(map(report_text, drafts(app))).strip() == "A first draft."
    assert any("Draft of trial-1" in each.value for each in app.caption)
    live.add(Asked(ask=2, round=2, purpose="act", model="m", agent="main/trial-2"))
    assert "".join(map(report_text, drafts(app.run()))).strip() == "A first draft."
    live.add(Streamed(ask=2, text="<answer>A second one", agent="main/trial-2"))
    assert "".join(map(report_text, drafts(app.run()))).strip() == "A second one"


def test_a_complete_part_of_a_draft_is_parsed_once(visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live = Live(home)
    live.asks(1)
    live.add(Streamed(ask=1, text=f"<answer>{LONG}"))
    app = visit(home, run=RUN)
    parsed: list[str] = []
    renumbered = drafting.renumbered
    monkeypatch.setattr(drafting, "renumbered", lambda text, numbers: parsed.append(text) or renumbered(text, numbers))
    live.add(Streamed(ask=1, text=" More words."))
    drafts(app.run())
    assert 0 < sum(map(len, parsed)) < drafting.PART


@pytest.mark.parametrize(
    "text", ["\n\n".join(["A line of a long report."] * 6_000), "word " * 40_000, "> a\n" * 40_000]
)
def test_a_draft_beyond_the_limits_of_a_report_is_cut_with_a_notice(visit: Visit, home: Path, text: str) -> None:
    live = Live(home)
    live.asks(1)
    live.add(Streamed(ask=1, text=f"<answer>{text}"))
    app = visit(home, run=RUN)
    assert drafts(app)
    assert any("too long to show in full" in each.value for each in app.info)


def test_before_the_report_the_page_shows_the_sources_so_far_and_the_latest_thought(visit: Visit, home: Path) -> None:
    live = Live(home)
    app = visit(home, run=RUN)
    said = [each.value for each in app.get_by_key("draft").caption]
    assert said == ["The report appears here once sources are found.", ":material/pending: Now: Starting"]
    live.asks(1)
    app.run()
    said = [each.value for each in app.get_by_key("draft").caption]
    assert said[-1] == ":material/pending: Now: Reading the prompt"
    found = [Source(n, f"library://factbook/{n}", f"Country {n}", "…") for n in range(2, 13)]
    live.calls(1, ToolCall("c1", "search", {"query": "energy"}), Source(1, URL, "Norway · Energy", "…"), *found)
    live.calls(2, ToolCall("c2", "visit", {"url": URL}), Source(1, URL, "Norway · Energy", "…"), found[0])
    live.asks(3)
    live.add(Streamed(ask=3, kind="reasoning", text="Old words. " * 200 + "Sweden is still missing."))
    app.run()
    part = app.get_by_key("draft")
    assert "The report appears here. So far: 12 sources seen, 2 opened." in [each.value for each in part.caption]
    assert "Opened: Norway · Energy; Country 2" in [each.value for each in part.caption]
    (thought,) = [each.value for each in part.markdown]
    assert thought.startswith("… Old words.") and thought.endswith("Sweden is still missing.") and len(thought) < 600
    live.add(Streamed(ask=3, text="I will look at Sweden next."))
    assert not drafts(app.run()), "words beside a call are no draft"
    live.add(Streamed(ask=3, text="<answer>Norway relies on hydropower."))
    app.run()
    assert not app.get_by_key("draft").markdown
    assert "Norway relies on hydropower." in report_text(drafts(app)[0])


def test_the_marks_of_a_draft_have_the_numbers_that_the_finished_report_has(visit: Visit, home: Path) -> None:
    live = Live(home)
    found = [Source(n, f"library://factbook/{n}", f"Country {n}", f"Figure {n}") for n in range(1, 13)]
    live.calls(1, ToolCall("c1", "search", {"query": "energy"}), *found)
    live.asks(2)
    live.add(Streamed(ask=2, text=f"<answer>Wind [12]. Hydropower [3].\n\n{LONG}\n\nWind again [12]. Sun [7]."))
    first, *_, last = drafts(visit(home, run=RUN))
    assert [mark["n"] for mark in first["marks"]] == [[1], [2]]
    assert [mark["n"] for mark in last["marks"]] == [[1], [3]], "and not in the order of the run"
    assert "Country 12" in str(first["cites"][0]) and "Country 7" in str(last["cites"][-1])


def test_a_round_at_work_is_named_by_its_call_as_soon_as_the_model_has_made_it(visit: Visit, home: Path) -> None:
    live, call = Live(home), ToolCall("c1", "search", {"query": "energy"})
    live.asks(1)
    reply = Reply("", "Where are we?", (call,))
    live.add(Replied(ask=1, purpose="act", reply=reply, usage=Usage(), seconds=1.0))
    for started in (False, True):
        if started:
            live.add(ToolStarted(call=call))
        rounds = visit(home, run=RUN).get_by_key("rounds")
        (step,) = rounds.expander
        assert "Search: energy" in step.label and "Write the answer" not in step.label
        assert not rounds.code and not any(details.CARET in each.value for each in rounds.markdown)


@pytest.mark.parametrize(
    "text",
    [
        LONG,
        "1. one\n\n   more of one\n\n2. two\n\nA paragraph.\n\n    code\n\n> a\n\n> b\n\n---\n\nEnd",
        "- item\n\n  ```\n  code\n\n  more\n  ```\n\n- item\n\n# Head\n\n```python\na = 1\n\n\nb = 2\n```\n\n~~~~\n```\n\n~~~\n~~~~\n\nEnd",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n\n\nText\n \n* * *\n\n2024 was dry.\n\n12\n\nEnd",
    ],
)
def test_passages_of_a_report_mean_alone_what_they_mean_together(text: str) -> None:
    found = list(passages(text))
    assert len(found) > 1
    assert tuple(block for each in found for block in parse(each)) == parse(text)
