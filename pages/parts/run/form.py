"""The options of a run.

Defaults, bounds and help come from the signatures in the plugin registry.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts.run import cards, choices, memory_choices, shelf, tool_chips
from pages.parts.shared import form_state, models
from pages.parts.shared.language import later, spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import JUDGES
from research import plugins
from research._util.options import Option
from research.errors import REFUSED
from research.events.recipe import FOLDERS, LIBRARY, Budget, Recipe
from research.plugins import Entry
from research.search.web import scholars, services
from research.workbench.workbench import Workbench

FIRST_COPIES: Final = datetime.date(1996, 1, 1)
"""The archive goes back no further."""
KEEP: Final = "session"
"""Choices survive a visit to another page."""
LANGUAGES: Final = {"auto": later("same as the question"), "en": later("English"), "zh": later("Chinese")}
EGRESS: Final = {
    "": later("as you said for private documents"),
    "open": later("everything that the run needs"),
    "private": later("nothing, once a private source is used"),
    "offline": later("nothing at all"),
}
PROTOCOLS: Final = {
    "auto": later("automatic"),
    "native": later("provider's native calls"),
    "tagged": later("tags in the text"),
}


def options(bench: Workbench, sources_above: DeltaGenerator, plan_above: DeltaGenerator) -> dict[str, Any]:
    """Draw the options, sources and the plan's switch in their places above; return the arguments of `Workbench.recipe`."""
    left, middle, right = st.columns(3, gap="medium")
    framework, context = cards.pair()
    st.caption(t("Fine tuning, rarely needed"))
    fine_left, fine_middle, fine_right = st.columns(3, gap="medium")
    with fine_left:
        given = entry(choices.place(framework), plugins.framework.get(framework), "framework")
        more = entry(choices.place(framework, context), plugins.context.get(context), "context")
    with left:
        model, roles = models.pick(bench, fine_middle)
    with middle:
        tools, scholar = _tools(bench)
        servers = _servers(bench)
    with sources_above:
        reads = bool({"search", "query"} & set(tools))
        sources = shelf.pick(bench, "ask", searching=reads)
        searched = sources["search"] if "search" in tools else ()
        if reads and not searched:
            searched = tuple(name for name in sources["search"] if name in (LIBRARY, FOLDERS))
        _set_up(bench, sources["search"] if "search" in tools else ())
    with right:
        limits = budget()
    with left:
        memory = memory_choices.draw()
    with fine_middle:
        rest = {"judge": _judge(bench), "novelty": _novelty()}
    with fine_right:
        rest |= {"egress": _egress(), "as_of": _as_of(bench)} | _rest()
    with plan_above:
        plan = _plan()
    return {
        "framework": framework,
        "context": context,
        "options": given | more,
        "model": model,
        "roles": roles,
        "tools": tools,
        "search": searched,
        "scholar": scholar,
        "mcp": servers,
        "folders": sources["folders"] if reads else (),
        "budget": limits,
        "plan": plan,
        **memory,
        **rest,
    }


def _tools(bench: Workbench) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Draw the tools, and the services of the one for papers."""
    tools = tool_chips.pick(bench)
    scholar: tuple[str, ...] = Recipe().scholar
    if "scholar" in tools:
        scholar = _several("scholar", t("Papers from"), scholars(), scholar, t("Searched over the network."))
        if not scholar:
            wrong(t("The scholar tool has no service to search: choose one, or turn the tool off."))
        _set_up(bench, scholar)
    return tools, scholar


def wrong(text: str) -> None:
    """Draw an error next to the control it concerns; takes Markdown."""
    st.session_state["options-wrong"] = True
    st.markdown(f":red[:material/error: {text}]")


def entry(place: str, known: Entry, side: str) -> dict[str, Any]:
    """Draw the options of a framework or strategy and return those that differ from their defaults.

    `place` prefixes their names in the session.
    """
    if known.options:
        st.caption(t("Options of {name}", name=plain(t(known.title))))
    drawn = {each.name: (each, option(f"{place}.{each.name}", each)) for each in known.options}
    return {f"{side}.{name}": value for name, (each, value) in drawn.items() if value != each.default}


def option(name: str, each: Option) -> Any:
    """Draw the widget of one option, with that name in the session."""
    key = form_state.key(name)
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
            number = st.session_state[key]
            if not isinstance(number, kind):  # emptied by the user, or an int for a float
                st.session_state[key] = kind(each.default if number is None else number)
            return st.number_input(label, low, high, **shared)


def budget(place: str = "budget") -> Budget:
    """Draw the four limits, each empty at first; `place` prefixes their names in the session."""

    def cap(name: str, label: str, least: float, help_text: str) -> Any:
        return st.number_input(
            label,
            min_value=least,
            value=None,
            key=form_state.key(f"{place}-{name}"),
            placeholder=t("no limit"),
            help=help_text,
            persist_state=KEEP,
            format="%d" if isinstance(least, int) else "%g",
        )

    return Budget(
        tokens=cap(
            "tokens", t("Token limit"), 1, t("What the model may read and write in all; a token is about four letters.")
        ),
        usd=cap("usd", t("Cost limit (US dollars)"), 0.0001, t("Only applies if the model's price is known.")),
        seconds=cap("seconds", t("Time limit (seconds)"), 0.1, t("Measured from the start of the run.")),
        tool_calls=cap(
            "tool_calls", t("Tool call limit"), 1, t("How many searches, pages and calculations the run may make.")
        ),
    )


def _egress() -> str:
    about = t("Where nothing may leave, only models and tools on this machine are used.")
    return _choice("egress", t("What may leave this machine"), EGRESS, "", about)


def _choice(name: str, label: str, titles: Mapping[str, str], default: str, help_text: str | None = None) -> str:
    key = form_state.key(name)
    st.session_state.setdefault(key, default)
    return st.selectbox(
        label, list(titles), key=key, persist_state=KEEP, format_func=lambda each: t(titles[each]), help=help_text
    )


def _switch(name: str, label: str, default: bool, help_text: str) -> bool:
    key = form_state.key(name)
    st.session_state.setdefault(key, default)
    return st.toggle(label, key=key, persist_state=KEEP, help=help_text)


def _as_of(bench: Workbench) -> str:
    """Draw the day for which pages are read, if an archive is set up."""
    if not bench.settings.archive_url:
        return ""
    key = form_state.key("as-of")
    chosen = st.date_input(
        t("Read pages as of"),
        value=None,
        key=key,
        persist_state=KEEP,
        max_value="today",
        min_value=FIRST_COPIES,
        help=t("Web pages are read from the archive as they were on that day. Search results are those of today."),
    )
    return f"{chosen:%Y-%m-%d}" if chosen else ""


def _rest() -> dict[str, Any]:
    with st.expander(t("Language and sampling"), type="compact", icon=":material/tune:", key="language-and-sampling"):
        temperature = st.number_input(
            t("Temperature"),
            0.0,
            2.0,
            None,
            0.1,
            key=form_state.key("temperature"),
            placeholder=t("provider's default"),
            persist_state=KEEP,
            help=t("Low values give predictable words, high values more varied ones."),
        )
        language = _choice("answer-language", t("Answer language"), LANGUAGES, "auto")
        about = t("Automatic suits nearly every model; `tags` help where a server has no tools.")
        protocol = _choice("protocol", t("Tool call format"), PROTOCOLS, "auto", about)
        about = t("The agent may ask you for a missing detail. Otherwise it assumes the likeliest meaning and says so.")
        ask = _switch("ask", t("May ask you"), True, about)
    return {"temperature": temperature, "language": language, "protocol": protocol, "ask": ask}


def _judge(bench: Workbench) -> str:
    """Draw the switch of the judge; a repeated run may have named one."""
    key = form_state.key("citation-judge")
    judge: str = st.session_state.setdefault(key, bench.settings.judge)
    if judge == "auto":  # the default in earlier versions
        judge = st.session_state[key] = "uncertain"
    return st.selectbox(
        t("Judge of citations"),
        list(dict.fromkeys([*JUDGES, judge])),
        key=key,
        persist_state=KEEP,
        format_func=lambda each: t(JUDGES[each]) if each in JUDGES else plain(each),
        help=t("A language model may read statements beside the passages that they cite, after fixed rules did."),
    )


def _novelty() -> bool:
    """Draw the switch that ends runs which find nothing new."""
    about = t("Ends a run that only repeats what it has seen, with the best answer from what is known.")
    return _switch("novelty", t("Stop when nothing new is found"), True, about)


def _plan() -> str:
    """Draw the switch that lets the user approve the plan first."""
    about = t("The run lists what it intends to find out and what that may cost, and starts when you approve the list.")
    return "approve" if _switch("plan-first", t("Show me the plan first"), False, about) else ""


def _several(name: str, label: str, known: Any, default: Any, help_text: str) -> tuple[str, ...]:
    key = form_state.key(name)
    st.session_state.setdefault(key, list(default))
    chosen = st.pills(
        label,
        list(known),
        selection_mode="multi",
        key=key,
        persist_state=KEEP,
        help=help_text,
        wrap=True,
    )
    return tuple(chosen)


def _set_up(bench: Workbench, names: tuple[str, ...]) -> None:
    """Show which setting a chosen service lacks."""
    for name in names:
        if name not in (FOLDERS, LIBRARY, "web"):
            try:
                services([name], bench.settings)
            except REFUSED as error:
                wrong(plain(spoken(error)))


def _servers(bench: Workbench) -> tuple[str, ...]:
    """Draw the MCP servers of the configuration file, if there are any."""
    try:
        known = bench.mcp.configured()
    except REFUSED as error:
        st.warning(plain(spoken(error)), title=t("MCP servers are unavailable"))
        return ()
    if not known:
        return ()
    chosen = _several(
        "mcp",
        t("MCP servers"),
        [name for name, _ in known],
        (),
        t("Servers in mcp.json whose tools the model may call."),
    )
    for name, how in known:
        if name in chosen:
            st.caption(f"{plain(name)}: {plain(how)}")  # show the exact command before it is started
    return chosen
