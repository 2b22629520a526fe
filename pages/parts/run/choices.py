"""The options of the next run: filling the form, and summarizing them in a line."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator
from math import ceil
from typing import Any

from msgspec.structs import replace

from pages.parts.run import memory_choices, shelf, typical
from pages.parts.shared import form_state, models, titles
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count, lasted, money, short, tool_title
from research import plugins
from research.errors import ConfigError
from research.events.recipe import Budget, Recipe, provider_of
from research.plugins import Entry
from research.workbench.estimate import Span, estimate
from research.workbench.presets import Choices, Gap
from research.workbench.workbench import Workbench

EVERYTHING = Choices.__struct_fields__
TOOLS_CHOSEN = "tools-chosen"
"""Name of the form's value that says how its tools were chosen (`tool_chips`)."""


def place(framework: str, context: str = "") -> str:
    """Return the prefix of the names of an entry's options; each framework remembers its own strategy."""
    return f"context-{framework}.{context}" if context else f"framework.{framework}"


def fill(choices: Choices, parts: Collection[str] = EVERYTHING) -> None:
    """Fill the form with these parts of the choices; call it before the options are drawn."""
    models.know(*filter(None, [choices.model, *choices.roles.values()]))
    form_state.fill(dict(_values(choices, parts)))


def _values(choices: Choices, parts: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield each option's name and value."""
    framework, context = choices.framework, choices.context or plugins.framework.get(choices.framework).default_context
    if "framework" in parts:
        yield "framework", framework
        yield f"context-{framework}", context
    if "options" in parts:
        yield from _options(place(framework), "framework", plugins.framework.get(framework), choices)
        yield from _options(place(framework, context), "context", plugins.context.get(context), choices)
    if "model" in parts and choices.model:
        yield "model", choices.model
    if "roles" in parts:
        yield from models.values(choices.roles)
    if "tools" in parts:
        yield TOOLS_CHOSEN, ""
    for part in {"tools", "scholar", "mcp"} & set(parts):
        yield part, list(getattr(choices, part))
    if "search" in parts:
        yield shelf.SOURCES, shelf.filled(choices.search, choices.folders, keep="folders" not in parts)
    if "budget" in parts:
        yield from ((f"budget-{cap}", getattr(choices.budget, cap)) for cap in Budget.__struct_fields__)
    for part in {"temperature", "protocol", "recall", "remember", "novelty", "ask"} & set(parts):
        yield part, getattr(choices, part)
    if "judge" in parts and (choices.judge or {"judge", "verify"} & choices.roles.keys()):
        yield "citation-judge", "all" if choices.judge in ("", "model") else choices.judge
    if "as_of" in parts:
        yield "as-of", datetime.date.fromisoformat(choices.as_of) if choices.as_of else None
    if "plan" in parts:
        yield "plan-first", choices.plan == "approve"
    if "language" in parts:
        yield "answer-language", choices.language


def _options(where: str, side: str, entry: Entry, choices: Choices) -> Iterator[tuple[str, Any]]:
    for option in entry.options:
        yield f"{where}.{option.name}", choices.options.get(f"{side}.{option.name}", option.default)


def line(recipe: Recipe) -> str:
    """Return the chosen options as one line of Markdown."""
    framework, context = plugins.framework.get(recipe.framework), plugins.context.get(recipe.context)
    said = [
        t("{framework} with {context}", framework=f"**{plain(t(framework.title))}**", context=plain(t(context.title))),
        plain(titles.model(recipe.model)),
        *([t("{roles} with a different model", roles=count(len(recipe.roles), "role"))] if recipe.roles else []),
        t("tools: {tools}", tools=t(", ").join(map(tool, recipe.tools)) or t("none")),
    ]
    if recipe.mcp:
        said.append(t("MCP: {servers}", servers=plain(t(", ").join(recipe.mcp))))
    if recipe.plan:
        said.append(t("plan approved first"))
    if recipe.as_of:
        said.append(t("pages as of {day}", day=plain(recipe.as_of)))
    return " · ".join([*said, *memory_choices.phrases(recipe), caps(recipe.budget)])


def tool(name: str) -> str:
    """Return a tool's title, equal on all pages that share the choice, because the browser stores it by title."""
    return plain(tool_title(name))


def lacking(recipe: Recipe, servers: Collection[str] = ()) -> str:
    """Return what must be chosen before a run of this recipe, with these MCP servers, can find anything; else empty."""
    if plugins.framework.get(recipe.framework).command:  # it brings its own sources
        return ""
    tools = [plugins.tool.traits(each) for each in recipe.tools]
    if not recipe.search and any(each.searches and each.library for each in tools):
        return t(
            "There is nothing to search. Choose a source first, such as the CIA World Factbook or your own documents."
        )
    if offline(recipe) and not (servers or recipe.mcp or recipe.recall or any(not each.calculates for each in tools)):
        return t(
            "The offline model only answers from what it finds. Turn on the tool {tool} first.", tool=tool("search")
        )
    return ""


def offline(recipe: Recipe) -> bool:
    """Return whether the model of a run is not a language model."""
    return provider_of(recipe.model).written_by == "rules"


def caps(budget: Budget) -> str:
    """Return the limits of a run as Markdown, or the words for no limit."""
    said = limits(budget)
    return t("at most {limits}", limits=said) if said else t("no budget")


def limits(budget: Budget) -> str:
    """Return the limits of a budget as Markdown; empty if there are none."""
    said = [
        t("{n} tokens", n=short(budget.tokens).replace(".0", "")) if budget.tokens else "",
        plain(money(budget.usd)) if budget.usd else "",
        _time(budget.seconds) if budget.seconds else "",
        count(budget.tool_calls, "tool call") if budget.tool_calls else "",
    ]
    return t(", ").join(filter(None, said))


def expected(bench: Workbench, recipe: Recipe, question: str) -> tuple[str, str]:
    """Return the estimate for the run and its basis as Markdown; two empty strings if it is unknown."""
    try:
        found = estimate(recipe, question, models=bench.model)
    except ConfigError:
        return "", ""  # reported next to its control, and when the run is started
    budget = recipe.budget
    if found.usd is None:
        cost = t("cost unknown")
    elif found.usd.high == 0:
        cost = t("free")
    else:
        low, high = money(found.usd.low), money(found.usd.high)
        cost = plain(low if low == high else f"{low}–{high}")
    usual, most = typical.usual(bench, recipe), replace(budget, tool_calls=None)
    if cost == t("free"):
        most = replace(most, usd=None)
    if offline(recipe):  # its tokens cost neither money nor time
        said = [t("Offline"), _seconds(usual) or t("usually a few seconds"), cost]
    else:
        said = [plain(recipe.model), _tokens(usual, budget.tokens or found.tokens.high), _seconds(usual), cost]
        most = replace(most, tokens=None)
    said.append(caps(most) if limits(most) else "")
    basis = t(
        "Estimate: {calls} model calls, {tokens} tokens.", calls=_between(found.calls), tokens=_between(found.tokens)
    )
    return " · ".join(filter(None, said)), f"{basis} {plain(found.basis)}"


def _tokens(usual: typical.Usual | None, most: float) -> str:
    """Return what similar runs took, and the most that this one may take."""
    if usual is None:
        return t("at most {most} tokens, most runs far fewer", most=_about(most))
    return t("typically {typical} tokens, at most {most}", typical=_about(usual.tokens), most=_about(most))


def _seconds(usual: typical.Usual | None) -> str:
    """Return how long runs like this took; empty if that is unknown."""
    if usual is None:
        return ""
    low, high = ceil(usual.shortest), ceil(usual.longest)
    if high < 100:
        return t("usually {n} s", n=low if low == high else f"{low}–{high}")
    return t("usually {low} to {high}", low=lasted(low), high=lasted(high))


def gap(missing: Gap) -> str:
    """Return what a preset cannot use here, as Markdown."""
    values = {name: t(value) if name == "what" else plain(value) for name, value in missing.values.items()}
    return t(missing.text, **values)


def _between(span: Span) -> str:
    low, high = _about(span.low), _about(span.high)
    return low if low == high else f"{low}–{high}"


def _about(number: float) -> str:
    """Return an estimate with two significant digits: `820k`."""
    return short(round(float(f"{number:.2g}"))).replace(".0", "")


def _time(seconds: float) -> str:
    return t("{n} min", n=f"{seconds / 60:.0f}") if seconds >= 60 and seconds % 60 == 0 else lasted(seconds)
