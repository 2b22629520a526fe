"""A run shared by link: the control of its owner, and what the link shows to others."""

from __future__ import annotations

import time

import streamlit as st

from pages.parts import account, downloads, home, recalled, report, timeline
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import count
from research import sharing
from research.errors import ConfigError, StoreUnavailable
from research.progress import OUTCOMES
from research.store import RunRow
from research.text import clip
from research.view import RunView, fold
from research.workbench import Workbench

LOOK_S = 3.0
"""How often a run at work is looked at."""
SHOWN = 300
"""Characters of the question that stand over the run."""


def control(bench: Workbench, row: RunRow) -> None:
    """Share the run, or stop it; nothing where there is no login: there a run is shared by the address it has."""
    who = account.person()
    if who is None:
        return
    made = sharing.shared(bench.store, row.id)
    label, icon = (t("Shared"), ":material/group:") if made else (t("Share"), ":material/link:")
    with st.popover(label, icon=icon, type="tertiary", key=f"share-{row.id}"):
        token = st.session_state.get(_place(row.id), "")
        st.markdown(
            t(
                "Whoever is logged in here and has the link can read this run: the question, every round, the report and all "
                "that it quotes, also from your documents and your memory. Nothing else, and nobody can change it."
            )
        )
        if made and token:
            st.code(f"{account.address()}?shared={token}", language=None, wrap_lines=True)
        elif made:
            since = time.strftime("%Y-%m-%d", time.localtime(made.created))
            st.caption(t("Shared since {date}. The link was shown once; with a new one the old one ends.", date=since))
        with st.container(horizontal=True, gap="small"):
            st.button(
                t("New link") if made else t("Make a link"), key=f"share-make-{row.id}", icon=":material/add_link:",
                on_click=_make, args=(bench, who.key, row.id),
            )  # fmt: skip
            if made:
                st.button(
                    t("Stop sharing"), key=f"share-stop-{row.id}", icon=":material/link_off:", on_click=_stop,
                    args=(bench, row.id),
                )  # fmt: skip


def show(token: str) -> None:
    """The run that the link opens, to be read; the same words for a link that never was and one that was taken back."""
    found = home.shared(token)
    try:
        row = found.row() if found else None
    except ConfigError:
        row = None
    if found is None or row is None:
        st.error(t("The link opens nothing: its owner may have taken it back."), title=t("No such run"))
        return
    view = fold(found.events())
    st.set_page_config(page_title=clip(" ".join(row.question.split()), 60))
    with st.container(key="run", gap="small"):
        st.subheader(plain(clip(" ".join(row.question.split()), SHOWN)), anchor=False)
        if len(row.question) > SHOWN:
            with st.expander(t("The whole question"), type="compact"):
                st.text(row.question)
        rounds = t("{outcome} in {rounds}", outcome=_state(view), rounds=count(view.round_count(), "round"))
        st.markdown(f":material/group: {t('Shared with you, to be read')} · {rounds}")
        st.caption(plain(row.recipe.label))
        left, right = st.columns([5, 7], gap="large")
        with left:
            recalled.draw(view)
            timeline.draw(view, view.rounds)
        with right:
            report.draw(view, row)
            if view.report:
                downloads.draw(view)
    if view.running:
        _look_again(token, view.seq)


def _state(view: RunView) -> str:
    return t(OUTCOMES[view.outcome]) if view.outcome else t("at work or at rest")


def _look_again(token: str, seen: int) -> None:
    @st.fragment(run_every=LOOK_S)
    def look() -> None:
        try:
            found = home.shared(token)
            if found is None or found.events(seen):
                st.rerun()
        except ConfigError:
            st.rerun()  # it was deleted meanwhile
        except StoreUnavailable:
            return  # the next tick asks again

    look()


def _make(bench: Workbench, owner: str, run: str) -> None:
    st.session_state[_place(run)] = sharing.share(home.common(), bench.store, owner, run)


def _stop(bench: Workbench, run: str) -> None:
    sharing.stop(home.common(), bench.store, run)
    st.session_state.pop(_place(run), None)


def _place(run: str) -> str:
    return f"share-link-{run}"
