"""Recorded worlds: the runs whose tool results are played to other runs, fixed when an evaluation begins.

A world is stored as the ids of runs that have ended, so it never changes; `Recipe.world` names it and holds its digest.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from research import plugins
from research._util import decoding
from research.agent.recorded_world import RecordedWorld
from research.agent.toolbox import Played
from research.errors import ConfigError
from research.events.recipe import Recipe
from research.store import Store

PREFIX = "recorded:"
_OPEN = 2
"""Most worlds kept in memory."""


class StoredWorld(Struct, frozen=True):
    """The runs of a world, in the order in which their results count."""

    name: str
    """The recorded evaluation or run."""
    runs: tuple[str, ...]
    created: float
    """Seconds since the epoch."""


def name_of(world: str) -> str:
    """Return the evaluation or run that `Recipe.world` names; empty for none."""
    return world.removeprefix(PREFIX).rpartition("@")[0]


class Worlds:
    """The recorded worlds of one workbench.  Safe for threads."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._open: dict[str, RecordedWorld] = {}
        self._lock = threading.Lock()

    def keep(self, name: str, runs: Sequence[str]) -> str:
        """Store a world of runs that have ended, and return the value for `Recipe.world`."""
        digest = hashlib.sha256("\n".join(runs).encode()).hexdigest()[:12]
        self._store().put("world", digest, msgspec.json.encode(StoredWorld(name, tuple(runs), time.time())))
        return f"{PREFIX}{name}@{digest}"

    def open(self, world: str) -> RecordedWorld:
        """Return the world that `Recipe.world` names.  Raises `ConfigError` if it or one of its runs is gone."""
        digest = world.rpartition("@")[2]
        with self._lock:
            found = self._open.pop(digest, None) or self._read(world, digest)
            self._open[digest] = found  # the last one used goes last
            while len(self._open) > _OPEN:
                del self._open[next(iter(self._open))]
            return found

    def player(self, recipe: Recipe) -> Played | None:
        """Return the function that plays the recipe's world; None if its tools work.  Raises `ConfigError` as `open` does."""
        if not recipe.world:
            return None
        calculating = [name for name in recipe.tools if plugins.tool.get(name).calculates]
        return self.open(recipe.world).player(new=recipe.world_new, outside=calculating)

    def _read(self, world: str, digest: str) -> RecordedWorld:
        store = self._store()
        bodies = store.values("world", digest) if digest else []
        if not bodies:
            raise ConfigError(f"world {world!r} is not in this home; give --world {PREFIX}EVAL or {PREFIX}RUN")
        stored = decoding.decode(bodies[0], StoredWorld)
        for run in stored.runs:
            try:
                store.run(run)
            except ConfigError as error:
                raise ConfigError(
                    f"world {world!r} cannot be played: run {run} was deleted; restore it, or record the world again"
                ) from error
        return RecordedWorld(store.events(run) for run in stored.runs)
