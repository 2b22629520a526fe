"""Thresholds of the four metrics of the sequential-tools design; a value above its threshold is an alert."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from research._util.bounds import named_numbers
from research.ops.metrics import Metrics

SETTING: Final = "WORKBENCH_ALERTS"
MEASURES: Final[Mapping[str, str]] = {
    "rounds_with_tools": "average_tool_rounds",
    "multi_round": "multi_round_share",
    "tool_failures": "tool_failure_rate",
    "seconds": "average_seconds",
}
"""The metrics that can have a threshold, each with its field of `Metrics`; shares are from 0 to 1."""


class Alert(Struct, frozen=True):
    """A metric above its threshold."""

    name: str
    value: float
    threshold: float


def parse(text: str) -> dict[str, float]:
    """Return the thresholds by metric, from text such as `tool_failures=0.05,seconds=4`.  Raises `ConfigError`."""
    return named_numbers(text, SETTING, MEASURES)


def alerts(metrics: Metrics, thresholds: Mapping[str, float]) -> list[Alert]:
    """Return the metrics that are above their thresholds."""
    values = {name: getattr(metrics, MEASURES[name]) for name in thresholds}
    return [Alert(name, values[name], limit) for name, limit in thresholds.items() if values[name] > limit]
