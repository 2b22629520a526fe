"""`Workbench`: connects settings, store, library, memory and engine, and opens a recipe's models and tools."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research import defaults, plugins
from research.agent.budget import Meter
from research.agent.context import RunContext, Services
from research.agent.journal import Journal
from research.agent.toolbox import Toolbox
from research.config import users
from research.config.settings import Settings, environment, load, reloaded, saved_version
from research.config.users import settings_for
from research.engine.caps import USUAL, Caps, parse_caps
from research.engine.driver import Observer
from research.engine.engine import ThreadEngine
from research.engine.rate_limit import RateLimiter
from research.engine.reclaim import Queue
from research.events.recipe import LIBRARY, Recipe
from research.models.traits import Scripted
from research.ops import logs, tracing
from research.search import classes
from research.search.embedders import Embedder
from research.search.library.documents import Library
from research.search.library.indexing import Progress
from research.search.library.quota import Quota
from research.search.scope import of_recipe
from research.store import Store
from research.store.saved import SavedValues
from research.types import Model, Tool
from research.workbench import deleting, endpoint_registry, leaving

if TYPE_CHECKING:
    from research.citations.judges import Judges
    from research.mcp.server_tools import McpServers
    from research.memory.entries import Memory
    from research.memory.reembedding import Reembedding
    from research.memory.store import MemoryStore
    from research.workbench.worlds import Worlds

_tracing = cache(tracing.from_environment)
"""Returns the one trace exporter of this process."""


class Workbench:
    """One open home folder: its runs, library and memory.  Nothing heavy is loaded before its first use.

    >>> workbench = Workbench()
    >>> [row.question for row in workbench.store.runs(limit=3)]
    """

    def __init__(self, settings: Settings | None = None, queue: Queue | None = None) -> None:
        self.settings = settings or load()
        # Unknown: the file may have changed since it was read, so the first refresh reads it again.
        self._saved: tuple[int, int] | None = None
        logs.redact_keys(self.settings)
        observers: list[Observer] = [partial(deleting.noting, lambda: self.library)]
        if traced := _tracing():
            observers.append(traced.observe)
        limits = parse_caps(self.settings.user_caps or USUAL) if self.settings.user else {}
        self.caps = Caps(
            limits, lambda: self.store, self.settings.home, lambda model: endpoint_registry.free(self.settings, model)
        )
        """The administrator's caps on this user; none without a login."""
        if limits:
            observers.append(self.caps.observe)
        self.engine = ThreadEngine(
            self.store,
            self.context_for,
            queue or self._queue(),
            settings=self.settings,
            observers=observers,
            caps=self.caps,
        )

    def _queue(self) -> Queue | None:
        """Return the queue in which runs wait for a worker; None: this process executes its runs."""
        if self.settings.engine == "here":
            return None
        from research.engine.queue import DbosQueue

        return DbosQueue(self.settings, self.settings.user)

    def reload(self) -> None:
        """Read the settings again; new runs use them, running ones keep the settings they started with.

        If the encoder changed, the library is opened again; MCP servers stay connected.  If it raises `ConfigError`,
        nothing has changed.
        """
        saved = saved_version(self.settings)
        before, self.settings = self.settings, reloaded(self.settings)
        self._saved = saved
        logs.redact_keys(self.settings)
        if self.settings.embedder != before.embedder:
            closed = [self.__dict__.pop(name, None) for name in ("embedder", "memory", "library", "reembedding")]
            for each in filter(None, closed[2:]):
                each.close()

    def refresh(self) -> None:
        """Reload if another process has changed the saved settings since they were read.  Raises `ConfigError`."""
        if saved_version(self.settings) != self._saved:
            self.reload()

    @cached_property
    def store(self) -> Store:
        if self.settings.database_url is not None:
            from research.store.postgres import PostgresStore

            return PostgresStore(self.settings.database_url.get_secret_value(), self.settings.schema)
        from research.store.sqlite import SqliteStore

        return SqliteStore(self.settings.home / "workbench.sqlite")

    @cached_property
    def common(self) -> Store:
        """The store of the user "", with the counters that all users share."""
        return Workbench(settings_for(self.settings, "")).store if self.settings.user else self.store

    @cached_property
    def saved(self) -> SavedValues:
        return SavedValues(self.store)

    @cached_property
    def worlds(self) -> Worlds:
        """The recorded worlds, whose tool results are played to runs."""
        from research.workbench.worlds import Worlds

        return Worlds(lambda: self.store)

    @cached_property
    def embedder(self) -> Embedder:
        from research.search import embedders

        return embedders.cached(self.settings.embedder)

    @cached_property
    def library(self) -> Library:
        quota = Quota(int(self.settings.library_gb * 1e9), int(self.settings.collection_gb * 1e9))
        return Library(self.settings.home, self.embedder, quota)

    @cached_property
    def judges(self) -> Judges:
        """The verifiers of citations, with their judgements since this workbench was opened."""
        from research.workbench.verifier_registry import open_judges

        return open_judges(self)

    @cached_property
    def memory(self) -> Memory:
        """Findings of earlier runs, and the user's notes."""
        from research.memory.entries import Memory

        return Memory(self._memory_store(), self.embedder, self.settings.memory_capacity)

    def _memory_store(self) -> MemoryStore:
        if self.settings.database_url is not None:
            from research.memory.postgres_store import PostgresMemoryStore

            return PostgresMemoryStore(self.settings.database_url.get_secret_value(), self.settings.schema)
        from research.memory.sqlite_store import SqliteMemoryStore

        return SqliteMemoryStore(self.settings.home / "memory.sqlite")

    @cached_property
    def reembedding(self) -> Reembedding:
        """Encodes the memory again in the background, after the encoder was changed."""
        from research.memory.reembedding import Reembedding

        return Reembedding(self.memory)

    @cached_property
    def mcp(self) -> McpServers:
        """The MCP servers of `mcp.json`; each is started when it is first used."""
        from research.mcp.server_tools import McpServers

        return McpServers(self.settings.home, self.settings.allowed_hosts, environment())

    def prepare(self, folders: Sequence[str], progress: Progress, *, vectors: bool = False) -> list[tuple[Path, str]]:
        """Bring the library up to date: index the Factbook once, and the changed files of the folders.

        Search by words works when this returns.  Vectors are made only if `vectors` is set; the app makes them in the
        background.  Returns the files that cannot be read, with the reason.  Raises `ConfigError` for a folder that
        cannot be read.
        """
        unreadable: list[tuple[Path, str]] = []
        for folder in folders:  # before the Factbook, so that a wrong folder fails at once
            unreadable += self.library.add_folder(Path(folder), progress).unreadable
        self.library.index_factbook(progress)
        if vectors:
            self.library.embed_missing(progress)
        return unreadable

    def purge(self, before: float) -> None:
        """Erase the runs and folders deleted before that time, in seconds since the epoch.

        The memory erases its own deleted entries when it is opened.
        """
        self.store.purge(before)
        self.library.purge(before)

    def recipe(self, **choices: Any) -> Recipe:
        """Return a recipe with every name and option checked; see `recipes.checked` for the choices."""
        from research.workbench.recipes import checked

        return checked(self, **choices)

    def model(self, name: str) -> Model:
        """Return the model of that name, e.g. `extractive`, `openai:NAME` or `ENDPOINT:NAME`.  Raises `ConfigError`."""
        kind, _, rest = name.partition(":")
        if endpoint_registry.is_endpoint(self.settings, kind):
            return endpoint_registry.model(self.settings, kind, rest)
        given = name == self.settings.model and self.settings.origin("model") != "saved"
        provider = plugins.provider.get(kind)
        if provider.file and not given:
            users.readable(self.settings, Path(rest))
        model: Model = provider.function(rest, self)
        return model

    def context_for(self, recipe: Recipe, journal: Journal, stop: threading.Event) -> RunContext:
        """Return the models, tools, journal and memory for a run of this recipe."""
        from research.memory.recalling import library_check
        from research.workbench.estimate import forecast

        cache: dict[str, Model] = {}
        tools, notices = self._tools(recipe, stop), []
        as_now = copy.copy(self)  # models open with the present settings, even if these change during the run

        def models(name: str) -> Model:
            if name not in cache:
                cache[name] = model = as_now.model(name)
                if isinstance(model, Scripted):
                    # A script continues where the recorded run stopped.
                    for done in journal.replied:
                        if recipe.model_for(done.purpose) == name:
                            model.take(done.purpose, done.agent)
            return cache[name]

        if recipe.mcp and not leaving.egress_of(recipe, lambda: False).restricted:
            offer = self.mcp.offer(recipe.mcp)
            tools += offer.tools
            notices = [str(each) for each in offer.withheld]
        services = Services(
            embedder=lambda: as_now.embedder,
            memory=lambda: self.memory,
            still_says=library_check(self.indexed_library),
            rate_limit=as_now._turns(),
            judges=self.judges,
            forecast=lambda question: forecast(recipe, question, models=models),
            kind=classes.table(self.settings.home).of,
            notices=notices,
            home=str(self.settings.home),
        )
        toolbox = Toolbox(tools, stop, of_recipe(recipe).refusal, self.worlds.player(recipe))
        context = RunContext(models, toolbox, Meter(recipe.budget), journal, stop, services)
        context.egress = leaving.egress_of(recipe, lambda: context.guard.private)
        return context

    def _turns(self) -> Callable[[str, int], float]:
        """Return the function that reserves a request to a model, within the user's caps and the rate limits."""
        limiter = RateLimiter(endpoint_registry.rates(self.settings), lambda: self.common, self.settings.user)

        def turn(model: str, tokens: int) -> float:
            self.caps.request(model)
            return limiter(model, tokens)

        return turn

    def _tools(self, recipe: Recipe, stop: threading.Event) -> list[Tool]:
        names = defaults.ordered(recipe.tools, defaults.PROMPT_TOOLS)
        return [plugins.tool.get(name).function(self, recipe, stop) for name in names]

    def indexed_library(self) -> Library:
        """Return the library with the sample documents indexed."""
        self.library.index_factbook()
        return self.library

    def calculating(self) -> AbstractContextManager[None]:
        """Calculate within this block, within the user's caps; see `Caps.sandbox`."""
        return self.caps.sandbox()

    def sources(self) -> list[str]:
        """Return what can be searched: the library, `web`, and each web service by name."""
        return [LIBRARY, "web", *(entry.id for entry in plugins.searcher.all() if not entry.scholar)]

    def folders(self) -> list[str]:
        """Return the user's own collections in the library, as absolute paths; uploads are folders too."""
        return [name for name in self.library.names() if name != defaults.FACTBOOK]

    def tools(self) -> list[str]:
        """Return the tools that a run can have, in the order in which the pages show them."""
        return defaults.ordered(entry.id for entry in plugins.tool.all())
