"""Puts the parts together: settings, store, library, engine; a recipe's models and tools."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research import cells, logs, prompts, registry, tracing, users
from research.budget import Meter
from research.desk import Desk
from research.driving import Queue
from research.engine import ThreadEngine
from research.errors import ConfigError
from research.journal import Journal
from research.pacing import Pacing, rates
from research.recipe import RECALL_MOST, REMEMBER, ROLES, Budget, Recipe
from research.run import Shared
from research.search.indexing import Progress
from research.search.library import Library
from research.search.web import configured, services
from research.settings import Settings, again, environment, load
from research.store import Store
from research.toolbox import Toolbox
from research.types import Embedder, Model, Passage, Scripted, Tool
from research.users import settings_for

if TYPE_CHECKING:
    from research.mcp.client import McpServers
    from research.memory.memory import Memory
    from research.memory.renewal import Renewal
    from research.memory.shelf import Shelf
    from research.tools.jina import JinaReader

TOOLS = ("search", "visit", "python")
"""What a run may call unless it says otherwise."""
ALL_TOOLS = (*TOOLS, "scholar", "recall")
SEARCHERS = ("library",)
FOLDERS = "folders"
"""The source that is a recipe's folders alone, without the Factbook: the corpus of an evaluation."""


_tracing = cache(tracing.from_environment)
"""One exporter a process."""


class Workbench:
    """One open home folder.  Nothing heavy is loaded before it is used."""

    def __init__(self, settings: Settings | None = None, queue: Queue | None = None) -> None:
        self.settings = settings or load()
        logs.hide(self.settings)
        traced = _tracing()
        follows = [traced.follow] if traced else []
        self.engine = ThreadEngine(
            self.store, self.shared, queue or self._queue(), user=self.settings.user, follows=follows
        )

    def _queue(self) -> Queue | None:
        """Where runs wait for a worker; None: this process works on what it is asked."""
        if self.settings.engine == "here":
            return None
        from research.queue import DbosQueue

        return DbosQueue(self.settings, self.settings.user)

    def reload(self) -> None:
        """Read the settings anew: what is asked for from now on follows them, runs at work keep what they began with.

        Another encoder opens the library anew; MCP servers stay connected.  Raises `ConfigError`, and changes nothing.
        """
        before, self.settings = self.settings, again(self.settings)
        logs.hide(self.settings)
        if self.settings.embedder != before.embedder:
            left = [self.__dict__.pop(name, None) for name in ("embedder", "memory", "library", "renewal")]
            for working in filter(None, left[2:]):
                working.close()

    @cached_property
    def store(self) -> Store:
        if self.settings.database_url is not None:
            from research.store.postgres import PostgresStore

            return PostgresStore(self.settings.database_url.get_secret_value(), self.settings.schema)
        from research.store.sqlite import SqliteStore

        return SqliteStore(self.settings.home / "workbench.sqlite")

    @cached_property
    def common(self) -> Store:
        """The store of the user "", where what all have in common is counted."""
        return Workbench(settings_for(self.settings, "")).store if self.settings.user else self.store

    @cached_property
    def desk(self) -> Desk:
        return Desk(self.store)

    @cached_property
    def embedder(self) -> Embedder:
        from research import embedders

        return embedders.shared(self.settings.embedder)

    @cached_property
    def library(self) -> Library:
        return Library(self.settings.home, self.embedder)

    @cached_property
    def memory(self) -> Memory:
        """What was learned in earlier runs, and what the user noted."""
        from research.memory.memory import Memory

        return Memory(self._shelf(), self.embedder, self.settings.memory_capacity)

    def _shelf(self) -> Shelf:
        if self.settings.database_url is not None:
            from research.memory.postgres import PostgresShelf

            return PostgresShelf(self.settings.database_url.get_secret_value(), self.settings.schema)
        from research.memory.sqlite import SqliteShelf

        return SqliteShelf(self.settings.home / "memory.sqlite")

    @cached_property
    def renewal(self) -> Renewal:
        """Encodes the memory anew in the background, once the encoder was changed."""
        from research.memory.renewal import Renewal

        return Renewal(self.memory)

    @cached_property
    def mcp(self) -> McpServers:
        """The MCP servers of `mcp.json`; none is started before it is used."""
        from research.mcp.client import McpServers

        return McpServers(self.settings.home, self.settings.allowed_hosts, environment())

    def prepare(self, folders: Sequence[str], progress: Progress, *, vectors: bool = False) -> list[tuple[Path, str]]:
        """Bring the library up to date: the Factbook once, the folders as far as their files changed.

        Words are searchable when this returns.  Vectors are made here only if asked for; the app makes them in the
        background.  Returns the files that cannot be read, with the reason.  Raises `ConfigError` for a folder that
        cannot be read.
        """
        unreadable: list[tuple[Path, str]] = []
        for folder in folders:  # first, because they may be wrong
            unreadable += self.library.add_folder(Path(folder), progress).unreadable
        self.library.index_factbook(progress)
        if vectors:
            self.library.embed_missing(progress)
        return unreadable

    def purge(self, before: float) -> None:
        """Remove for good the runs and folders deleted before that time, seconds since the epoch.

        The memory does so by itself when it is opened.
        """
        self.store.purge(before)
        self.library.purge(before)

    def recipe(
        self,
        *,
        framework: str = "react",
        context: str | None = None,
        model: str | None = None,
        options: Mapping[str, Any] | None = None,
        tools: Sequence[str] = TOOLS,
        search: Sequence[str] = SEARCHERS,
        folders: Sequence[str | Path] = (),
        budget: Budget | None = None,
        **rest: Any,
    ) -> Recipe:
        """A recipe with every name and option checked.  Raises `ConfigError` that names what is wrong.

        `options` are written as on the command line: `{"framework.rounds": 5, "context.k": 3}`.
        """
        sides: dict[str, dict[str, Any]] = {"framework": {}, "context": {}}
        for key, value in (options or {}).items():
            side, _, name = key.partition(".")
            if side not in sides or not name:
                raise ConfigError(f"option {key!r}: write framework.NAME=VALUE or context.NAME=VALUE")
            sides[side][name] = value
        for name in tools:
            _known("tool", name, ALL_TOOLS)
        search = self._resolved(search)
        if "scholar" in tools:
            services(rest.get("scholar", Recipe().scholar), self.settings)
        if rest.get("mcp"):
            self.mcp.offer(rest["mcp"])
        remember, recall = rest.get("remember", "off"), rest.get("recall", 0)
        _known("memory policy", remember, REMEMBER)
        if not 0 <= recall <= RECALL_MOST:
            raise ConfigError(f"recall {recall}: 0 to {RECALL_MOST} entries are accepted")
        policy = registry.framework.get(framework)
        context = context or cells.default_context(framework)
        strategy = registry.context.get(context)
        refusal = cells.refusal(framework, context)
        if refusal:
            raise ConfigError(f"framework {framework!r} with context {context!r}: {refusal}")
        name = model or self.settings.model
        roles = rest.get("roles", {})
        purposes = {*policy.traits.get("purposes", ()), *(each for group in ROLES.values() for each in group)}
        for role in roles:
            if role not in ROLES and role not in purposes:
                raise ConfigError(
                    f"unknown role {role!r}; known: {', '.join(ROLES)}, or a purpose: {', '.join(sorted(purposes))}"
                )
        for each in [name, *roles.values()]:
            self.model(each)
        return Recipe(
            framework=framework,
            framework_options=policy.parse(sides["framework"]),
            context=context,
            context_options=strategy.parse(sides["context"]),
            model=name,
            tools=tuple(tools),
            search=tuple(search),
            folders=tuple(str(Path(folder).expanduser().resolve()) for folder in folders),
            budget=budget or Budget(),
            prompts=prompts.digest(),
            **rest,
        )

    def model(self, name: str) -> Model:
        """The model of that name, e.g. `extractive` or `openai:NAME`.  Raises `ConfigError`."""
        kind, _, rest = name.partition(":")
        given = name == self.settings.model and self.settings.origin("model") != "saved"
        if kind in ("scripted", "gguf") and not given:
            users.readable(self.settings, Path(rest))
        model: Model = registry.provider.get(kind).function(rest, self)
        return model

    def shared(self, recipe: Recipe, journal: Journal, stop: threading.Event) -> Shared:
        """What a run of this recipe works with."""
        from research.memory.recalling import in_library

        cache: dict[str, Model] = {}
        tools, notices = list(self._tools(recipe, stop)), []
        kept = copy.copy(self)  # models are made when they are asked: as the settings are now, also after a reload

        def models(name: str) -> Model:
            if name not in cache:
                cache[name] = model = kept.model(name)
                if isinstance(model, Scripted):
                    # A script goes on where the recorded run broke off.
                    for done in journal.replied:
                        if recipe.model_for(done.purpose) == name:
                            model.take(done.purpose, done.agent)
            return cache[name]

        if recipe.mcp:
            offer = self.mcp.offer(recipe.mcp)
            tools += offer.tools
            notices = [str(each) for each in offer.withheld]
        return Shared(
            models, Toolbox(tools, stop), meter=Meter(recipe.budget), journal=journal, stop=stop, notices=notices,
            embedder=lambda: kept.embedder, memory=lambda: self.memory, stands=in_library(self._indexed),
            pace=Pacing(rates(kept.settings.rate_limits), lambda: self.common),
        )  # fmt: skip

    def _tools(self, recipe: Recipe, stop: threading.Event) -> Iterator[Tool]:
        if "search" in recipe.tools:
            from research.tools.search import SearchTool

            remote = services([name for name in recipe.search if name not in (*SEARCHERS, FOLDERS)], self.settings)
            shelves = {"library": ("factbook", *recipe.folders), FOLDERS: recipe.folders}
            own = [_Shelves(self.library, shelves[name]) for name in recipe.search if name in shelves]
            yield SearchTool([*own, *remote])
        if "scholar" in recipe.tools:
            from research.tools.scholar import ScholarTool

            yield ScholarTool(services(recipe.scholar, self.settings))
        if "visit" in recipe.tools:
            from research.tools.visit import VisitTool

            yield VisitTool(self.library, self.settings.allowed_hosts, self._reader())
        if "recall" in recipe.tools:
            from research.memory.recalling import in_library
            from research.tools.recall import RecallTool

            yield RecallTool(lambda: self.memory, in_library(self._indexed))
        if "python" in recipe.tools:
            from research.tools.python import PythonTool

            yield PythonTool(self.settings.python_tool, stop)

    def _indexed(self) -> Library:
        """The library with the Factbook in it."""
        self.library.index_factbook()
        return self.library

    def _reader(self) -> JinaReader | None:
        """The service that reads web pages for us; None: we do it ourselves."""
        from research.tools.jina import JinaReader

        if self.settings.reader == "direct":
            return None
        key = self.settings.jina_api_key
        return JinaReader(self.settings.jina_url, key.get_secret_value() if key else "")

    def _resolved(self, search: Sequence[str]) -> tuple[str, ...]:
        """The sources by name; `web` stands for every web service that is set up.  Raises `ConfigError`."""
        names = [each for name in search for each in (configured(self.settings) if name == "web" else [name])]
        remote = [name for name in names if name not in (*SEARCHERS, FOLDERS)]
        for name in remote:
            _known("search source", name, self.sources())
        services(remote, self.settings)
        return tuple(dict.fromkeys(names))

    def sources(self) -> list[str]:
        """What a search can be told to look through: the library, `web`, and each web service by its name."""
        entries = registry.searcher.all()
        return [*SEARCHERS, "web", *(entry.id for entry in entries if not entry.traits.get("scholar"))]


class _Shelves:
    """The collections of the library that a recipe names."""

    def __init__(self, library: Library, collections: Sequence[str]) -> None:
        self._library = library
        self._collections = collections

    def search(self, query: str, limit: int = 10) -> Sequence[Passage]:
        # Quick when it is indexed; in a fresh home the first search waits for the words, never for vectors.
        self._library.index_factbook()
        return self._library.search(query, limit, collections=self._collections)


def _known(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise ConfigError(f"unknown {what} {name!r}; known: {', '.join(known)}")
