"""Thresholds of the four metrics of the sequential-tools design; a value above its threshold is an alert."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from research.errors import ConfigError
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
    found: dict[str, float] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, number = (each.strip() for each in part.partition("="))
        if name not in MEASURES:
            raise ConfigError(f"{SETTING}: unknown metric {name!r}; known: {', '.join(MEASURES)}")
        try:
            threshold = float(number)
        except ValueError:
            threshold = math.nan
        if not 0 <= threshold < math.inf:
            raise ConfigError(f"{SETTING}: {part!r}: write METRIC=NUMBER, where NUMBER is 0 or more")
        found[name] = threshold
    return found


def alerts(metrics: Metrics, thresholds: Mapping[str, float]) -> list[Alert]:
    """Return the metrics that are above their thresholds."""
    values = {name: getattr(metrics, MEASURES[name]) for name in thresholds}
    return [Alert(name, values[name], limit) for name, limit in thresholds.items() if values[name] > limit]
