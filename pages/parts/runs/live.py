"""Active runs, one live line each."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from pages.parts.run import head
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import clock
from research.errors import ConfigError, StoreUnavailable
from research.events.view import RunView
from research.store import RunRow
from research.text import clip
from research.workbench.workbench import Workbench

EVERY_S = 1.0
MOST = 5
"""Maximum number of runs followed."""


def draw(bench: Workbench, rows: Sequence[RunRow]) -> None:
    """Draw the active runs among the listed ones; rerun the page when one ends.

    Starts no timer if none is active.
    """
    working = [row for row in rows if row.status == "running" and not head.is_interrupted(row)][:MOST]
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
            if now.status != "running" or head.is_interrupted(now):
                st.rerun()
            view = views[row.id]
            for event in bench.store.events(row.id, view.seq):
                view.apply(event)
            question = plain(clip(" ".join(row.question.split()), 70))
            number = max(1, view.round_count())
            st.markdown(
                t(
                    ":primary[●] Round {number} · {clock} · {question}",
                    number=number,
                    question=question,
                    clock=clock(view.elapsed(time.time())),
                )
            )

    with st.container(key="runs-live", gap="xxsmall"):
        follow()
