"""Tool calls through the toolbox: cache, checks, timeouts and stops."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from research.agent import toolbox
from research.agent.toolbox import Toolbox
from research.errors import Stopped, StoreUnavailable, ToolError
from research.types import Passage, ToolCall, ToolOutput, ToolSpec
from tests.calls import used
from tests.workers import LONG_S

CALL = ToolCall("1", "look", {})


class Look:
    spec = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})

    def __init__(self, answer: Any, timeout_s: float = 10.0) -> None:
        self.answer, self.timeout_s, self.calls = answer, timeout_s, 0

    def __call__(self) -> ToolOutput:
        self.calls += 1
        output: ToolOutput = self.answer()
        return output


def test_a_cached_result_stays_private() -> None:
    output = ToolOutput("a", (Passage("u", "t", "q"),), private=True, images=(b"png",))
    box = Toolbox([look := Look(lambda: output)])
    for cached in (False, True):
        result = used(box, CALL)
        assert (result.text, result.passages, result.private, result.images) == ("a", output.passages, True, (b"png",))
        assert result.cached is cached
    assert look.calls == 1


def test_a_rejected_call_is_not_made() -> None:
    def refuse(call: ToolCall) -> None:
        raise ToolError(f"no {call.name} today")

    box = Toolbox([look := Look(lambda: ToolOutput("a"))])
    result = used(box, CALL, check=refuse)
    assert (result.ok, result.text, look.calls) == (False, "no look today", 0)


def test_a_slow_tool_times_out() -> None:
    over = threading.Event()
    result = used(Toolbox([Look(lambda: over.wait(LONG_S), timeout_s=0.1)]), CALL)
    over.set()
    assert (result.ok, result.text) == (False, "look did not answer within 0.1 s. Try something else.")


def test_a_result_that_arrives_at_the_timeout_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(Future):  # type: ignore[type-arg]
        """A future whose result arrives as the wait for it times out."""

        def result(self, timeout: float | None = None) -> Any:
            if timeout is None:
                return super().result()
            super().exception()
            raise TimeoutError

    monkeypatch.setattr(toolbox, "Future", Late)
    result = used(Toolbox([Look(lambda: ToolOutput("just in time"))]), CALL)
    assert (result.ok, result.text) == (True, "just in time")


def test_a_stop_abandons_a_running_call() -> None:
    stop, over = threading.Event(), threading.Event()

    def work() -> ToolOutput:
        stop.set()
        over.wait(LONG_S)
        return ToolOutput()

    with pytest.raises(Stopped):
        used(Toolbox([Look(work)], stop), CALL)
    over.set()


@pytest.mark.parametrize("error", [TimeoutError("mine"), RuntimeError("mine"), KeyError("mine")])
def test_whatever_a_tool_raises_is_text_for_the_model(error: Exception) -> None:
    def fail() -> ToolOutput:
        raise error

    result = used(Toolbox([Look(fail)]), CALL)
    assert (result.ok, result.text) == (False, f"look failed: {type(error).__name__}: {error}. Try something else.")
    assert result.code == ("timeout" if isinstance(error, TimeoutError) else "failed")


@pytest.mark.parametrize("error", [Stopped("by the user"), StoreUnavailable("away")])
def test_what_concerns_the_run_is_passed_on(error: Exception) -> None:
    def fail() -> ToolOutput:
        raise error

    with pytest.raises(type(error)):
        used(Toolbox([Look(fail)]), CALL)
