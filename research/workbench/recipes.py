"""Turns choices from a page or the command line into a recipe, after checking every name and option."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from research import defaults, plugins, prompts
from research._util.paths import resolved
from research.citations.verification import MODEL, RULES, check_name
from research.errors import ConfigError
from research.events.recipe import (
    FOLDERS,
    LIBRARY,
    PLANS,
    RECALL_MOST,
    REMEMBER,
    ROLES,
    UNCERTAIN,
    Budget,
    Recipe,
    roles_by_purpose,
)
from research.search.scope import EVERYTHING, day, scope_of
from research.search.web import configured, services
from research.text import clip
from research.workbench import endpoint_registry, leaving, verifier_registry

if TYPE_CHECKING:
    from research.mcp.server_tools import McpServers
    from research.search.library.documents import Library


class Host(verifier_registry.Host, Protocol):
    """The parts of the open workbench used to check recipes."""

    @property
    def mcp(self) -> McpServers: ...

    @property
    def library(self) -> Library: ...

    def sources(self) -> list[str]: ...

    def folders(self) -> list[str]: ...


def checked(
    host: Host,
    *,
    model: str | None = None,
    tools: Sequence[str] | None = None,
    search: Sequence[str] = (LIBRARY,),
    folders: Sequence[str | Path] | None = None,
    judge: str = "",
    **rest: Any,
) -> Recipe:
    """Return the recipe.  Raises `ConfigError` that names what is wrong and what is known.

    `tools` None: the defaults, and `query` if a searched folder has a table. `folders` None: all in the library.
    `judge`: `uncertain`, `all`, `off`, or a judge of citations; empty: as the settings say.
    `rest` are other fields of `Recipe`, of which `budget` may be a mapping such as `{"seconds": 120}`; `options` as on the
    command line (`{"framework.rounds": 5, "context.k": 3}`); and `readers`, the models that will read its runs.
    """
    sides = _sides(rest.pop("options", None) or {})
    rest |= _scope(search, rest) | _as_of(host, rest)
    search = _resolved(host, search)
    tools = _tools(host, search, folders) if tools is None else tools
    _check_tools(host, tools, rest)
    _check_memory(rest.get("remember", "off"), rest.get("recall", 0))
    _known("plan", rest.get("plan", ""), PLANS)
    policy, strategy = _policy(host, rest.pop("framework", defaults.FRAMEWORK), rest.pop("context", None))
    name = model or host.settings.model
    roles, readers = dict(rest.pop("roles", {})), rest.pop("readers", ())
    budget = rest.pop("budget", None)
    _check_roles(roles)
    chosen = _judge(host, judge, name, roles)
    for each in [name, *roles.values()]:
        host.model(each)
    reads = any(plugins.tool.get(name).library for name in tools)
    recipe = Recipe(
        framework=policy.id,
        framework_options=policy.parse(sides["framework"]),
        context=strategy.id,
        context_options=strategy.parse(sides["context"]),
        model=name,
        tools=tuple(tools),
        search=tuple(search),
        budget=_budget(budget),
        folders=_folders(host, folders, search if reads else (), as_of=bool(rest.get("as_of"))),
        roles=roles,
        judge=chosen,
        prompts=prompts.digest(*(["plan"] if rest.get("plan") else [])),
        **rest,
    )
    return leaving.decided(host, recipe, readers)


def command_of(text: str) -> tuple[str, dict[str, str]] | None:
    """Return framework and option of a recipe's text such as `agent:python my_agent.py`; None for any other text."""
    name, colon, command = text.partition(":")
    if not colon or not name.isidentifier() or not (option := command_option(name)):
        return None
    return name, {f"framework.{option}": command.strip()}


def command_option(name: str) -> str:
    """Return the framework's option that holds a local command; empty: it has none, or is unknown."""
    try:
        return plugins.framework.get(name).command
    except ConfigError:  # reported when the recipe is made
        return ""


def _budget(given: object) -> Budget:
    """Return the caps, given as a `Budget` or a mapping.  Raises `ConfigError` that names the cap and what is accepted."""
    if given is None or isinstance(given, Budget):
        return given or Budget()
    accepted = f"give research.Budget(…) or a mapping with {', '.join(Budget.__struct_fields__)}"
    if not isinstance(given, Mapping):
        raise ConfigError(f"budget {clip(repr(given), 80)}: {accepted}")
    caps: dict[str, Any] = {}
    for name, cap in given.items():
        if name not in Budget.__struct_fields__:
            raise ConfigError(f"unknown cap {name!r} in budget; {accepted}")
        whole = name in ("tokens", "tool_calls")
        number = isinstance(cap, int | float) and not isinstance(cap, bool) and math.isfinite(cap) and cap > 0
        if cap is not None and not (number and (not whole or cap == int(cap))):
            kind = "a whole number" if whole else "a number"
            raise ConfigError(f"budget {name}={clip(repr(cap), 80)}: expected {kind} above 0, or None for no cap")
        caps[name] = int(cap) if whole and cap is not None else cap
    return Budget(**caps)


def _judge(host: Host, wanted: str, model: str, roles: dict[str, str]) -> str:
    """Return `Recipe.judge`; a model named as judge gets the role instead.  Raises `ConfigError`."""
    named, own = {"judge", "verify"} & roles.keys(), endpoint_registry.judges(host.settings, model)
    usual = "all" if host.settings.judge == "all" else UNCERTAIN
    # A model named for the role overrides the settings; earlier versions called the default `auto`.
    wanted = usual if wanted == "auto" or (named and not wanted) else wanted or host.settings.judge
    if wanted == "off":
        return "off" if named or own or host.settings.verifier else ""
    reads_open = wanted.partition(":")[0] == UNCERTAIN or (usual == UNCERTAIN and wanted.startswith(MODEL))
    name = "" if wanted in (UNCERTAIN, "all") else wanted.removeprefix(f"{UNCERTAIN}:")
    name = name or ("model" if named else host.settings.verifier or "model")
    if name == "model":
        if reads_open:
            return UNCERTAIN if named or own else ""
        return "model" if own and not named else ""
    check_name(name)
    if name.startswith(MODEL):
        roles["judge"] = name.removeprefix(MODEL)
        return UNCERTAIN if reads_open else ""
    if name == RULES:
        return ""
    return f"{UNCERTAIN}:{name}" if reads_open else name


def _sides(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Split the options into the framework's and the context strategy's."""
    sides: dict[str, dict[str, Any]] = {"framework": {}, "context": {}}
    for key, value in options.items():
        side, _, name = key.partition(".")
        if side not in sides or not name:
            raise ConfigError(f"option {key!r}: write framework.NAME=VALUE or context.NAME=VALUE")
        sides[side][name] = value
    return sides


def _policy(host: Host, framework: str, context: str | None) -> tuple[plugins.Framework, plugins.ContextStrategy]:
    """Return framework and context strategy (None: the framework's own).  Raises `ConfigError`."""
    policy = plugins.framework.get(framework)
    strategy = plugins.context.get(context := context or policy.default_context)
    if policy.command and host.settings.user:
        raise ConfigError(
            f"framework {framework!r} starts programs on this machine, so it is unavailable where users sign in"
        )
    if context in policy.refuses:
        raise ConfigError(f"framework {framework!r} with context {context!r}: {policy.refuses[context]}")
    return policy, strategy


def _tools(host: Host, search: Sequence[str], folders: Sequence[str | Path] | None) -> Sequence[str]:
    """Return the default tools, and the one for tables if a searched folder has one."""
    own = _folders(host, folders, search) if {LIBRARY, FOLDERS} & set(search) else ()
    return (*defaults.TOOLS, defaults.QUERY) if has_tables(host.library, own) else defaults.TOOLS


def has_tables(library: Library, collections: Iterable[str]) -> bool:
    """Return whether any of these collections, of those that the library still has, has a table."""
    named = sorted(set(collections))
    known = sorted(set(named) - set(library.unknown(named)))
    return bool(known and library.tables(known))


def _check_tools(host: Host, tools: Iterable[str], rest: Mapping[str, Any]) -> None:
    entries = [plugins.tool.get(name) for name in tools]
    if any(each.scholar for each in entries):
        services(rest.get("scholar", Recipe().scholar), host.settings)
    if rest.get("mcp") and rest.get("egress") != leaving.OFFLINE:  # offline refuses them without contacting them
        host.mcp.offer(rest["mcp"])


def _scope(search: Sequence[str], rest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's limits on sources, normalised. Raises `ConfigError` if they cannot be kept."""
    names = ("allow_domains", "deny_domains", "since", "until")
    scope = scope_of(**{name: rest[name] for name in names if rest.get(name)})
    if scope == EVERYTHING:
        return {}
    if rest.get("mcp"):
        raise ConfigError(
            "results of MCP servers cannot be limited to domains or dates; leave out mcp, or allow_domains, deny_domains, "
            "since and until"
        )
    if (scope.since or scope.until) and {LIBRARY, FOLDERS} & set(search):
        raise ConfigError(
            "documents of the library have no publication date, so since and until cannot limit them; search the web, or "
            "use the tool scholar instead"
        )
    return dict(zip(names, (scope.allow, scope.deny, scope.since, scope.until), strict=True))


def _as_of(host: Host, rest: Mapping[str, Any]) -> dict[str, str]:
    """Return `as_of`, the day for which pages are read, if given.  Raises `ConfigError` without an archive."""
    if not rest.get("as_of"):
        return {}
    if not host.settings.archive_url:
        raise ConfigError("as_of needs an archive of the web: set WORKBENCH_ARCHIVE, e.g. to https://archive.org")
    return {"as_of": day(rest["as_of"], "as_of", 1)}


def _check_memory(remember: str, recall: int) -> None:
    _known("memory policy", remember, REMEMBER)
    if not 0 <= recall <= RECALL_MOST:
        raise ConfigError(f"recall {recall}: expected 0 to {RECALL_MOST} entries")


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


def _folders(
    host: Host, folders: Sequence[str | Path] | None, search: Sequence[str], *, as_of: bool = False
) -> tuple[str, ...]:
    """Return the folders to search, as absolute paths; none if neither the library nor its folders are a source.

    `as_of`: without kept pages, which are of other days.
    """
    if folders is None:
        folders = host.folders() if {LIBRARY, FOLDERS} & set(search) else ()
    found = (str(folder if folder == defaults.PAGES else resolved(Path(folder))) for folder in folders)
    return tuple(folder for folder in found if not (as_of and folder == defaults.PAGES))


def _known(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise ConfigError(f"unknown {what} {name!r}; known: {', '.join(known)}")


def pairs() -> list[tuple[str, str]]:
    """Return every framework with each context strategy that it works with, in the order in which they are shown."""
    frameworks = defaults.ordered(entry.id for entry in plugins.framework.all())
    contexts = defaults.ordered(entry.id for entry in plugins.context.all())
    return [(f, c) for f in frameworks for c in contexts if c not in plugins.framework.get(f).refuses]
