"""The rounds of a run: one line each until opened.  Live and replay draw with the same functions."""

from __future__ import annotations

import json
from collections.abc import Sequence

import streamlit as st

from pages.parts import cite
from pages.parts.safe import plain, prose
from pages.parts.words import TOOLS, count, lasted
from research.protocols.tagged import split_reasoning
from research.text import clip, sentences
from research.types import Observation
from research.view import CallView, RoundView, RunView, messages_sent

ICONS = {"search": "search", "visit": "article", "python": "calculate"}


def draw(view: RunView, rounds: Sequence[RoundView], now: float | None = None) -> None:
    """These rounds of the run.  `now`, seconds since the epoch, while it is running: for how long a call is at work."""
    for current in rounds:
        state = "done" if current.done else "open"
        with st.expander(
            _line(current, now),
            expanded=not current.done,
            type="step",
            icon=_icon(current, now),
            key=f"round-{view.run}-{current.agent}-{current.ask}-{state}",
            on_change="rerun",
        ) as opened:
            # A step without content cannot be opened; what is long is drawn once it is.
            st.caption(_spent(current))
            if opened.open:
                _details(view, current)


def _line(current: RoundView, now: float | None) -> str:
    """Number, intent, the calls and what came back."""
    who = "" if current.agent == "main" else f"{plain(current.agent.removeprefix('main/'))} · "
    parts = [f"**{current.number}**  {who}{plain(clip(_intent(current), 100))}"]
    parts += [_call(call, now) for call in current.calls]
    if not current.calls and current.done:
        parts.append(lasted(current.seconds))
    return parts[0] + "".join(f"  :gray[:small[{part}]]" for part in parts[1:])


def _intent(current: RoundView) -> str:
    thinking, body = current.thinking, ""
    if current.reply is None:
        written, body = split_reasoning(current.draft)
        thinking = written or thinking
    first = next(iter(sentences(thinking)), "")
    if first:
        return first
    if current.calls:
        return " and ".join(dict.fromkeys(TOOLS.get(call.call.name, call.call.name) for call in current.calls))
    if current.reply is None:
        return "Writing" if body.strip() else "Asking the model"
    return "Write the answer"


def _call(call: CallView, now: float | None) -> str:
    asked = clip(" ".join(" ".join(map(str, call.call.arguments.values())).split()), 60)
    said = f"{plain(call.call.name)} {plain(asked)}"
    if call.observation is None:
        return f"{said} … {lasted(now - call.started)}" if now else f"{said} · not finished"
    return f"{said} → {_came_back(call.observation)} · {lasted(call.observation.seconds)}"


def _came_back(seen: Observation) -> str:
    if seen.sources and seen.ok:
        return count(len(seen.sources), "source")
    return ("" if seen.ok else "failed: ") + plain(clip(" ".join(seen.text.split()), 60))


def _icon(current: RoundView, now: float | None) -> str:
    if not current.done and now:
        return "spinner"
    if any(call.observation and not call.observation.ok for call in current.calls):
        return ":material/error:"
    name = current.calls[0].call.name if current.calls else ""
    return f":material/{ICONS.get(name, 'build' if name else 'edit_note')}:"


def _spent(current: RoundView) -> str:
    if current.usage is None:
        return f"{plain(current.model)} · about {current.prompt_tokens:,} tokens in"
    about = "about " if current.usage.estimated else ""
    tokens = f"{about}{current.usage.prompt_tokens:,} tokens in, {current.usage.completion_tokens:,} out"
    return f"{plain(current.model)} · {tokens} · {lasted(current.seconds)}"


def _details(view: RunView, current: RoundView) -> None:
    thinking, body = current.thinking, ""
    if current.reply is None:
        written, body = split_reasoning(current.draft)
        thinking = written or thinking
    if thinking:
        st.markdown(prose(thinking))
    if "<tool_call" in body:
        st.caption("Writing the call …")
    for note in current.notes:
        st.caption(f":material/info: {plain(note)}")
    for call in current.calls:
        st.caption(f"**{plain(call.call.name)}** was asked with")
        st.code(json.dumps(call.call.arguments, ensure_ascii=False, indent=1), language="json", wrap_lines=True)
        if call.observation:
            _observation(call.observation)
    if current.done and st.toggle("Messages as sent", key=f"sent-{view.run}-{current.agent}-{current.ask}"):
        for message in messages_sent(view, current.agent, current.ask):
            st.caption(message.role)
            _verbatim(message.content)


def _observation(seen: Observation) -> None:
    again = " (from the cache)" if seen.cached else ""
    st.caption(f"and {'answered' if seen.ok else 'failed'} after {lasted(seen.seconds)}{again}")
    _verbatim(seen.text)
    if seen.sources:
        with st.container(horizontal=True, gap="xsmall"):
            for source in seen.sources:
                cite.chip(source)


def _verbatim(text: str) -> None:
    st.code(text, language=None, wrap_lines=True, height=200 if len(text) > 400 else "content")
