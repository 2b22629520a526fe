"""What may leave this machine in a run of a recipe: decided, refused and remembered before the run starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from research import plugins
from research._util.egress import SCOPES, Egress, Scope
from research.errors import ConfigError
from research.events.recipe import LIBRARY, Recipe
from research.store import KeyValue
from research.workbench import endpoints

if TYPE_CHECKING:
    from research.config.settings import Settings

_KIND: Final = "egress"
OPEN: Final = "open"
PRIVATE: Final = "private"
OFFLINE: Final = "offline"


class Host(Protocol):
    """The parts of the open workbench that the decision needs."""

    settings: Settings

    @property
    def store(self) -> KeyValue: ...


class MustChoose(ConfigError):
    """A cloud model would get private documents, and the user has not said yet whether it may."""

    def __init__(self, why: str, advice: str) -> None:
        super().__init__(f"{why}: {advice}")
        self.why = why
        """The reason without the advice, for a page that asks."""


def private_sources(recipe: Recipe) -> list[str]:
    """Return the private sources of a recipe, in words; the memory counts where the user asks that such things stay here."""
    folders = [f"folder {folder}" for folder in recipe.folders]
    return [*folders, *(["the memory"] if recipe.recall and recipe.egress else [])]


def far_models(settings: Settings, recipe: Recipe) -> list[str]:
    """Return the models of a recipe that are not marked local."""
    judge = recipe.judged_by.removeprefix("model:") if recipe.judged_by.startswith("model:") else recipe.model
    named = dict.fromkeys([recipe.model, *recipe.roles.values(), judge])
    return [name for name in named if not endpoints.near(settings, name)]


def answer(store: KeyValue, scope: str) -> None:
    """Remember what the user says about private documents and cloud models, `open` or `private`."""
    store.put(_KIND, "answer", msgspec.json.encode(scope))


def decided(host: Host, recipe: Recipe) -> Recipe:
    """Return the recipe with its scope.  Raises `ConfigError` with the reason if its scope forbids what it needs.

    Without a choice, private documents stay here if a cloud model would get them; the user is asked once.
    """
    wanted = recipe.egress
    if wanted and wanted not in SCOPES:
        raise ConfigError(f"egress {wanted!r}: {', '.join(SCOPES)} are accepted")
    private, far = private_sources(recipe), far_models(host.settings, recipe)
    chosen: str = wanted
    if not wanted and private and far:
        chosen = answered(host.store) or PRIVATE
    if chosen == OFFLINE or (chosen == PRIVATE and private):
        _refuse(host, recipe, chosen, private, far, asked=not wanted)
    return msgspec.structs.replace(recipe, egress="" if chosen == OPEN else chosen)


def answered(store: KeyValue) -> str:
    """Return what the user once said about private documents and cloud models; empty: nothing yet."""
    for body in store.values(_KIND, "answer"):
        found = msgspec.json.decode(body)
        if found in SCOPES:
            return str(found)
    return ""


def egress_of(recipe: Recipe, seen: Callable[[], bool]) -> Egress:
    """Return what a run of this recipe may send; `seen`: whether private data is in its context."""
    scope: Scope = "private" if recipe.egress == PRIVATE else "offline" if recipe.egress else "open"
    return Egress(scope, declared=bool(private_sources(recipe)), seen=seen)


def _refuse(host: Host, recipe: Recipe, chosen: str, private: list[str], far: list[str], *, asked: bool) -> None:
    """Raise `ConfigError` for the first thing that would leave this machine."""
    because = "the run is offline" if chosen == OFFLINE else f"{private[0]} is private and stays on this machine"
    if far:
        advice = "choose a local model, or `--egress open` if it may be sent there"
        if asked:
            raise MustChoose(f"{far[0]} is not a local model, and {because}", advice)
        raise ConfigError(f"{far[0]} is not a local model, and {because}: {advice}")
    web = [name for name in recipe.search if name != LIBRARY] if "search" in recipe.tools else []
    sends = [*(f"search of {name}" for name in web), *(["scholar"] if "scholar" in recipe.tools else [])]
    sends += [f"MCP server {name}" for name in recipe.mcp]
    if plugins.framework.get(recipe.framework).command:
        sends.append(f"framework {recipe.framework}, which starts another program,")
    if sends:
        raise ConfigError(
            f"{sends[0]} sends what the model writes, and {because}: leave it out, or use `--egress open`"
        )
