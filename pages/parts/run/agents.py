"""The agents of a run: which rounds to show, their timeline, and a table of their tasks and outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st
from msgspec import Struct

from pages.parts.shared import component
from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import frame
from pages.parts.shared.words import agent_name, count, lasted
from research.events.events import ChildFinished, ChildStarted, Event
from research.events.view import RunView
from research.exports.progress import OUTCOMES
from research.store import RunRow
from research.text import clip
from research.types import Outcome
from research.workbench.workbench import Workbench

BARS = 2_000
"""Maximum number of bars in the timeline; the earliest are drawn."""
AROUND_PX = 170
"""Height of the axis and the legend of the timeline."""
LANES, SPANS = 12, 60
"""Maximum number of lanes, and of activities in each; the latest are drawn."""
DOING = {"model": later("calls the model"), "tool": later("uses a tool"), "waits": later("waits for others")}


class Child(Struct):
    """A sub-agent, from its first event to its last."""

    agent: str
    question: str
    started: float
    ended: float | None = None
    outcome: Outcome | None = None


class Span(Struct, frozen=True):
    """One activity of an agent; times in seconds since the epoch."""

    agent: str
    doing: str
    """A key of `DOING`."""
    start: float
    end: float
    what: str
    """The purpose, the tool, or the agents it waited for."""


def choose(bench: Workbench, row: RunRow, view: RunView) -> str | None:
    """Return the agent whose rounds to show, or None for all.

    Draws nothing for a run with one agent.
    """
    if len(view.agents) < 2:
        return None
    key = f"agent-{row.id}"
    linked = st.query_params.get("agent")
    if key not in st.session_state and linked in view.agents:
        st.session_state[key] = linked
    chosen: str | None = st.pills(
        t("Show rounds of"),
        view.agents,
        key=key,
        format_func=lambda agent: plain(agent_name(agent)),
        on_change=_link,
        args=(key,),
    )
    with st.expander(
        t("Agent timeline: {agents}", agents=count(len(view.agents), "agent")),
        type="compact",
        icon=":material/view_timeline:",
        key=f"agents-{row.id}",
        on_change="rerun",
    ) as opened:
        if opened.open:
            events = [event for event in bench.store.events(row.id) if event.seq <= view.seq]
            grown = children(events)
            _chart(view, spans(view, grown))
            _tree(view, grown)
    return chosen


def lanes(view: RunView, now: float) -> None:
    """Draw a lane for each agent of several: when it called the model or a tool, and for how long it has worked."""
    if len(view.agents) < 2:
        return
    since, length = view.started, max(now - view.started, 0.1)
    found = spans(view, {})
    drawn = []
    for agent in view.agents[:LANES]:
        own = [span for span in found if span.agent == agent][-SPANS:]
        work = sum(span.end - span.start for span in own)
        drawn.append(
            {
                "name": agent_name(agent),
                "state": lasted(work),
                "live": view.running and any(not r.done for r in view.rounds if r.agent == agent),
                "spans": [
                    (
                        span.doing,
                        round(min(1.0, max(0.0, (span.start - since) / length)), 4),
                        round(min(1.0, max(0.0, (span.end - since) / length)), 4),
                    )
                    for span in own
                ],
            }
        )
    component.draw(f"lanes-{view.run}", {"kind": "lanes", "lanes": drawn})
    if len(view.agents) > LANES:
        st.caption(t("and {agents} more", agents=count(len(view.agents) - LANES, "agent")))


def _link(key: str) -> None:
    if st.session_state[key] is None:
        st.query_params.pop("agent", None)
    else:
        st.query_params["agent"] = st.session_state[key]


def children(events: Iterable[Event]) -> dict[str, Child]:
    """Return the sub-agents by path, in the order in which they started."""
    found: dict[str, Child] = {}
    for event in events:
        match event:
            case ChildStarted():
                found[event.agent] = Child(event.agent, event.question, event.time)
            case ChildFinished() if event.agent in found:
                found[event.agent].ended, found[event.agent].outcome = event.time, event.outcome
    return found


def spans(view: RunView, grown: dict[str, Child]) -> list[Span]:
    """Return the activities of each agent; a parent waits while it is idle and a child is active."""
    found: list[Span] = []
    for agent in view.agents:
        child = grown.get(agent)
        ended = child.ended if child and child.ended else view.updated
        own = [r for r in view.rounds if r.agent == agent]
        if not own:
            continue  # it has started, and asked nothing yet
        # Cached results carry the duration of the original call, so cut each span at the agent's next request.
        for current, until in zip(own, [*(r.started for r in own[1:]), ended], strict=True):
            if current.ask:
                end = current.started + current.seconds if current.reply else until
                found.append(Span(agent, "model", current.started, min(end, until), current.purpose))
            for call in current.calls:
                end = call.started + call.observation.seconds if call.observation else until
                found.append(Span(agent, "tool", call.started, min(end, until), call.call.name))
    return found + [span for agent in view.agents for span in _waits(agent, found, list(grown.values()), view.updated)]


def _waits(agent: str, busy: Sequence[Span], grown: Sequence[Child], now: float) -> list[Span]:
    below = [child for child in grown if child.agent.rpartition("/")[0] == agent]
    if not below:
        return []
    found, free = [], min(child.started for child in below)
    for start, end in [*sorted((span.start, span.end) for span in busy if span.agent == agent), (now, now)]:
        alive = [child for child in below if child.started < start and (child.ended or now) > free]
        if start > free and alive:
            since, until = max(free, min(c.started for c in alive)), min(start, max(c.ended or now for c in alive))
            found.append(
                Span(agent, "waits", since, until, t(", ").join(sorted(agent_name(child.agent) for child in alive)))
            )
        free = max(free, end)
    return found


def _chart(view: RunView, shown: Sequence[Span]) -> None:
    import altair as alt

    since = view.started
    rows = frame(
        {
            "agent": [agent_name(span.agent) for span in shown[:BARS]],
            "doing": [t(DOING[span.doing]) for span in shown[:BARS]],
            "from": [round(span.start - since, 2) for span in shown[:BARS]],
            "until": [round(max(span.end - since, span.start - since + 0.02), 2) for span in shown[:BARS]],
            "what": [span.what for span in shown[:BARS]],
        }
    )
    names = [agent_name(agent) for agent in view.agents]
    # The browser chooses: the theme may change without a rerun.
    colours = [f"light-dark({each})" for each in ("#1f5f8b, #7fb8de", "#3f8f5c, #6cc48d", "#c9cbcd, #565b61")]
    chart = (
        alt.Chart(rows)
        .mark_bar(height=14, cornerRadius=2)
        .encode(
            x=alt.X("from:Q", title=t("seconds since start")),
            x2="until:Q",
            y=alt.Y("agent:N", sort=names, title=None, axis=alt.Axis(labelLimit=220, labelOverlap=False)),
            color=alt.Color(
                "doing:N",
                title=None,
                legend=alt.Legend(orient="top", columns=2),
                scale=alt.Scale(domain=[t(words) for words in DOING.values()], range=colours),
            ),
            tooltip=[
                alt.Tooltip("agent:N", title=t("Agent")),
                alt.Tooltip("doing:N", title=t("Activity")),
                alt.Tooltip("what:N", title=t("Details")),
                alt.Tooltip("from:Q", title=t("Start (s)")),
                alt.Tooltip("until:Q", title=t("End (s)")),
            ],
        )
        .properties(height=24 * len(names) + AROUND_PX)
    )
    st.altair_chart(chart, alt=t("When each agent called the model, used a tool or waited for others"))
    if len(shown) > BARS:
        st.caption(t("Only the first {bars} are shown.", bars=count(BARS, "step")))


def _tree(view: RunView, grown: dict[str, Child]) -> None:
    """Draw each agent below its parent, with its task and outcome."""
    paths = ["main", *sorted(grown)]
    task = {agent: child.question for agent, child in grown.items()} | {"main": view.question}
    st.dataframe(
        frame(
            {
                t("Agent"): [f"{'   ' * path.count('/')}{agent_name(path)}" for path in paths],
                t("Task"): [clip(" ".join(task[path].split()), 300) for path in paths],
                t("Outcome"): [_ended(view, grown, path) for path in paths],
                t("Rounds"): [view.round_count(path) for path in paths],
                t("Calls"): [sum(len(r.calls) for r in view.rounds if r.agent == path) for path in paths],
                t("Took"): [_took(view, grown, path) for path in paths],
            }
        ),
        column_config={t("Task"): st.column_config.TextColumn(width="large")},
        hide_index=True,
        alt=t("The run's agents, each under its parent"),
    )


def _ended(view: RunView, grown: dict[str, Child], path: str) -> str:
    outcome = view.outcome if path == "main" else grown[path].outcome
    if outcome:
        return t(OUTCOMES[outcome])
    return t("Running") if view.running else t("Not finished")


def _took(view: RunView, grown: dict[str, Child], path: str) -> str:
    if path == "main":
        return lasted(view.elapsed(view.updated))
    return lasted((grown[path].ended or view.updated) - grown[path].started)
