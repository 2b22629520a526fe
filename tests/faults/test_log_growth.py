"""The run log grows by the same number of bytes in every round: each event holds what is new, never the whole state."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

import msgspec
import pytest

from research import defaults, plugins
from research.agent.budget import Meter
from research.agent.context import RunContext
from research.agent.run import Run
from research.agent.toolbox import Toolbox
from research.events.events import Asked, Event, encode
from research.events.recipe import Budget, Recipe
from research.types import Completion, Delta, Passage, Request, ToolCall, ToolOutput, ToolSpec
from research.workbench.recipes import pairs

ROUNDS = 200
SPAN = 40
"""Rounds averaged together, because some strategies summarize only every few rounds."""
LOOPS = [id_ for id_ in defaults.FRAMEWORKS if id_ in ("react", "tool_rounds", "iter_research")]
CELLS = [(loop, context) for loop, context in pairs() if loop in LOOPS]


class Chapters:
    """A tool whose results all have the same length."""

    timeout_s = 10.0
    spec = ToolSpec(
        "chapter", "Read one.", {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    )

    def __call__(self, *args: object, n: int = 0, **arguments: object) -> ToolOutput:
        words = (f"In chapter {n:03} the river rose and the bridge held. " * 20)[:900]
        return ToolOutput(passages=(Passage(f"https://chronicle.example/{n:03}", f"Chapter {n:03}", words),))


class Reader:
    """A model that reads one chapter per round."""

    name, native = "reader", True

    def __init__(self) -> None:
        self._asked, self._lock = Counter[str](), threading.Lock()

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        with self._lock:
            self._asked[request.agent, request.purpose] += 1
            n = self._asked[request.agent, request.purpose]
        text = (f"Up to chapter {n:03} the river rose. " * 12)[:400]
        if request.purpose != "act":
            yield Completion(text)
            return
        yield Completion(f"<report>{text}</report>Next.", (ToolCall(f"c-{n}", "chapter", {"n": n}),))


def sizes(framework: str, context: str) -> list[int]:
    """Return the bytes that each round adds to the log."""
    # So small that ReSum summarizes every few rounds.
    options = {"max_tokens": 4_000} if context == "resum" else {}
    model, recipe = Reader(), Recipe(framework=framework, context=context, context_options=options)
    shared = RunContext(lambda name: model, Toolbox([Chapters()]), meter=Meter(Budget()))
    run = Run("What do the chapters say?", recipe, shared)
    rounds, steps = Counter[int](), plugins.framework.get(framework).function(run, rounds=ROUNDS + 2)
    number = 0
    for seq, event in enumerate(steps):
        event: Event = msgspec.structs.replace(event, run="261122-120000-abcd", seq=1000 + seq, time=1.7e9 + seq)
        number = max(number, event.round) if isinstance(event, Asked) else number
        if number > ROUNDS:
            break
        rounds[number] += len(encode(event)) + 1
    return [rounds[number] for number in range(1, ROUNDS + 1)]


@pytest.mark.examples(3)
@pytest.mark.parametrize(("framework", "context"), CELLS)
def test_bytes_per_round_do_not_depend_on_how_many_rounds_came_before(
    framework: str, context: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = sizes(framework, context)
    spans = [sum(log[start : start + SPAN]) / SPAN for start in range(9, ROUNDS - SPAN + 1, 10)]
    early, late = spans[0], spans[-1]
    with capsys.disabled():
        print(f"\n{framework} / {context}: {early:,.0f} bytes a round at the start, {late:,.0f} at the end")  # noqa: T201 - measured
    assert max(spans) <= 1.1 * min(spans)
    assert 0.9 <= late / early <= 1.1
