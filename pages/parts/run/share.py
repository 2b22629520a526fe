"""Sharing a run by link: the owner's control, and the read-only view for others."""

from __future__ import annotations

import time

import streamlit as st

from pages.parts.run import downloads, failure, head, recalled, report, timeline
from pages.parts.shared import account, home
from pages.parts.shared.language import t
from research.errors import ConfigError, StoreUnavailable
from research.events.view import fold
from research.store import RunRow, shares
from research.text import clip
from research.workbench.workbench import Workbench

LOOK_S = 3.0
"""Polling interval for an active run."""


def control(bench: Workbench, row: RunRow) -> None:
    """Draw the sharing control; nothing if login is disabled, because then the run's address is enough."""
    who = account.person()
    if who is None:
        return
    made = shares.share_of(bench.store, row.id)
    label, icon = (t("Shared"), ":material/group:") if made else (t("Share"), ":material/link:")
    with st.popover(label, icon=icon, type="tertiary", key=f"share-{row.id}"):
        token = st.session_state.get(_place(row.id), "")
        st.markdown(
            t(
                "Anyone who is logged in here and has the link can read this run: the question, every round, the "
                "report and everything it quotes, including from your documents and memory. They see nothing else"
                " and can't change it."
            )
        )
        if made and token:
            st.code(f"{account.address()}?shared={token}", language=None, wrap_lines=True)
        elif made:
            since = time.strftime("%Y-%m-%d", time.localtime(made.created))
            st.caption(
                t("Shared since {date}. The link was shown once; creating a new one disables the old one.", date=since)
            )
        with st.container(horizontal=True, gap="small"):
            st.button(
                t("New link") if made else t("Create link"),
                key=f"share-make-{row.id}",
                icon=":material/add_link:",
                on_click=_make,
                args=(bench, who.key, row.id),
            )
            if made:
                st.button(
                    t("Stop sharing"),
                    key=f"share-stop-{row.id}",
                    icon=":material/link_off:",
                    on_click=_stop,
                    args=(bench, row.id),
                )


def show(token: str) -> None:
    """Draw the run behind a shared link, read-only.

    Invalid and revoked links get the same message.
    """
    found = home.open_shared(token)
    try:
        row = found.row() if found else None
    except ConfigError:
        row = None
    if found is None or row is None:
        st.error(t("This link doesn't work. Its owner may have stopped sharing."), title=t("Run not found"))
        return
    view = fold(found.events())
    st.set_page_config(page_title=clip(" ".join(row.question.split()), 60))
    with st.container(key="run", gap="small"):
        head.question(row.question)
        with st.container(key="run-head", gap="xsmall"):
            if view.running:
                st.markdown(f":material/hourglass_empty: {t('Not finished')}")
            else:
                head.inactive(view, row, view.last_round, view.last_round)
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.caption(f":material/group: {t('Shared with you, read-only')}", width="content")
                if view.report:
                    downloads.draw(view)
        failure.draw(view)
        report.answer(view)
        left, right = st.columns([1, 2], gap="large")
        with left:
            recalled.draw(view)
            timeline.draw(view, view.rounds)
        with right, st.container(key="report", gap="xsmall"):
            report.draw(view)
    if view.running:
        _look_again(token, view.seq)


def _look_again(token: str, seen: int) -> None:
    @st.fragment(run_every=LOOK_S)
    def look() -> None:
        try:
            found = home.open_shared(token)
            if found is None or found.events(seen):
                st.rerun()
        except ConfigError:
            st.rerun()  # the run was deleted meanwhile
        except StoreUnavailable:
            return  # the next tick asks again

    look()


def _make(bench: Workbench, owner: str, run: str) -> None:
    st.session_state[_place(run)] = shares.share(home.common(), bench.store, owner, run)


def _stop(bench: Workbench, run: str) -> None:
    shares.stop(home.common(), bench.store, run)
    st.session_state.pop(_place(run), None)


def _place(run: str) -> str:
    return f"share-link-{run}"
