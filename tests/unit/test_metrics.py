"""Figures over saved runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import research
from research.metrics import measure
from research.workbench import Workbench

LOOK = '<think>x</think><tool_call>{"name": "search", "arguments": {"query": "Japan population"}}</tool_call>'
MISS = '<think>x</think><tool_call>{"name": "visit", "arguments": {"url": "library://no", "goal": "x"}}</tool_call>'
ANSWER = "<answer>123,201,945 [1]</answer>"


def test_rounds_failures_and_times(bench: Workbench, script: Callable[..., str]) -> None:
    once = research.run("Q", workbench=bench, model=script(LOOK, ANSWER))
    twice = research.run("Q", workbench=bench, model=script(LOOK, MISS, ANSWER))
    found = measure([once, twice])
    assert found is not None
    assert (found.runs, found.average_rounds, found.multi_round_share) == (2, 1.5, 0.5)
    assert found.tool_failure_rate == pytest.approx(1 / 3)
    assert found.seconds_p50 <= found.seconds_p95


def test_nothing_to_measure() -> None:
    assert measure([]) is None
