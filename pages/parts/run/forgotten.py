"""What an evolving report forgot: a warning for a version that lost much, and the share kept, round by round."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import frame
from pages.parts.shared.words import agent_name, count
from research.citations.forgetting import Loss
from research.events.view import RunView, forgotten
from research.text import clip

SHOWN, CLAIM = 10, 300
"""Maximum number of lost statements, and of their characters."""
AT_ONCE = 30
"""Versions compared when the page opens; more take seconds, so only on request."""


def draw(view: RunView) -> None:
    """Draw what each version of the report lost; nothing for a run without an evolving report or an answer."""
    versions = sum(
        len(reports) - 1 for reports in (view.reports, *(each.reports for each in view.branches.values())) if reports
    )
    if not versions or view.outcome == "no_evidence":
        return
    warnings = st.container(gap="xxsmall")
    title = t("What the report kept, round by round")
    with st.expander(title, icon=":material/timeline:", key="forgotten", on_change="rerun") as opened:
        if not opened.open and versions > AT_ONCE:
            return
        found = [(agent, loss) for agent, losses in _losses(view).items() for loss in losses if loss.supported]
        if opened.open:
            _curve(found)
            for agent, loss in found:
                if loss.gone:
                    st.caption(_told(agent, loss))
                    st.markdown("\n".join(f"- {plain(clip(claim, CLAIM))}" for claim in loss.gone[:SHOWN]))
    for agent, loss in found:
        if loss.much:
            warnings.warning(_told(agent, loss), icon=":material/history_toggle_off:")


def _losses(view: RunView) -> dict[str, list[Loss]]:
    """Return the losses; they are computed once for each state of the run."""
    key = "forgotten-of"
    if st.session_state.get(key, ("",))[0] != (view.run, view.seq):
        st.session_state[key] = ((view.run, view.seq), forgotten(view))
    found: dict[str, list[Loss]] = st.session_state[key][1]
    return found


def _told(agent: str, loss: Loss) -> str:
    told = t(
        "The report of round {round} no longer contains {gone} of {statements}.",
        round=loss.round,
        gone=len(loss.gone),
        statements=count(loss.supported, "supported statement"),
    )
    return told if agent == "main" else f"{plain(agent_name(agent))}: {told}"


def _curve(found: list[tuple[str, Loss]]) -> None:
    import altair as alt

    rows = frame(
        {
            "round": [loss.round for _, loss in found],
            "kept": [1 - loss.share for _, loss in found],
            "agent": [agent_name(agent) for agent, _ in found],
        }
    )
    chart = (
        alt.Chart(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("round:Q", title=t("Round"), axis=alt.Axis(tickMinStep=1, format="d")),
            y=alt.Y(
                "kept:Q",
                title=t("Supported statements kept"),
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%"),
            ),
            color=alt.Color(
                "agent:N", title=None, legend=alt.Legend(orient="top") if len({a for a, _ in found}) > 1 else None
            ),
        )
        .properties(height=160)
    )
    st.altair_chart(chart, alt=t("Share of supported statements that each version of the report kept"))
