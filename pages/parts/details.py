"""One round, opened: what was thought, asked and seen, and the messages exactly as they were sent."""

from __future__ import annotations

import json

import msgspec
import streamlit as st

from pages.parts import cite, home
from pages.parts.language import t
from pages.parts.safe import plain, prose
from pages.parts.words import count, lasted
from research.events import Asked
from research.protocols.tagged import split_reasoning
from research.text import clip
from research.types import Message, Observation
from research.view import RoundView, RunView, messages_sent

CALLS = 8
"""Calls of a round that are drawn."""
LONG = 20_000
"""Characters of a text that are drawn; all of it stands in the file of the messages, and in the export of the run."""
TAIL = 1_500
"""Characters of what is being written: the latest."""
MESSAGES = 20
"""Messages of a request that are drawn: the latest."""


def thought(current: RoundView) -> tuple[str, str]:
    """What the model thinks and what else it writes, as far as it is written."""
    if current.reply is not None:
        return current.thinking, ""
    thinking, body = split_reasoning(current.draft)
    return thinking or current.thinking, body


def unfinished(current: RoundView) -> None:
    """A round that is at work: the latest words, and what is called."""
    thinking, body = thought(current)
    if thinking:
        st.markdown(prose(thinking[-TAIL:]))
    if "<tool_call" in body:
        st.caption(t("Writing the call …"))
    for note in current.notes[-3:]:
        st.caption(f":material/info: {plain(clip(note, TAIL))}")
    for call in current.calls[:CALLS]:
        st.code(clip(json.dumps(call.call.arguments, ensure_ascii=False), TAIL), language="json", wrap_lines=True)


def draw(view: RunView, current: RoundView) -> None:
    """A round that is over, or was when the run broke off."""
    thinking, _ = thought(current)
    if thinking:
        st.markdown(prose(clip(thinking, LONG)))
    for note in current.notes:
        st.caption(f":material/info: {plain(clip(note, TAIL))}")
    for call in current.calls[:CALLS]:
        st.caption(t("**{tool}** was asked with", tool=plain(call.call.name)))
        _verbatim(json.dumps(call.call.arguments, ensure_ascii=False, indent=1), "json")
        if call.observation:
            _observation(call.observation)
    if left := max(0, len(current.calls) - CALLS):
        st.caption(t("{calls} more are in the export of the run.", calls=count(left, "call")))
    if current.ask and st.toggle(t("Messages as sent"), key=f"sent-{view.run}-{current.agent}-{current.ask}"):
        _exchange(view, current)


def _observation(seen: Observation) -> None:
    took = lasted(seen.seconds)
    if seen.edited:
        st.caption(t(":material/edit: and **edited by you** before this run went on"))
    elif seen.cached:
        st.caption(t("and answered from the cache"))
    elif seen.ok:
        st.caption(t("and answered after {time}", time=took))
    else:
        st.caption(t("and failed after {time}", time=took))
    _verbatim(seen.text)
    if seen.sources:
        with st.container(horizontal=True, gap="xsmall"):
            for source in seen.sources[:MESSAGES]:
                cite.chip(source)


def _exchange(view: RunView, current: RoundView) -> None:
    """The request as it went out, and the reply as it came back."""
    sent = messages_sent(view, current.agent, current.ask)
    kept = min(current.sent[-1][0], len(sent)) if current.sent else 0
    told = count(len(sent), "message")
    st.caption(
        t("{messages}, the first {kept} as in the request before", messages=told, kept=kept) if kept else told,
    )
    offered = _offered(view.run, current)
    if offered:
        st.caption(t("Tools offered: {names}", names=plain(", ".join(offered))))
    else:
        st.caption(t("No tools were offered."))
    if hidden := max(0, len(sent) - MESSAGES):
        st.caption(t("The first {messages} are in the file below.", messages=count(hidden, "message")))
    for number, message in enumerate(sent[hidden:], hidden + 1):
        _message(number, message)
    if current.reply:
        st.caption(t("Reply, as it goes back into the conversation"))
        _verbatim(current.reply.text)
        for call in current.reply.calls[:CALLS]:
            _verbatim(f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}", "json")
    st.download_button(
        t("All messages as JSON"), lambda: msgspec.json.format(msgspec.json.encode(sent), indent=1),
        f"{view.run}-{current.agent.replace('/', '-')}-{current.ask}.json", "application/json",
        icon=":material/download:", type="tertiary", on_click="ignore",
        key=f"messages-{view.run}-{current.agent}-{current.ask}",
    )  # fmt: skip


def _offered(run: str, current: RoundView) -> tuple[str, ...]:
    """The tools that the last request of a round offered; read from the events, where they stand."""
    asked = (event for event in reversed(home.reading(run)()) if isinstance(event, Asked))
    return next((each.tools for each in asked if (each.agent, each.ask) == (current.agent, current.ask)), ())


def _message(number: int, message: Message) -> None:
    role, size = plain(message.role), count(len(message.content), "character")
    st.caption(t("{number} · **{role}** · {size}", number=number, role=role, size=size))
    if message.content or not message.calls:
        _verbatim(message.content)
    for call in message.calls[:CALLS]:
        _verbatim(f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}", "json")


def _verbatim(text: str, language: str | None = None) -> None:
    st.code(text[:LONG], language=language, wrap_lines=True, height=260 if len(text) > 600 else "content")
    if len(text) > LONG:
        shown, total = f"{LONG:,}", f"{len(text):,}"
        st.caption(t("The first {shown} of {total} characters.", shown=shown, total=total))
