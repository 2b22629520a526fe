"""Choices under a name: ready-made ones, one's own, those of an earlier run; and which pair suits which task.

A preset is a wish: `fit` leaves out what is not to be had here and says so, so that a preset always makes a recipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from research import cells, decoding, registry
from research.desk import Preset
from research.errors import ConfigError
from research.recipe import ROLES, Budget, Recipe
from research.search.indexing import FACTBOOK
from research.search.web import configured, services
from research.workbench import ALL_TOOLS, FOLDERS, SEARCHERS, TOOLS, Workbench


class Choices(Struct, frozen=True):
    """The arguments of `Workbench.recipe`, every one of them."""

    framework: str = "react"
    context: str | None = None
    """None: the strategy that the framework starts with."""
    options: dict[str, bool | int | float | str] = {}
    """As on the command line: `{"framework.rounds": 5, "context.k": 3}`."""
    model: str | None = None
    """None: the model of the settings."""
    roles: dict[str, str] = {}
    tools: tuple[str, ...] = TOOLS
    search: tuple[str, ...] = SEARCHERS
    scholar: tuple[str, ...] = Recipe().scholar
    mcp: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    recall: int = 0
    remember: str = "off"
    budget: Budget = Budget()
    temperature: float | None = None
    language: str = "auto"
    protocol: str = "auto"

    def arguments(self) -> dict[str, Any]:
        """For `Workbench.recipe(**arguments)`."""
        return asdict(self)


class BuiltIn(Struct, frozen=True):
    """A preset that everybody has."""

    name: str
    summary: str
    """What it does and when it suits, on one line."""
    choices: Choices
    web: bool = False
    """Searches the web too where a service is set up for it."""


BUILT_IN = (
    BuiltIn(
        "Quick look", "A few rounds on a tight budget: for a fact, or to see whether a question can be answered.",
        Choices(framework="react", options={"framework.rounds": 6}, budget=Budget(tokens=60_000, usd=0.1, seconds=180.0)),
    ),
    BuiltIn(
        "Deep", "Many rounds that keep rewriting one report: for a question with many parts.",
        Choices(
            framework="iter_research", context="evolving",
            options={"framework.rounds": 60, "framework.report_tokens": 3_000},
            budget=Budget(tokens=1_500_000, usd=3.0, seconds=3_600.0),
        ),
        web=True,
    ),
    BuiltIn(
        "Academic", "Papers first, with the library beside them: for what has been studied and published.",
        Choices(
            framework="iter_research", context="evolving", options={"framework.rounds": 40},
            tools=(*TOOLS, "scholar"), budget=Budget(tokens=1_000_000, usd=2.0, seconds=3_600.0),
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
    """The pair that suits a kind of task."""

    id: str
    task: str
    framework: str
    context: str


SHAPE = ("framework", "context", "options", "tools", "search", "budget")
"""What a built-in preset decides; model, folders and the rest stay as they were chosen."""

ADVICE = (
    Advice("few", "Few steps", "react", "full"),
    Advice("many", "Many steps", "iter_research", "evolving"),
    Advice("planned", "The plan is known", "rewoo", "full"),
    Advice("again", "May try again", "reflexion", "full"),
    Advice("reliable", "Must be reliable", "parallel", "evolving"),
)


class Gap(Struct, frozen=True):
    """Something that was wished for and is not to be had; `text` is a key of translation, `values` fill it."""

    text: str
    values: dict[str, str] = {}

    def __str__(self) -> str:
        return self.text.format(**self.values)


UNSET_MODEL = "No language model is set up. The offline one finds and quotes, but does not write at length."
UNSET_WEB = "No web search service is set up: the web is left out. DuckDuckGo needs no key; choose it under Search in."
NETWORK = "Papers are looked up over the network. Without it those calls fail, and the library alone answers."
LEFT_OUT = "{what} {name} is left out: {reason}."
GONE = "{what} {name} is left out: it is not there any more."
GAPS = (UNSET_MODEL, UNSET_WEB, NETWORK, LEFT_OUT, GONE)
"""Every text of a `Gap`."""
KINDS = ("Framework", "Context strategy", "Option", "Role", "Tool", "Source", "Paper service", "MCP server", "Folder")
"""Every `what` of a `Gap`."""


class Fitted(Struct, frozen=True):
    """Choices of which a recipe can be made here, and what had to be left out of them."""

    choices: Choices
    gaps: tuple[Gap, ...] = ()


def names(bench: Workbench) -> list[str]:
    """The built-in presets in their order, then one's own by name."""
    return [*(each.name for each in BUILT_IN), *(each.name for each in bench.desk.presets())]


def find(bench: Workbench, name: str) -> Fitted:
    """The preset of that name, in any case, fitted to what is set up.  Raises `ConfigError` that lists the known ones."""
    wanted = " ".join(name.split()).casefold()
    for built_in in BUILT_IN:
        if built_in.name.casefold() == wanted:
            return _equipped(bench, built_in)
    own = bench.desk.presets()
    # Two of one's own may differ in case alone.
    for preset in sorted(own, key=lambda each: each.name != name):
        if preset.name.casefold() == wanted:
            return fit(bench, _read(preset))
    raise ConfigError(f"unknown preset {name!r}; known: {', '.join(names(bench))}")


def keep(bench: Workbench, name: str, choices: Choices) -> None:
    """Keep choices under a name, in the place of one's own preset of that name.  Raises `ConfigError`."""
    if " ".join(name.split()).casefold() in {each.name.casefold() for each in BUILT_IN}:
        raise ConfigError(f"preset name {name!r}: there is a built-in one of that name; choose another")
    bench.desk.keep_preset(Preset(name, msgspec.to_builtins(choices)))


def of(recipe: Recipe) -> Choices:
    """The choices that a recipe was made of."""
    sides = {"framework": recipe.framework_options, "context": recipe.context_options}
    taken = {name: getattr(recipe, name) for name in Choices.__struct_fields__ if name not in ("options",)}
    options = {f"{side}.{name}": value for side, given in sides.items() for name, value in given.items()}
    return Choices(**taken, options=options)


def advice(framework: str, context: str) -> str | None:
    """The task that this pair is the advice for, by its id."""
    return next((each.id for each in ADVICE if (each.framework, each.context) == (framework, context)), None)


def fit(bench: Workbench, choices: Choices) -> Fitted:
    """The same choices without what is not to be had here.

    A model is left as it is: nothing may take its place unasked, and the form names what it lacks.
    """
    gaps: list[Gap] = []

    def kept(what: str, wanted: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
        gaps.extend(Gap(GONE, {"what": what, "name": name}) for name in wanted if name not in known)
        return tuple(name for name in wanted if name in known)

    framework = choices.framework
    if not kept("Framework", [framework], registry.framework.names()):
        framework = Choices().framework
    context = choices.context
    if context and not kept("Context strategy", [context], registry.context.names()):
        context = None
    if context and (refusal := cells.refusal(framework, context)):
        gaps.append(Gap(LEFT_OUT, {"what": "Context strategy", "name": context, "reason": refusal}))
        context = None
    options = dict(_options(framework, context or cells.default_context(framework), choices.options, gaps))
    policy = registry.framework.get(framework)
    purposes = {*policy.traits.get("purposes", ()), *(each for group in ROLES.values() for each in group)}
    roles = kept("Role", list(choices.roles), [*ROLES, *purposes])
    scholar = tuple(_to_be_had(bench, "Paper service", choices.scholar, gaps))
    tools = kept("Tool", choices.tools, ALL_TOOLS)
    if not scholar:
        tools = tuple(name for name in tools if name != "scholar")
    search = tuple(_to_be_had(bench, "Source", kept("Source", choices.search, [*bench.sources(), FOLDERS]), gaps))
    collections = [info.name for info in bench.library.collections() if info.name != FACTBOOK]
    try:
        servers = [name for name, _ in bench.mcp.configured()] if choices.mcp else []
    except ConfigError as error:  # the file of the servers is wrong as a whole
        servers = []
        gaps.append(Gap(LEFT_OUT, {"what": "MCP server", "name": "mcp.json", "reason": str(error)}))
    fitted = replace(
        choices, framework=framework, context=context, options=options, scholar=scholar or Choices().scholar, tools=tools,
        search=search, roles={name: choices.roles[name] for name in roles},
        folders=kept("Folder", choices.folders, collections), mcp=kept("MCP server", choices.mcp, servers),
    )  # fmt: skip
    return Fitted(fitted, tuple(gaps))


def _equipped(bench: Workbench, preset: BuiltIn) -> Fitted:
    """A built-in preset with the web services that are set up, and with what it would gain from others."""
    gaps = []
    found = preset.choices
    if preset.web:
        web = configured(bench.settings)
        if any("needs" in registry.searcher.get(name).traits for name in web):
            found = replace(found, search=(*found.search, "web"))
        else:
            gaps.append(Gap(UNSET_WEB))
        if bench.settings.model == "extractive":
            gaps.append(Gap(UNSET_MODEL))
    if "scholar" in found.tools:
        gaps.append(Gap(NETWORK))
    fitted = fit(bench, found)
    return replace(fitted, gaps=(*gaps, *fitted.gaps))


def _read(preset: Preset) -> Choices:
    try:
        return decoding.convert(preset.chosen, Choices)
    except msgspec.ValidationError as error:
        raise ConfigError(f"preset {preset.name!r} cannot be read: {error}; delete it and save it anew") from error


def _options(
    framework: str, context: str, given: Mapping[str, Any], gaps: list[Gap]
) -> Iterator[tuple[str, bool | int | float | str]]:
    """Those that the framework and the strategy have and accept."""
    entries = {"framework": registry.framework.get(framework), "context": registry.context.get(context)}
    for key, value in given.items():
        side, _, name = key.partition(".")
        try:
            if side not in entries:
                raise ConfigError("unknown option")
            yield key, entries[side].parse({name: value})[name]
        except ConfigError as error:
            gaps.append(Gap(LEFT_OUT, {"what": "Option", "name": key, "reason": str(error)}))


def _to_be_had(bench: Workbench, what: str, wanted: Sequence[str], gaps: list[Gap]) -> Iterator[str]:
    """Those services that have the key or address they need."""
    for name in wanted:
        try:
            services([name] if name not in (*SEARCHERS, FOLDERS, "web") else [], bench.settings)
            yield name
        except ConfigError as error:
            gaps.append(Gap(LEFT_OUT, {"what": what, "name": name, "reason": str(error)}))
