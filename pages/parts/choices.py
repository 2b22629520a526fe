"""The choices of the next run as they stand in the session: filled in at once, and said in a line of words."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from typing import Any, Final

import streamlit as st

from pages.parts import memory_choices, models
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import count, lasted, money, short
from research import cells, registry
from research.errors import ConfigError
from research.estimate import Span, estimate
from research.presets import Choices, Gap
from research.recipe import Budget, Recipe
from research.registry import Entry
from research.workbench import Workbench

EVERYTHING = Choices.__struct_fields__
DRAWS_S: Final = 3.0
"""A browser has drawn by then what it was sent."""


def place(framework: str, context: str = "") -> str:
    """What the keys of an entry's options begin with; each framework remembers the strategy chosen for it."""
    return f"context-{framework}.{context}" if context else f"framework.{framework}"


class Filling:
    """Values on their way into their widgets.

    The browser sends what all widgets hold with every event.  An event that it sends before it has drawn the new values
    carries the old ones, and looks as if somebody had put them back.
    """

    def __init__(self, values: dict[str, Any], before: Filling | None) -> None:
        self.values = values
        state = st.session_state
        self.old = {key: [state.get(key)] for key in values}
        """What may still come from the browser for each of them."""
        if before:
            for key in self.old.keys() & before.values.keys():
                self.old[key] += [*before.old[key], before.values[key]]
        self.new = [key for key, value in values.items() if key in state and value not in self.old[key]]
        """Widgets that are there and change."""
        self.drawn: float | None = None
        """When the page was first drawn with all of them, on the monotonic clock; a click may end a run of it half-way."""

    @property
    def arrived(self) -> bool:
        """Whether the browser shows them, or has had the time to.

        Who changes his mind changes one of them at a time.
        """
        if self.drawn is None:
            return False
        behind = [key for key in self.new if st.session_state.get(key) in self.old[key]]
        return len(behind) < 2 or time.monotonic() - self.drawn > DRAWS_S


def fill(choices: Choices, parts: Collection[str] = EVERYTHING) -> None:
    """Set the widgets of these parts of the choices; to be called before they are drawn."""
    models.know(*filter(None, [choices.model, *choices.roles.values()]))
    filling = Filling(dict(_values(choices, parts)), st.session_state.get("filling"))
    st.session_state["filling"] = filling
    for key, value in filling.values.items():
        st.session_state[key] = value


def begin() -> None:
    """To be called before the options are drawn, and `done` after them: what is filled in arrives.

    Anything else that a widget holds by then was chosen since, and stays.
    """
    filling: Filling | None = st.session_state.get("filling")
    if filling is None:
        return
    if filling.arrived:
        del st.session_state["filling"]
        return
    for key, value in filling.values.items():
        if key not in st.session_state or st.session_state[key] in filling.old[key]:
            st.session_state[key] = value


def done() -> None:
    """All options were drawn with what was filled in."""
    filling: Filling | None = st.session_state.get("filling")
    if filling is not None and filling.drawn is None:
        filling.drawn = time.monotonic()


def _values(choices: Choices, parts: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Each widget's key with its value."""
    framework, context = choices.framework, choices.context or cells.default_context(choices.framework)
    if "framework" in parts:
        yield "framework", framework
        yield f"context-{framework}", context
    if "options" in parts:
        yield from _options(place(framework), "framework", registry.framework.get(framework), choices)
        yield from _options(place(framework, context), "context", registry.context.get(context), choices)
    if "model" in parts and choices.model:
        yield "model", choices.model
    if "roles" in parts:
        yield from models.values(choices.roles)
    for part in {"tools", "search", "scholar", "mcp", "folders"} & set(parts):
        yield part, list(getattr(choices, part))
    if "budget" in parts:
        yield from ((f"budget-{cap}", getattr(choices.budget, cap)) for cap in Budget.__struct_fields__)
    for part in {"temperature", "protocol", "recall", "remember"} & set(parts):
        yield part, getattr(choices, part)
    if "language" in parts:
        yield "answer-language", choices.language


def _options(where: str, side: str, entry: Entry[Any], choices: Choices) -> Iterator[tuple[str, Any]]:
    for option in entry.options:
        yield f"{where}.{option.name}", choices.options.get(f"{side}.{option.name}", option.default)


def line(recipe: Recipe) -> str:
    """What is chosen, in Markdown on one line."""
    framework, context = registry.framework.get(recipe.framework), registry.context.get(recipe.context)
    said = [
        t("{framework} with {context}", framework=f"**{plain(t(framework.title))}**", context=plain(t(context.title))),
        t("{model} (offline)", model="extractive") if recipe.model == "extractive" else plain(recipe.model),
        *([t("{roles} with models of their own", roles=count(len(recipe.roles), "role"))] if recipe.roles else []),
        t("tools: {tools}", tools=plain(", ".join(recipe.tools)) or t("none")),
    ]
    shelves = [*recipe.search, *(folder.rpartition("/")[2] for folder in recipe.folders)]
    if "search" in recipe.tools and shelves:
        said.append(t("sources: {sources}", sources=plain(", ".join(shelves))))
    if recipe.mcp:
        said.append(t("MCP: {servers}", servers=plain(", ".join(recipe.mcp))))
    return " · ".join([*said, *memory_choices.told(recipe), caps(recipe.budget)])


def caps(budget: Budget) -> str:
    """How far a run may go, in Markdown."""
    said = limits(budget)
    return t("at most {limits}", limits=said) if said else t("no limit on cost")


def limits(budget: Budget) -> str:
    """Those of a budget, in Markdown; empty where it has none."""
    said = [
        t("{n} tokens", n=short(budget.tokens)) if budget.tokens else "",
        plain(money(budget.usd)) if budget.usd else "",
        _time(budget.seconds) if budget.seconds else "",
        count(budget.tool_calls, "tool call") if budget.tool_calls else "",
    ]
    return ", ".join(filter(None, said))


def expected(bench: Workbench, recipe: Recipe, question: str) -> tuple[str, str]:
    """What the run may take, and what that rests on; Markdown.  Two empty strings where it cannot be known."""
    try:
        found = estimate(recipe, question, models=bench.model)
    except ConfigError:
        return "", ""  # said beside its control, and when the run is started
    if found.usd is None:
        cost = t("cost unknown")
    elif found.usd.high == 0:
        cost = t("free")
    else:
        low, high = money(found.usd.low), money(found.usd.high)
        cost = plain(low if low == high else f"{low}–{high}")
    text = t("Expected: {calls} model calls, {tokens} tokens, {cost}",
             calls=_between(found.calls), tokens=_between(found.tokens), cost=cost)  # fmt: skip
    return text, plain(found.basis)


def gap(missing: Gap) -> str:
    """What a preset goes without, as Markdown."""
    values = {name: t(value) if name == "what" else plain(value) for name, value in missing.values.items()}
    return t(missing.text, **values)


def _between(span: Span) -> str:
    low, high = _about(span.low), _about(span.high)
    return low if low == high else f"{low}–{high}"


def _about(number: float) -> str:
    """Two figures say enough of what is only expected: `820k`."""
    return short(round(float(f"{number:.2g}"))).replace(".0", "")


def _time(seconds: float) -> str:
    return t("{n} min", n=f"{seconds / 60:.0f}") if seconds >= 60 and seconds % 60 == 0 else lasted(seconds)
