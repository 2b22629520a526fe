"""The options of a run, drawn from the registry: defaults, bounds and help stand in the signatures and nowhere else."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from pages.parts import folders, models
from pages.parts.safe import plain
from research import cells, registry
from research.errors import ConfigError
from research.recipe import Budget
from research.registry import Entry, Option
from research.workbench import ALL_TOOLS, SEARCHERS, TOOLS, Workbench

KEEP: Final = "session"
"""Choices survive a visit to another page."""


def options(bench: Workbench) -> dict[str, Any]:
    """Draw the choices; returns the arguments of `Workbench.recipe`."""
    left, middle, right = st.columns(3, gap="medium")
    with left:
        framework, given = _entry("framework", "Framework", registry.framework, "react")
        context, more = _entry(
            f"context-{framework}",
            "Context strategy",
            registry.context,
            cells.default_context(framework),
            side="context",
        )
        refusal = cells.refusal(framework, context)
        st.caption(f"Not possible: {refusal}." if refusal else f"The strategy {cells.NOTES[framework]}.")
    with middle:
        model, roles = models.pick(bench)
        tools = st.pills(
            "Tools", ALL_TOOLS, selection_mode="multi", default=TOOLS, key="tools", persist_state=KEEP,
            help="What the model may call.",
        )  # fmt: skip
        search = st.pills(
            "Search in", bench.sources(), selection_mode="multi", default=SEARCHERS, key="search", persist_state=KEEP,
            help="`web` asks every web service that is set up, DuckDuckGo without any. The library needs no network.",
        )  # fmt: skip
        servers = _servers(bench)
        chosen = folders.pick(bench)
    with right:
        budget = _budget()
    return {
        "framework": framework, "context": context, "options": given | more, "model": model, "roles": roles,
        "tools": tuple(tools), "search": tuple(search), "mcp": servers, "folders": chosen, "budget": budget,
    }  # fmt: skip


def _servers(bench: Workbench) -> tuple[str, ...]:
    """MCP servers of the configuration file; nothing is drawn where there is none."""
    try:
        known = bench.mcp.configured()
    except ConfigError as error:
        st.warning(plain(str(error)), title="No MCP server can be used")
        return ()
    if not known:
        return ()
    chosen = st.pills(
        "MCP servers", [name for name, _ in known], selection_mode="multi", key="mcp", persist_state=KEEP,
        help="Servers of mcp.json, whose tools the model may then call.",
    )  # fmt: skip
    for name, how in known:
        if name in chosen:
            st.caption(f"{plain(name)}: {plain(how)}")  # the exact command, before it is started
    return tuple(chosen)


def _entry(
    key: str, label: str, known: registry.Registry[Any], default: str, side: str = "framework"
) -> tuple[str, dict[str, Any]]:
    entries: dict[str, Entry[Any]] = {entry.id: entry for entry in known.all()}
    name = st.selectbox(
        label, list(entries), index=list(entries).index(default), key=key, persist_state=KEEP,
        format_func=lambda each: entries[each].title,
    )  # fmt: skip
    st.caption(plain(entries[name].summary))
    drawn = {option.name: (option, _option(f"{key}.{name}.{option.name}", option)) for option in entries[name].options}
    # Only what was changed: a recipe says what was chosen, not what was left alone.
    return name, {f"{side}.{which}": value for which, (option, value) in drawn.items() if value != option.default}


def _option(key: str, option: Option) -> Any:
    label = plain(option.name.replace("_", " ").capitalize())
    shared: dict[str, Any] = {"key": key, "help": plain(option.help) or None, "persist_state": KEEP}
    match option.kind:
        case "choice":
            return st.selectbox(label, option.choices, index=option.choices.index(option.default), **shared)
        case "bool":
            return st.toggle(label, option.default, **shared)
        case "str":
            return st.text_input(label, option.default, **shared)
        case "int" | "float":
            kind = int if option.kind == "int" else float
            low, high = (None if bound is None else kind(bound) for bound in (option.minimum, option.maximum))
            return st.number_input(label, low, high, kind(option.default), **shared)


def _budget() -> Budget:
    def limit(label: str, key: str, least: float, help_text: str) -> Any:
        return st.number_input(
            label, min_value=least, value=None, key=key, placeholder="no limit", help=help_text, persist_state=KEEP
        )

    return Budget(
        tokens=limit("Tokens at most", "budget-tokens", 1, "Prompt and completion together, of all calls."),
        seconds=limit("Seconds at most", "budget-seconds", 1.0, "From the start of the run."),
        usd=limit("US dollars at most", "budget-usd", 0.01, "Only counts where the price of the model is known."),
    )
