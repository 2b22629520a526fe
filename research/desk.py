"""What people keep beside their runs: presets, comparisons, and what they think of each run in one.

Small values in one table of the same file as the runs, as JSON by kind and key.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct

from research import decoding
from research.errors import ConfigError

Kind = Literal["preset", "comparison", "opinion", "share", "row", "evaluation"]


class Preset(Struct, frozen=True):
    """Choices under a name, as arguments of `Workbench.recipe`."""

    name: str
    chosen: dict[str, Any]


class Comparison(Struct, frozen=True):
    """Runs that stand side by side, in the order of their columns."""

    id: str
    question: str
    runs: tuple[str, ...]
    created: float
    """Seconds since the epoch."""


class Opinion(Struct, frozen=True):
    """What somebody thinks of a run within a comparison."""

    comparison: str
    run: str
    vote: Literal[-1, 0, 1] = 0
    note: str = ""


class Keeper(Protocol):
    """Keeps small values of a few kinds; every store is one."""

    def keep(self, kind: Kind, key: str, body: bytes) -> None:
        """Add the value, or put it in the place of the one of that kind and key."""

    def kept(self, kind: Kind, prefix: str = "") -> list[bytes]:
        """The values whose key begins so, newest first."""

    def drop(self, kind: Kind, key: str) -> None:
        """Forget the value, if it is there."""


T = TypeVar("T", Preset, Comparison, Opinion)


class Desk:
    """The typed side of a `Keeper`."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def presets(self) -> list[Preset]:
        """By name."""
        return sorted(self._all("preset", Preset), key=lambda preset: preset.name)

    def keep_preset(self, preset: Preset) -> None:
        """Raises `ConfigError` for a name that is empty or too long."""
        name = " ".join(preset.name.split())
        if not 0 < len(name) <= 40:
            raise ConfigError(f"preset name {name[:60]!r}: 1 to 40 characters are accepted")
        self._keeper.keep("preset", name, msgspec.json.encode(Preset(name, preset.chosen)))

    def forget_preset(self, name: str) -> None:
        self._keeper.drop("preset", name)

    def comparisons(self) -> list[Comparison]:
        """Newest first."""
        return self._all("comparison", Comparison)

    def comparison(self, key: str) -> Comparison:
        """Raises `ConfigError` when there is none of that id."""
        found = next((each for each in self._all("comparison", Comparison, key) if each.id == key), None)
        if found is None:
            raise ConfigError(f"unknown comparison {key!r}; the page Compare lists the saved ones")
        return found

    def keep_comparison(self, comparison: Comparison) -> None:
        self._keeper.keep("comparison", comparison.id, msgspec.json.encode(comparison))

    def forget_comparison(self, key: str) -> None:
        self._keeper.drop("comparison", key)

    def opinions(self, comparison: str) -> dict[str, Opinion]:
        """By run."""
        return {each.run: each for each in self._all("opinion", Opinion, f"{comparison}/")}

    def keep_opinion(self, opinion: Opinion) -> None:
        self._keeper.keep("opinion", f"{opinion.comparison}/{opinion.run}", msgspec.json.encode(opinion))

    def _all(self, kind: Kind, type_: type[T], prefix: str = "") -> list[T]:
        return [decoding.decode(body, type_) for body in self._keeper.kept(kind, prefix)]
