from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from research.agent import toolbox
from research.agent.toolbox import Toolbox
from research.errors import Stopped, ToolError
from research.types import Passage, ToolCall, ToolOutput, ToolSpec
from tests.calls import used

CALL = ToolCall("1", "look", {})


class Look:
    spec = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})

    def __init__(self, answer: Any, timeout_s: float = 10.0) -> None:
        self.answer, self.timeout_s, self.calls = answer, timeout_s, 0

    def __call__(self) -> ToolOutput:
        self.calls += 1
        output: ToolOutput = self.answer()
        return output


def test_what_is_private_stays_private_also_from_the_cache() -> None:
    output = ToolOutput("a", (Passage("u", "t", "q"),), private=True, images=(b"png",))
    box = Toolbox([look := Look(lambda: output)])
    for cached in (False, True):
        result = used(box, CALL)
        assert (result.text, result.passages, result.private, result.images) == ("a", output.passages, True, (b"png",))
        assert result.cached is cached
    assert look.calls == 1


def test_a_refused_call_is_not_made() -> None:
    def refuse(call: ToolCall) -> None:
        raise ToolError(f"no {call.name} today")

    box = Toolbox([look := Look(lambda: ToolOutput("a"))])
    result = used(box, CALL, check=refuse)
    assert (result.ok, result.text, look.calls) == (False, "no look today", 0)


def test_a_tool_that_is_too_slow_is_given_up() -> None:
    over = threading.Event()
    result = used(Toolbox([Look(lambda: over.wait(60), timeout_s=0.1)]), CALL)
    over.set()
    assert (result.ok, result.text) == (False, "look did not answer within 0.1 s. Try something else.")


def test_a_result_that_comes_while_the_wait_for_it_ends_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(Future):  # type: ignore[type-arg]
        """Has been waited for too long just when it is there."""

        def result(self, timeout: float | None = None) -> Any:
            if timeout is None:
                return super().result()
            super().exception(10)
            raise TimeoutError

    monkeypatch.setattr(toolbox, "Future", Late)
    result = used(Toolbox([Look(lambda: ToolOutput("just in time"))]), CALL)
    assert (result.ok, result.text) == (True, "just in time")


def test_a_stop_gives_up_a_call_at_work() -> None:
    stop, over = threading.Event(), threading.Event()

    def work() -> ToolOutput:
        stop.set()
        over.wait(60)
        return ToolOutput()

    with pytest.raises(Stopped):
        used(Toolbox([Look(work)], stop), CALL)
    over.set()


def test_a_tools_own_timeout_error_is_its_own() -> None:
    def fail() -> ToolOutput:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        used(Toolbox([Look(fail)]), CALL)
