"""Saved values: presets, comparisons, and opinions on the runs of a comparison; JSON in the same store as the runs."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from research._util import decoding
from research._util.bounds import within
from research.errors import ConfigError
from research.store import KeyValue, Kind

_log = logging.getLogger(__name__)


class Preset(Struct, frozen=True):
    """Named choices for a run, as arguments of `Workbench.recipe`."""

    name: str
    chosen: dict[str, Any]


class Comparison(Struct, frozen=True):
    """Runs shown side by side, in the order of their columns."""

    id: str
    question: str
    runs: tuple[str, ...]
    created: float
    """Seconds since the epoch."""


class Opinion(Struct, frozen=True):
    """The user's vote and note on one run of a comparison."""

    comparison: str
    run: str
    vote: Literal[-1, 0, 1] = 0
    note: str = ""


T = TypeVar("T", Preset, Comparison, Opinion)
V = TypeVar("V")


class SavedValues:
    """Reads and writes saved values in a `KeyValue` store."""

    def __init__(self, store: KeyValue) -> None:
        self._store = store

    def presets(self) -> list[Preset]:
        """Return all presets, sorted by name."""
        return sorted(self._all("preset", Preset), key=lambda preset: preset.name)

    def save_preset(self, preset: Preset) -> None:
        """Add or replace a preset.  Raises `ConfigError` for a name that is empty or too long."""
        name = " ".join(preset.name.split())
        if not 0 < len(name) <= 40:
            raise ConfigError(f"preset name {name[:60]!r} is not allowed; use 1 to 40 characters")
        encoded = msgspec.json.encode(Preset(name, preset.chosen))
        within(100_000, f"preset {name!r}", encoded.decode())
        self._store.put("preset", name, encoded)

    def delete_preset(self, name: str) -> None:
        self._store.remove("preset", name)

    def comparisons(self) -> list[Comparison]:
        """Return all comparisons, newest first."""
        return self._all("comparison", Comparison)

    def comparison(self, key: str) -> Comparison:
        """Return the comparison of that id.  Raises `ConfigError`."""
        found = next((each for each in self._all("comparison", Comparison, key) if each.id == key), None)
        if found is None:
            raise ConfigError(f"unknown comparison {key!r}; the page Compare lists the saved ones")
        return found

    def save_comparison(self, comparison: Comparison) -> None:
        self._store.put("comparison", comparison.id, msgspec.json.encode(comparison))

    def delete_comparison(self, key: str) -> None:
        self._store.remove("comparison", key)

    def opinions(self, comparison: str) -> dict[str, Opinion]:
        """Return the opinions in a comparison, by run."""
        return {each.run: each for each in self._all("opinion", Opinion, f"{comparison}/")}

    def save_opinion(self, opinion: Opinion) -> None:
        within(5_000, "the note", opinion.note)
        self._store.put("opinion", f"{opinion.comparison}/{opinion.run}", msgspec.json.encode(opinion))

    def _all(self, kind: Kind, type_: type[T], prefix: str = "") -> list[T]:
        return readable(self._store.values(kind, prefix), type_, kind)


def readable(bodies: Iterable[bytes], type_: type[V], kind: str) -> list[V]:
    """Return the readable stored values; damaged ones are logged and hide no others."""
    found = []
    for body in bodies:
        try:
            found.append(decoding.decode(body, type_))
        except (ValueError, TypeError, RecursionError) as error:
            _log.warning("a stored %s cannot be read and is left out: %s", kind, type(error).__name__)
    return found
