"""Named choices for a run: built-in presets, the user's own, and those of an earlier run; and advice by kind of task.

`fit` leaves out what is unavailable here and says so, so that a preset always makes a valid recipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from research import defaults, plugins
from research._util import decoding
from research.errors import ConfigError
from research.events.recipe import FOLDERS, LIBRARY, ROLES, Budget, Recipe, provider_of, roles_by_purpose
from research.search.web import configured, services
from research.store.saved import Preset
from research.workbench.workbench import Workbench


class Choices(Struct, frozen=True):
    """All arguments of `Workbench.recipe`."""

    framework: str = defaults.FRAMEWORK
    context: str | None = None
    """None: the framework's default strategy."""
    options: dict[str, bool | int | float | str] = {}
    """As on the command line: `{"framework.rounds": 5, "context.k": 3}`."""
    model: str | None = None
    """None: the model of the settings."""
    roles: dict[str, str] = {}
    tools: tuple[str, ...] = defaults.TOOLS
    search: tuple[str, ...] = (LIBRARY,)
    scholar: tuple[str, ...] = Recipe().scholar
    mcp: tuple[str, ...] = ()
    folders: tuple[str, ...] | None = None
    """None: all that are in the library when the run starts."""
    recall: int = 0
    remember: str = "off"
    budget: Budget = Budget()
    temperature: float | None = None
    language: str = "auto"
    protocol: str = "auto"
    judge: str = ""
    """Empty: as the settings say."""
    novelty: bool = True
    ask: bool = True
    plan: str = ""
    allow_domains: tuple[str, ...] = ()
    deny_domains: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    as_of: str = ""
    egress: str = ""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for `Workbench.recipe(**arguments)`."""
        return asdict(self)


class BuiltIn(Struct, frozen=True):
    """A preset that every user has."""

    name: str
    summary: str
    """What it does and when it suits, on one line."""
    choices: Choices
    web: bool = False
    """Searches the web too, if a service is set up."""


BUILT_IN = (
    BuiltIn(
        "Quick look", "A few rounds on a tight budget: for a fact, or to see whether a question can be answered.",
        Choices(framework="react", options={"framework.rounds": 6}, budget=Budget(tokens=60_000, usd=0.1, seconds=180.0)),
    ),
    BuiltIn(
        "Deep", "Many rounds that keep rewriting one report: for a question with many parts.",
        Choices(
            framework="iter_research", context="evolving",
            options={"framework.rounds": 60, "framework.report_tokens": 3_000}, tools=(*defaults.TOOLS, "scholar"),
            budget=Budget(tokens=1_500_000, usd=3.0, seconds=3_600.0),
        ),
        web=True,
    ),
    BuiltIn(
        "Academic", "Papers first, with the library and what earlier runs found: for what has been studied and published.",
        Choices(
            framework="iter_research", context="evolving", options={"framework.rounds": 40},
            tools=(*defaults.TOOLS, "scholar"), recall=5, remember="findings",
            budget=Budget(tokens=1_000_000, usd=2.0, seconds=3_600.0),
        ),
        web=True,
    ),
    BuiltIn(
        "High reliability", "Three separate runs, compared and merged: for an answer that others will rely on.",
        Choices(
            framework="parallel", context="evolving",
            options={"framework.n": 3, "framework.branch": "iter_research", "framework.rounds": 15},
            budget=Budget(tokens=1_500_000, usd=3.0, seconds=3_600.0),
        ),
        web=True,
    ),
)  # fmt: skip


class Advice(Struct, frozen=True):
    """The framework and context strategy that suit a kind of task."""

    id: str
    task: str
    framework: str
    context: str


SHAPE = ("framework", "context", "options", "tools", "search", "recall", "remember", "budget")
"""The fields that a built-in preset sets; model, folders and others stay as the user chose them."""

ADVICE = (
    Advice("few", "Few steps", "react", "full"),
    Advice("many", "Many steps", "iter_research", "evolving"),
    Advice("planned", "The plan is known", "rewoo", "full"),
    Advice("again", "May try again", "reflexion", "full"),
    Advice("reliable", "Must be reliable", "parallel", "evolving"),
)


class Gap(Struct, frozen=True):
    """Something that was requested but is unavailable; `text` is a translation key, `values` fill its slots."""

    text: str
    values: dict[str, str] = {}

    def __str__(self) -> str:
        return self.text.format(**self.values)


UNSET_MODEL = "No language model is set up. The offline one finds and quotes, but does not write at length."
UNSET_WEB = (
    "No web search service is set up, so the web is not searched. DuckDuckGo needs no key; choose it under Sources."
)
NETWORK = "Papers are searched over the network. Without a network, those calls fail and only the library is searched."
LEFT_OUT = "{what} {name} is left out: {reason}."
GONE = "{what} {name} is left out: it no longer exists."
GAPS = (UNSET_MODEL, UNSET_WEB, NETWORK, LEFT_OUT, GONE)
"""Every text of a `Gap`."""
KINDS = ("Framework", "Context strategy", "Option", "Role", "Tool", "Source", "Paper service", "MCP server", "Folder")
"""Every `what` of a `Gap`."""


class Fitted(Struct, frozen=True):
    """Choices that make a valid recipe here, and what had to be left out."""

    choices: Choices
    gaps: tuple[Gap, ...] = ()


def names(bench: Workbench) -> list[str]:
    """Return the built-in presets in their order, then the user's own by name."""
    return [*(each.name for each in BUILT_IN), *(each.name for each in bench.saved.presets())]


def find(bench: Workbench, name: str) -> Fitted:
    """Return the preset of that name, ignoring case, fitted to what is set up.  Raises `ConfigError` with known names."""
    wanted = " ".join(name.split()).casefold()
    for built_in in BUILT_IN:
        if built_in.name.casefold() == wanted:
            return _equipped(bench, built_in)
    own = bench.saved.presets()
    # Two of the user's presets may differ only in case.
    for preset in sorted(own, key=lambda each: each.name != name):
        if preset.name.casefold() == wanted:
            return fit(bench, _read(preset))
    raise ConfigError(f"unknown preset {name!r}; known: {', '.join(names(bench))}")


def keep(bench: Workbench, name: str, choices: Choices) -> None:
    """Save choices under a name, replacing the user's preset of that name.  Raises `ConfigError`."""
    if " ".join(name.split()).casefold() in {each.name.casefold() for each in BUILT_IN}:
        raise ConfigError(f"preset name {name!r}: a built-in preset has that name; choose another")
    bench.saved.save_preset(Preset(name, msgspec.to_builtins(choices)))


def of(recipe: Recipe) -> Choices:
    """Return the choices that make this recipe."""
    sides = {"framework": recipe.framework_options, "context": recipe.context_options}
    taken = {name: getattr(recipe, name) for name in Choices.__struct_fields__ if name not in ("options",)}
    options = {f"{side}.{name}": value for side, given in sides.items() for name, value in given.items()}
    return Choices(**taken, options=options)


def advice(framework: str, context: str) -> str | None:
    """Return the id of the task for which this pair is recommended, if any."""
    return next((each.id for each in ADVICE if (each.framework, each.context) == (framework, context)), None)


def fit(bench: Workbench, choices: Choices) -> Fitted:
    """Return the choices without what is unavailable here.

    The model is never replaced; if it is unavailable, the form says what it needs.
    """
    gaps: list[Gap] = []

    def existing(what: str, wanted: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
        gaps.extend(Gap(GONE, {"what": what, "name": name}) for name in wanted if name not in known)
        return tuple(name for name in wanted if name in known)

    framework = choices.framework
    if not existing("Framework", [framework], plugins.framework.names()):
        framework = Choices().framework
    context = choices.context
    if context and not existing("Context strategy", [context], plugins.context.names()):
        context = None
    policy = plugins.framework.get(framework)
    if context and (refusal := policy.refuses.get(context)):
        gaps.append(Gap(LEFT_OUT, {"what": "Context strategy", "name": context, "reason": refusal}))
        context = None
    options = dict(_options(framework, context or policy.default_context, choices.options, gaps))
    roles = existing("Role", list(choices.roles), [*ROLES, *roles_by_purpose()])
    scholar = tuple(_available(bench, "Paper service", choices.scholar, gaps))
    tools = existing("Tool", choices.tools, bench.tools())
    if not scholar:
        tools = tuple(name for name in tools if not plugins.tool.traits(name).scholar)
    search = tuple(_available(bench, "Source", existing("Source", choices.search, [*bench.sources(), FOLDERS]), gaps))
    try:
        servers = [name for name, _ in bench.mcp.configured()] if choices.mcp else []
    except ConfigError as error:  # mcp.json cannot be read at all
        servers = []
        gaps.append(Gap(LEFT_OUT, {"what": "MCP server", "name": "mcp.json", "reason": str(error)}))
    fitted = replace(
        choices,
        framework=framework,
        context=context,
        options=options,
        scholar=scholar or Choices().scholar,
        tools=tools,
        search=search,
        roles={name: choices.roles[name] for name in roles},
        folders=None if choices.folders is None else existing("Folder", choices.folders, _folders(bench, choices)),
        mcp=existing("MCP server", choices.mcp, servers),
    )
    return Fitted(fitted, tuple(gaps))


def _folders(bench: Workbench, choices: Choices) -> Sequence[str]:
    """Return the folders that may be chosen; an evaluation's documents only if nothing else is searched."""
    named = choices.folders or () if choices.search == (FOLDERS,) else ()
    return [*bench.folders(), *(set(named) - set(bench.library.unknown(named)))]


def _equipped(bench: Workbench, preset: BuiltIn) -> Fitted:
    """Return a built-in preset, with the web if a service is set up, and remarks on missing services."""
    gaps = []
    found = preset.choices
    if preset.web:
        web = configured(bench.settings)
        if any(plugins.searcher.get(name).needs for name in web):
            found = replace(found, search=(*found.search, "web"))
        else:
            gaps.append(Gap(UNSET_WEB))
        if provider_of(bench.settings.model).written_by == "rules":
            gaps.append(Gap(UNSET_MODEL))
    if any(plugins.tool.traits(name).scholar for name in found.tools):
        gaps.append(Gap(NETWORK))
    fitted = fit(bench, found)
    return replace(fitted, gaps=(*gaps, *fitted.gaps))


def _read(preset: Preset) -> Choices:
    try:
        return decoding.convert(preset.chosen, Choices)
    except msgspec.ValidationError as error:
        raise ConfigError(f"preset {preset.name!r} cannot be read: {error}; delete it and save it again") from error


def _options(
    framework: str, context: str, given: Mapping[str, Any], gaps: list[Gap]
) -> Iterator[tuple[str, bool | int | float | str]]:
    """Yield the options that framework and strategy accept."""
    entries = {"framework": plugins.framework.get(framework), "context": plugins.context.get(context)}
    for key, value in given.items():
        side, _, name = key.partition(".")
        try:
            if side not in entries:
                raise ConfigError("unknown option")
            yield key, entries[side].parse({name: value})[name]
        except ConfigError as error:
            gaps.append(Gap(LEFT_OUT, {"what": "Option", "name": key, "reason": str(error)}))


def _available(bench: Workbench, what: str, wanted: Sequence[str], gaps: list[Gap]) -> Iterator[str]:
    """Yield the services that have their key or address."""
    for name in wanted:
        try:
            services([name] if name not in (LIBRARY, FOLDERS, "web") else [], bench.settings)
            yield name
        except ConfigError as error:
            gaps.append(Gap(LEFT_OUT, {"what": what, "name": name, "reason": str(error)}))
