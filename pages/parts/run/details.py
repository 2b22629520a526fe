"""An opened round: reasoning, tool calls with their results, and the full prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import msgspec
import streamlit as st

from pages.parts.shared import cite, home
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain, prose
from pages.parts.shared.words import count, lasted
from research.events.events import Asked
from research.events.rounds import RoundView
from research.events.view import RunView, messages_sent
from research.protocols.tagged import split_reasoning
from research.text import clip
from research.types import Message, Observation

CALLS = 8
"""Maximum number of calls drawn per round."""
LONG = 20_000
"""Maximum characters of a text; the messages file and the run export contain all of it."""
TAIL = 700
"""Characters shown of text being written, from its end."""
CODE = {"code": "python", "sql": "sql"}
"""Language of an argument that is code, by its name."""
CARET = "▍"
"""Marks where the next words will appear."""
_TAGGED = re.compile(r"<(tool_call|answer|report)\b.*?(?:</\1>|\Z)", re.S)
"""Calls, answers and reports in a reply that writes them as tags."""
MESSAGES = 20
"""Messages drawn of a request, from its end."""


def beside(current: RoundView) -> str:
    """Return the words that a model wrote beside its calls, which announce them."""
    if current.reply is None or not current.reply.calls:
        return ""
    _, body = split_reasoning(current.reply.text)
    return _TAGGED.sub("", body).strip()


def thought(current: RoundView) -> tuple[str, str]:
    """Return the model's reasoning with its words beside calls, and its other text, so far."""
    if current.reply is not None:
        return "\n\n".join(dict.fromkeys(filter(None, [current.thinking, beside(current)]))), ""
    thinking, body = split_reasoning(current.draft)
    return thinking or current.thinking, body


def end_of(text: str, limit: int) -> str:
    """Return the end of a text, from the first sentence that begins there, or else the first word."""
    if len(text) <= limit:
        return text
    cut = text[-limit:]
    begins = re.search(r"[.!?]\s+|[。！？\n]", cut[: limit // 2]) or re.search(r"\s", cut)
    return f"… {cut[begins.end() :].lstrip()}" if begins else f"…{cut}"


def unfinished(current: RoundView) -> None:
    """Draw the latest words of a round in progress; its name says what it calls."""
    thinking, body = thought(current)
    if thinking:
        shown = prose(end_of(thinking, TAIL))
        if current.reply is None and not body.strip():
            # nothing can follow the last line of code, a table or a formula
            shown += ("\n\n" if shown.endswith(("```", "|", "$$")) else " ") + CARET
        st.markdown(shown)
    if "<tool_call" in body:
        st.caption(t("Writing a tool call …"))
    for note in current.notes[-3:]:
        st.caption(f":material/info: {plain(clip(spoken(note), TAIL))}")


def draw(view: RunView, current: RoundView) -> None:
    """Draw a round that has ended or was interrupted."""
    thinking, _ = thought(current)
    if thinking:
        st.markdown(prose(clip(thinking, LONG)))
    for note in current.notes:
        st.caption(f":material/info: {plain(clip(spoken(note), TAIL))}")
    for call in current.calls[:CALLS]:
        st.caption(t("**{tool}** · input", tool=plain(call.call.name)))
        _arguments(call.call.arguments)
        if call.observation:
            _observation(call.observation)
    if left := max(0, len(current.calls) - CALLS):
        st.caption(t("{calls} more in the run's export.", calls=count(left, "call")))
    if current.ask and st.toggle(t("Full prompt"), key=f"sent-{view.run}-{current.agent}-{current.ask}"):
        _exchange(view, current)


def _observation(seen: Observation) -> None:
    took = lasted(seen.seconds)
    if seen.edited:
        st.caption(t(":material/edit: Result · **edited by you** before this run continued"))
    elif seen.cached:
        st.caption(t("Result · from the cache"))
    elif seen.ok:
        st.caption(t("Result · {time}", time=took))
    else:
        st.caption(t("Failed · {time}", time=took))
    _verbatim(seen.text)
    if seen.sources:
        with st.container(horizontal=True, gap="xsmall"):
            for source in seen.sources[:MESSAGES]:
                cite.chip(source)


def _exchange(view: RunView, current: RoundView) -> None:
    """Draw the request as sent and the reply as received."""
    sent = messages_sent(view, current.agent, current.ask)
    kept = min(current.sent[-1][0], len(sent)) if current.sent else 0
    total = count(len(sent), "message")
    st.caption(
        t("{messages}; the first {kept} are unchanged from the previous request", messages=total, kept=kept)
        if kept
        else total,
    )
    offered = _offered(view.run, current)
    if offered:
        st.caption(t("Tools offered: {names}", names=plain(", ".join(offered))))
    else:
        st.caption(t("No tools offered."))
    if hidden := max(0, len(sent) - MESSAGES):
        st.caption(t("The first {messages} are only in the file below.", messages=count(hidden, "message")))
    for number, message in enumerate(sent[hidden:], hidden + 1):
        _message(number, message)
    if current.reply:
        st.caption(t("Reply, as added to the conversation"))
        _verbatim(current.reply.text)
        for call in current.reply.calls[:CALLS]:
            st.caption(plain(call.name))
            _arguments(call.arguments)
    st.download_button(
        t("All messages as JSON"),
        lambda: msgspec.json.format(msgspec.json.encode(sent), indent=1),
        f"{view.run}-{current.agent.replace('/', '-')}-{current.ask}.json",
        "application/json",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        key=f"messages-{view.run}-{current.agent}-{current.ask}",
    )


def _offered(run: str, current: RoundView) -> tuple[str, ...]:
    """Return the tools offered in the round's last request, read from its events."""
    requests = (event for event in reversed(home.reading(run)()) if isinstance(event, Asked))
    return next((each.tools for each in requests if (each.agent, each.ask) == (current.agent, current.ask)), ())


def _message(number: int, message: Message) -> None:
    role, size = plain(message.role), count(len(message.content), "character")
    st.caption(t("{number} · **{role}** · {size}", number=number, role=role, size=size))
    if message.content or not message.calls:
        _verbatim(message.content)
    for call in message.calls[:CALLS]:
        st.caption(plain(call.name))
        _arguments(call.arguments)


def _arguments(arguments: Mapping[str, object]) -> None:
    """Draw the arguments of a call: code as code, because JSON escapes its lines, and the others as JSON."""
    code = {name: text for name, text in arguments.items() if name in CODE and isinstance(text, str)}
    if rest := {name: value for name, value in arguments.items() if name not in code}:
        _verbatim(json.dumps(rest, ensure_ascii=False, indent=1), "json")
    for name, text in code.items():
        _verbatim(text, CODE[name])


def _verbatim(text: str, language: str | None = None) -> None:
    st.code(text[:LONG], language=language, wrap_lines=True, height=260 if len(text) > 600 else "content")
    if len(text) > LONG:
        shown, total = f"{LONG:,}", f"{len(text):,}"
        st.caption(t("The first {shown} of {total} characters.", shown=shown, total=total))
