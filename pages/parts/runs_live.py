"""Runs at work, each on a line that follows it."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from pages.parts import head
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import clock
from research.errors import ConfigError, StoreUnavailable
from research.store import RunRow
from research.text import clip
from research.view import RunView
from research.workbench import Workbench

EVERY_S = 1.0
MOST = 5
"""Runs that are followed; the table names the others."""


def draw(bench: Workbench, rows: Sequence[RunRow]) -> None:
    """Nothing, and no timer, where none of the listed runs is at work.  When one ends the page is drawn anew."""
    working = [row for row in rows if row.status == "running" and not head.lost(row)][:MOST]
    seen: dict[str, RunView] = st.session_state.get("runs-live", {})
    views = st.session_state["runs-live"] = {row.id: seen.get(row.id, RunView()) for row in working}
    if not working:
        return

    @st.fragment(run_every=EVERY_S)
    def follow() -> None:
        for row in working:
            try:
                now = bench.store.run(row.id)
            except ConfigError:
                st.rerun()  # it was deleted meanwhile
            except StoreUnavailable:
                return  # the next tick asks again
            if now.status != "running" or head.lost(now):
                st.rerun()
            view = views[row.id]
            for event in bench.store.events(row.id, view.seq):
                view.apply(event)
            question = plain(clip(" ".join(row.question.split()), 70))
            number = max(1, view.round_count())
            st.markdown(
                t(":primary[●] round {number} · {clock} · {question}", number=number, question=question,
                  clock=clock(time.time() - row.created))
            )  # fmt: skip

    with st.container(key="runs-live", gap="xxsmall"):
        follow()
