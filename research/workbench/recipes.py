"""Turns choices from a page or the command line into a recipe, after checking every name and option."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from research import defaults, plugins
from research.agent import prompts
from research.citations.verifiers import MODEL, RULES, check_name
from research.errors import ConfigError
from research.events.recipe import (
    FOLDERS,
    LIBRARY,
    RECALL_MOST,
    REMEMBER,
    ROLES,
    Budget,
    Recipe,
    roles_by_purpose,
)
from research.search.web import configured, services

if TYPE_CHECKING:
    from research.config.settings import Settings
    from research.mcp.client import McpServers
    from research.types import Model


class Host(Protocol):
    """The parts of the open workbench that recipes are checked against."""

    settings: Settings

    @property
    def mcp(self) -> McpServers: ...

    def model(self, name: str) -> Model: ...

    def sources(self) -> list[str]: ...


def checked(
    host: Host,
    *,
    framework: str = defaults.FRAMEWORK,
    context: str | None = None,
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
    tools: Sequence[str] = defaults.TOOLS,
    search: Sequence[str] = (LIBRARY,),
    folders: Sequence[str | Path] = (),
    budget: Budget | None = None,
    judge: str = "",
    **rest: Any,
) -> Recipe:
    """Return the recipe.  Raises `ConfigError` that names what is wrong and what is known.

    `options` are written as on the command line: `{"framework.rounds": 5, "context.k": 3}`; `rest` are other fields of
    `Recipe`.  `context` None: the framework's own.  `judge`: `auto`, `off`, or a judge of citations; empty: as the settings say.
    """
    sides = _sides(options or {})
    _check_tools(host, tools, rest)
    search = _resolved(host, search)
    _check_memory(rest.get("remember", "off"), rest.get("recall", 0))
    policy = plugins.framework.get(framework)
    context = context or policy.default_context
    strategy = plugins.context.get(context)
    if context in policy.refuses:
        raise ConfigError(f"framework {framework!r} with context {context!r}: {policy.refuses[context]}")
    name = model or host.settings.model
    roles = dict(rest.pop("roles", {}))
    _check_roles(roles)
    chosen = _judge(host, judge, name, roles)
    for each in [name, *roles.values()]:
        host.model(each)
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
        roles=roles,
        judge=chosen,
        prompts=prompts.digest(),
        **rest,
    )


def _judge(host: Host, wanted: str, model: str, roles: dict[str, str]) -> str:
    """Return `Recipe.judge`; a model that is named as the judge gets the role instead.  Raises `ConfigError`."""
    named = {"judge", "verify"} & roles.keys()
    # A model that is named for the role counts more than the settings.
    wanted = wanted or ("model" if named else host.settings.judge)
    if wanted == "off":
        return "off" if named or _can_judge(model) or host.settings.verifier else ""
    if wanted in ("auto", "model"):
        wanted = "model" if named or wanted == "model" else host.settings.verifier or "model"
        if wanted == "model":
            return "model" if _can_judge(model) and not named else ""
    check_name(wanted)
    if wanted.startswith(MODEL):
        roles["judge"] = wanted.removeprefix(MODEL)
        return ""
    return "" if wanted == RULES else wanted


def _can_judge(model: str) -> bool:
    return plugins.provider.get(model.partition(":")[0]).judges


def _sides(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Split the options into the framework's and the context strategy's."""
    sides: dict[str, dict[str, Any]] = {"framework": {}, "context": {}}
    for key, value in options.items():
        side, _, name = key.partition(".")
        if side not in sides or not name:
            raise ConfigError(f"option {key!r}: write framework.NAME=VALUE or context.NAME=VALUE")
        sides[side][name] = value
    return sides


def _check_tools(host: Host, tools: Iterable[str], rest: Mapping[str, Any]) -> None:
    for name in tools:
        if name not in defaults.TOOLS:
            plugins.tool.get(name)
    if "scholar" in tools:
        services(rest.get("scholar", Recipe().scholar), host.settings)
    if rest.get("mcp"):
        host.mcp.offer(rest["mcp"])


def _check_memory(remember: str, recall: int) -> None:
    _known("memory policy", remember, REMEMBER)
    if not 0 <= recall <= RECALL_MOST:
        raise ConfigError(f"recall {recall}: 0 to {RECALL_MOST} entries are accepted")


def _check_roles(roles: Iterable[str]) -> None:
    if not roles:
        return
    purposes = roles_by_purpose()
    for role in roles:
        if role not in ROLES and role not in purposes:
            raise ConfigError(
                f"unknown role {role!r}; known: {', '.join(ROLES)}, or a purpose: {', '.join(sorted(purposes))}"
            )


def _resolved(host: Host, search: Sequence[str]) -> tuple[str, ...]:
    """Return the sources by name; `web` means every web service that is set up."""
    names = [each for name in search for each in (configured(host.settings) if name == "web" else [name])]
    remote = [name for name in names if name not in (LIBRARY, FOLDERS)]
    for name in remote:
        _known("search source", name, host.sources())
    services(remote, host.settings)
    return tuple(dict.fromkeys(names))


def _known(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise ConfigError(f"unknown {what} {name!r}; known: {', '.join(known)}")
