"""Adding a run's question to a set of questions, to evaluate recipes on it."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count
from research.errors import REFUSED
from research.evaluation import Dataset
from research.evaluation.sets import Sets, from_run
from research.events.view import RunView
from research.store import RunRow
from research.workbench.workbench import Workbench


def control(bench: Workbench, row: RunRow, view: RunView) -> None:
    """Draw the menu that adds the question to a saved set, or to a new one."""
    with st.popover(t("Add to a set"), icon=":material/playlist_add:", type="tertiary", key=f"set-{row.id}"):
        names = [each.name for each in Sets(bench.store).latest()]
        name = st.selectbox(
            t("Set of questions"),
            names,
            index=0 if names else None,
            key=f"set-name-{row.id}",
            accept_new_options=True,
            placeholder=t("Choose a set, or type the name of a new one"),
        )
        st.session_state.setdefault(f"set-answer-{row.id}", view.short)
        answer = st.text_input(
            t("Expected answer"),
            key=f"set-answer-{row.id}",
            help=t(
                "Check it: later answers are compared with it. If empty, an answer counts as neither right nor wrong."
            ),
        )
        none = st.toggle(
            t("The sources don't contain the answer"),
            key=f"set-none-{row.id}",
            help=t("An honest run then says so, and only that counts as correct."),
        )
        if st.button(t("Add"), key=f"set-add-{row.id}", type="primary", disabled=not name):
            _add(bench, row, name or "", "" if none else answer, none)


def _add(bench: Workbench, row: RunRow, name: str, answer: str, none: bool) -> None:
    try:
        question = from_run(row.question, [answer], answerable=not none)
        made = Sets(bench.store).add(name, Dataset(row.id, (question,)), f"the question of run {row.id}")
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("The question was not added"))
        return
    st.toast(
        t("{name} now has {questions}.", name=plain(made.name), questions=count(len(made.questions), "question")),
        icon=":material/playlist_add_check:",
    )
