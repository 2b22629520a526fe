"""The options of a run, drawn from the registry: defaults, bounds and help stand in the signatures and nowhere else."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from pages.parts import cards, choices, folders, memory_choices, models
from pages.parts.language import later, t
from pages.parts.safe import plain
from research import registry
from research.errors import REFUSED
from research.recipe import Budget, Recipe
from research.registry import Entry, Option
from research.search.web import scholars, services
from research.workbench import ALL_TOOLS, SEARCHERS, TOOLS, Workbench

KEEP: Final = "session"
"""Choices survive a visit to another page."""
LANGUAGES: Final = {"auto": later("as the question"), "en": later("English"), "zh": later("Chinese")}
PROTOCOLS: Final = {
    "auto": later("as the model can"), "native": later("the provider's own calls"), "tagged": later("tags in the text"),
}  # fmt: skip


def options(bench: Workbench) -> dict[str, Any]:
    """Draw the choices; returns the arguments of `Workbench.recipe`."""
    framework, context = cards.pair()
    left, middle, right = st.columns(3, gap="medium")
    with left:
        given = entry(choices.place(framework), registry.framework.get(framework), "framework")
        more = entry(choices.place(framework, context), registry.context.get(context), "context")
    with middle:
        model, roles = models.pick(bench)
        tools = _several(
            "tools", t("Tools"), ALL_TOOLS, TOOLS,
            t("What the model may call. `recall` asks the memory; what it gives is sent to the model."),
        )  # fmt: skip
        scholar: tuple[str, ...] = Recipe().scholar
        if "scholar" in tools:
            scholar = _several(
                "scholar", t("Papers from"), scholars(bench.settings), scholar, t("Asked over the network.")
            )
            if not scholar:
                wrong(t("The tool scholar has no service to ask: choose one, or leave the tool out."))
            _set_up(bench, scholar)
        search: tuple[str, ...] = ()
        if "search" in tools:
            search = _several(
                "search", t("Search in"), bench.sources(), SEARCHERS,
                t("`web` asks every web service that is set up, DuckDuckGo without any. The library needs no network."),
            )  # fmt: skip
            if not search:
                wrong(t("The tool search has nowhere to look: choose a source, or leave the tool out."))
            _set_up(bench, search)
        servers = _servers(bench)
        chosen = folders.pick(bench) if "library" in search else ()
    with right:
        limits = budget()
        memory = memory_choices.draw()
        rest = _rest()
    return {
        "framework": framework, "context": context, "options": given | more, "model": model, "roles": roles,
        "tools": tools, "search": search, "scholar": scholar, "mcp": servers, "folders": chosen, "budget": limits, **memory,
        **rest,
    }  # fmt: skip


def wrong(text: str) -> None:
    """Says beside a control what is wrong with what was chosen there; Markdown."""
    st.session_state["options-wrong"] = True
    st.markdown(f":red[:material/error: {text}]")


def entry(key: str, known: Entry[Any], side: str) -> dict[str, Any]:
    """The options of a framework or strategy, only those that were changed: a recipe says what was chosen."""
    if known.options:
        st.caption(t("Options of {name}", name=plain(t(known.title))))
    drawn = {each.name: (each, option(f"{key}.{each.name}", each)) for each in known.options}
    return {f"{side}.{name}": value for name, (each, value) in drawn.items() if value != each.default}


def option(key: str, each: Option) -> Any:
    """The widget of one option."""
    st.session_state.setdefault(key, each.default)
    label = plain(t(each.name.replace("_", " ").capitalize()))
    shared: dict[str, Any] = {"key": key, "help": plain(t(each.help)) if each.help else None, "persist_state": KEEP}
    match each.kind:
        case "choice":
            return st.selectbox(label, each.choices, **shared)
        case "bool":
            return st.toggle(label, **shared)
        case "str":
            return st.text_input(label, **shared)
        case "int" | "float":
            kind = int if each.kind == "int" else float
            low, high = (None if bound is None else kind(bound) for bound in (each.minimum, each.maximum))
            st.session_state[key] = kind(each.default if st.session_state[key] is None else st.session_state[key])
            return st.number_input(label, low, high, **shared)


def budget(key: str = "budget") -> Budget:
    """The four caps, each empty at first."""

    def cap(name: str, label: str, least: float, help_text: str) -> Any:
        return st.number_input(
            label, min_value=least, value=None, key=f"{key}-{name}", placeholder=t("no limit"), help=help_text,
            persist_state=KEEP, format="%d" if isinstance(least, int) else "%g",
        )  # fmt: skip

    return Budget(
        tokens=cap("tokens", t("Tokens at most"), 1, t("Prompt and completion together, of all calls.")),
        usd=cap("usd", t("US dollars at most"), 0.0001, t("Only counts where the price of the model is known.")),
        seconds=cap("seconds", t("Seconds at most"), 0.1, t("From the start of the run.")),
        tool_calls=cap("tool_calls", t("Tool calls at most"), 1, t("Of the run and all its agents together.")),
    )


def _rest() -> dict[str, Any]:
    state = st.session_state
    with st.expander(t("Language and sampling"), type="compact", icon=":material/tune:"):
        temperature = st.number_input(
            t("Temperature"), 0.0, 2.0, None, 0.1, key="temperature", placeholder=t("the provider's"), persist_state=KEEP,
            help=t("Low: the likeliest words. High: more varied ones."),
        )  # fmt: skip
        state.setdefault("answer-language", "auto")
        language = st.selectbox(
            t("Language of the answer"), list(LANGUAGES), key="answer-language", persist_state=KEEP,
            format_func=lambda each: t(LANGUAGES[each]),
        )  # fmt: skip
        state.setdefault("protocol", "auto")
        protocol = st.selectbox(
            t("How calls travel"), list(PROTOCOLS), key="protocol", persist_state=KEEP,
            format_func=lambda each: t(PROTOCOLS[each]),
        )  # fmt: skip
    return {"temperature": temperature, "language": language, "protocol": protocol}


def _several(key: str, label: str, known: Any, default: Any, help_text: str) -> tuple[str, ...]:
    st.session_state.setdefault(key, list(default))
    chosen = st.pills(
        label, list(known), selection_mode="multi", key=key, persist_state=KEEP, help=help_text, wrap=True
    )
    return tuple(chosen)


def _set_up(bench: Workbench, names: tuple[str, ...]) -> None:
    """Names the setting that a chosen service lacks."""
    for name in names:
        if name not in (*SEARCHERS, "web"):
            try:
                services([name], bench.settings)
            except REFUSED as error:
                wrong(plain(str(error)))


def _servers(bench: Workbench) -> tuple[str, ...]:
    """MCP servers of the configuration file; nothing is drawn where there is none."""
    try:
        known = bench.mcp.configured()
    except REFUSED as error:
        st.warning(plain(str(error)), title=t("No MCP server can be used"))
        return ()
    if not known:
        return ()
    chosen = _several(
        "mcp", t("MCP servers"), [name for name, _ in known], (),
        t("Servers of mcp.json, whose tools the model may then call."),
    )  # fmt: skip
    for name, how in known:
        if name in chosen:
            st.caption(f"{plain(name)}: {plain(how)}")  # the exact command, before it is started
    return chosen
