"""Decide, before a run starts, what its recipe may send from this machine; refuse, and remember the choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import msgspec

from research import plugins
from research._util.egress import SCOPES, Egress, Scope
from research.agent.follow_up import saw_private
from research.config.settings import Settings
from research.defaults import PAGES
from research.errors import ConfigError
from research.events.events import RunStarted
from research.events.recipe import LIBRARY, Recipe
from research.models.host import Host
from research.store import KeyValue, RunLog
from research.workbench import endpoint_registry

_KIND: Final = "egress"
OPEN: Final = "open"
PRIVATE: Final = "private"
OFFLINE: Final = "offline"


class MustChoose(ConfigError):
    """A cloud model would get private documents, and the user has not decided on it for this run."""

    def __init__(self, message: str, model: str, folders: Sequence[str], said: str) -> None:
        super().__init__(message)
        self.model, self.folders = model, folders
        """What would be sent where, for the question on a page."""
        self.said = said
        """The user's earlier answer; empty: none yet."""


def private_sources(recipe: Recipe) -> list[str]:
    """Return a recipe's private sources, in words; the memory counts if the user wants private data to stay here."""
    folders = [f"folder {folder}" for folder in recipe.folders if folder != PAGES]
    return [*folders, *(["the memory"] if recipe.recall and recipe.egress else [])]


def far_models(settings: Settings, recipe: Recipe, readers: Sequence[str] = (), *, scope: str = PRIVATE) -> list[str]:
    """Return the models of a recipe, and readers of its runs, that its scope keeps from private data."""
    judge = recipe.judged_by.removeprefix("model:") if recipe.judged_by.startswith("model:") else recipe.model
    named = dict.fromkeys([recipe.model, *recipe.roles.values(), judge, *readers])
    may = endpoint_registry.in_process if scope == OFFLINE else endpoint_registry.near
    return [name for name in named if not may(settings, name)]


def answer(store: KeyValue, scope: str) -> None:
    """Remember the user's choice on private documents and cloud models, `open` or `private`."""
    store.put(_KIND, "answer", msgspec.json.encode(scope))


def decided(host: Host, recipe: Recipe, readers: Sequence[str] = ()) -> Recipe:
    """Return the recipe with its scope.  Raises `ConfigError` with the reason if the scope forbids something it needs.

    `readers` are models that read its runs from outside, such as the judge of an evaluation.  Without a choice, private
    documents stay here if a cloud model would get them; the user is asked once.
    """
    wanted = recipe.egress
    if wanted and wanted not in SCOPES:
        raise ConfigError(f"egress {wanted!r}: expected one of {', '.join(SCOPES)}")
    private, far = private_sources(recipe), far_models(host.settings, recipe, readers, scope=wanted)
    chosen: str = wanted
    if not wanted and private and far:
        chosen = answered(host.store) or PRIVATE
    if chosen == OFFLINE or (chosen == PRIVATE and private):
        _refuse(host, recipe, chosen, private, far, asked=not wanted)
    return msgspec.structs.replace(recipe, egress="" if chosen == OPEN else chosen)


def answered(store: KeyValue) -> str:
    """Return the user's choice on private documents and cloud models; empty: none yet."""
    for body in store.values(_KIND, "answer"):
        found = msgspec.json.decode(body)
        if found in SCOPES:
            return str(found)
    return ""


def egress_of(recipe: Recipe, seen: Callable[[], bool]) -> Egress:
    """Return what a run of this recipe may send; `seen`: whether private data is in its context."""
    scope: Scope = "private" if recipe.egress == PRIVATE else "offline" if recipe.egress else "open"
    return Egress(scope, declared=bool(private_sources(recipe)), seen=seen)


def held(store: RunLog, runs: Iterable[str]) -> Egress:
    """Return what may be sent to a model that reads these runs from outside: what the strictest allows."""
    found = [Egress()]
    for run in runs:
        events = store.events(run)
        started = next((event for event in events if isinstance(event, RunStarted)), None)
        if started is not None and started.recipe.egress:
            private = saw_private(started.earlier, events)
            found.append(egress_of(started.recipe, partial(bool, private)))
    return max(found, key=lambda each: (each.restricted, SCOPES.index(each.scope)))


def _refuse(host: Host, recipe: Recipe, chosen: str, private: list[str], far: list[str], *, asked: bool) -> None:
    """Raise `ConfigError` for the first thing that would leave this machine."""
    because = "the run is offline" if chosen == OFFLINE else f"{private[0]} is private and stays on this machine"
    if far and chosen == OFFLINE:
        raise ConfigError(f"{far[0]} needs a connection, and {because}: choose a model that runs in this process")
    if far:
        advice = "choose a local model, or `--egress open` if it may be sent there"
        why = f"{far[0]} is not a local model, and {because}: {advice}"
        raise MustChoose(why, far[0], recipe.folders, answered(host.store)) if asked else ConfigError(why)
    searching = {name: plugins.tool.traits(name) for name in recipe.tools if plugins.tool.traits(name).searches}
    web = recipe.search if any(tool.library for tool in searching.values()) else ()
    sends = [f"search of {name}" for name in web if name != LIBRARY]
    sends += [name for name, tool in searching.items() if not tool.library]
    sends += [f"MCP server {name}" for name in recipe.mcp]
    if plugins.framework.get(recipe.framework).command:
        sends.append(f"framework {recipe.framework}, which starts another program,")
    if sends:
        raise ConfigError(
            f"{sends[0]} sends what the model writes, and {because}: leave it out, or use `--egress open`"
        )
