"""The rounds of a run, one line each until opened; live and replay share these functions."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts.run import details
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import BESIDE, ICONS, PURPOSES, TOOLS, count, lasted
from research.events.branches import PROPOSE, VERIFY
from research.events.rounds import CallView, RoundView
from research.events.view import RunView
from research.text import as_words, clip, sentences
from research.types import Observation

PAGE = 25
"""Maximum number of rounds drawn at once."""
LATEST = 8
"""Finished rounds shown above active ones, so that both are visible."""


def follows(run: str) -> bool:
    """Return whether the latest rounds are shown rather than an earlier page."""
    return st.session_state.get(_place(run)) is None


@st.fragment
def draw(view: RunView, rounds: Sequence[RoundView], live: bool = False) -> None:
    """Draw a page of these rounds, at first the latest.

    Opening one reruns only this fragment.
    """
    chosen = st.session_state.get(_place(view.run))
    end = min(len(rounds), chosen or len(rounds))
    start = max(0, end - (LATEST if live and chosen is None else PAGE))
    if len(rounds) > (LATEST if live else PAGE):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="rounds-head"):
            _pages(view.run, start, end, [each.purpose not in BESIDE for each in rounds])
    for current in rounds[start:end]:
        _step(view, current)


def at_work(view: RunView, rounds: Sequence[RoundView], now: float) -> None:
    """Draw the newest rounds at time `now`, in seconds since the epoch.

    Kept short because every tick redraws it.
    """
    for current in rounds[-PAGE:]:
        with st.expander(
            _line(current, now),
            expanded=not current.done,
            type="step",
            icon=_icon(current) if current.done else "spinner",
            key=f"open-{view.run}-{current.agent}-{current.ask}",
        ):
            st.caption(_spent(current))
            if not current.done:
                details.unfinished(current)


def _step(view: RunView, current: RoundView) -> None:
    with st.expander(
        _line(current, None),
        type="step",
        icon=_icon(current),
        key=f"round-{view.run}-{current.agent}-{current.ask}",
        on_change="rerun",
    ) as opened:
        # A step needs content to be openable; long content is drawn once it is open.
        st.caption(_spent(current))
        if opened.open:
            details.draw(view, current)


def _pages(run: str, start: int, end: int, numbered: Sequence[bool]) -> None:
    """Draw which rounds are shown, and what turns the page; `numbered` says of each step whether it counts as a round."""
    place, total = _place(run), len(numbered)

    def turn(to: int) -> None:
        st.session_state[place] = None if to >= total else max(PAGE, to)

    last = sum(numbered[:end])
    first = min(sum(numbered[:start]) + 1, last)
    st.caption(t("Rounds {first} to {last} of {total}", first=first, last=last, total=sum(numbered)))
    st.button(
        t("Earlier"),
        key="rounds-earlier",
        icon=":material/expand_less:",
        type="tertiary",
        disabled=start == 0,
        on_click=turn,
        args=(start,),
    )
    st.button(
        t("Later"),
        key="rounds-later",
        icon=":material/expand_more:",
        type="tertiary",
        disabled=end == total,
        on_click=turn,
        args=(end + PAGE,),
    )


def _place(run: str) -> str:
    return f"rounds-until-{run}"


def _line(current: RoundView, now: float | None) -> str:
    """Return the number and intent of a round, then a line for each call and its result."""
    who = "" if current.agent == "main" else f"{plain(current.agent.removeprefix('main/'))} · "
    head = f"**{current.number}**  {who}{plain(clip(_intent(current, now), 100))}"
    if current.purpose in BESIDE:
        head = f"{'' if current.purpose == VERIFY else who}{t(PURPOSES[current.purpose])}"
    if current.asked and not current.calls:
        said = [plain(clip(" ".join(each.split()), 60)) for each in (current.asked, current.replied) if each]
        return f"{head}  \n:gray[:small[{' → '.join(said)}]]"
    if not current.calls:
        return f"{head}  :gray[:small[{lasted(current.seconds)}]]" if current.done else head
    lines = [_call(call, now) for call in current.calls[: details.CALLS]]
    if (left := len(current.calls) - details.CALLS) > 0:
        lines.append(t("and {calls} more", calls=count(left, "call")))
    return "  \n".join([head, *(f":gray[:small[{line}]]" for line in lines)])


def _intent(current: RoundView, now: float | None) -> str:
    thinking, body = details.thought(current)
    if current.purpose == PROPOSE:
        return t("Write the plan")
    first = next(iter(sentences(thinking[:2_000])), "")
    if first:
        return first
    if current.calls:
        names = dict.fromkeys(call.call.name for call in current.calls)
        return " · ".join(t(TOOLS[name]) if name in TOOLS else name for name in names)
    if current.ask == 0:
        return t("Before the first round")
    if current.reply is None and now is None:
        return t("Interrupted")
    if current.reply is None:
        return t("Writing") if body.strip() else t("Waiting for the model")
    return t("Ask you") if current.asked else t("Write the answer")


def _call(call: CallView, now: float | None) -> str:
    name = call.call.name
    asked = clip(" ".join(" ".join(as_words(value)[:200] for value in call.call.arguments.values()).split()), 60)
    said = f"{t(TOOLS[name]) if name in TOOLS else plain(name)}: {plain(asked)}" if asked else plain(name)
    if call.observation is not None:
        return f"{said} → {_came_back(call.observation)} · {lasted(call.observation.seconds)}"
    return f"{said} … {lasted(now - call.started)}" if now else t("{call} · not finished", call=said)


def _came_back(seen: Observation) -> str:
    if seen.edited:
        return t("edited by you")
    if seen.sources and seen.ok:
        return count(len(seen.sources), "source")
    said = plain(clip(" ".join(seen.text[:500].split()), 60))
    return said if seen.ok else t("failed: {reason}", reason=said)


def _icon(current: RoundView) -> str:
    if any(call.observation and not call.observation.ok for call in current.calls):
        return ":material/error:"
    name = current.calls[0].call.name if current.calls else "ask_user" if current.asked else ""
    return f":material/{ICONS.get(name, 'build' if name else 'edit_note')}:"


def _spent(current: RoundView) -> str:
    """Return the model, tokens and duration of a round."""
    model = plain(current.model)
    if current.usage is None:
        return t("{model} · about {tokens} input tokens", model=model, tokens=f"{current.prompt_tokens:,}")
    given, written = f"{current.usage.prompt_tokens:,}", f"{current.usage.completion_tokens:,}"
    took = lasted(current.seconds)
    if current.usage.estimated:
        return t(
            "{model} · about {given} input tokens, {written} output · {took}",
            model=model,
            given=given,
            written=written,
            took=took,
        )
    return t(
        "{model} · {given} input tokens, {written} output · {took}",
        model=model,
        given=given,
        written=written,
        took=took,
    )
