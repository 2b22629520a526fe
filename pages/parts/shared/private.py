"""The question, asked once, whether a cloud model may get private documents."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts.shared.language import later, spoken, t
from pages.parts.shared.safe import plain
from research.workbench import leaving
from research.workbench.leaving import MustChoose
from research.workbench.workbench import Workbench

_NAMED = 3
"""Folders that the question names."""
_ANSWERS = {leaving.PRIVATE: later("stay on this machine"), leaving.OPEN: later("may be sent")}


def ask(bench: Workbench, choice: MustChoose) -> None:
    """Ask, and remember the answer; until then, and after a no, the documents stay here."""
    documents = t(", ").join(plain(Path(each).name) for each in choice.folders[:_NAMED])
    if len(choice.folders) > _NAMED:
        documents = t("{names} and {n} more", names=documents, n=len(choice.folders) - _NAMED)
    if choice.said:
        st.info(
            t("Choose a local model, or leave out {documents}.", documents=documents),
            title=t("Your documents stay on this machine"),
        )
        answers = {leaving.OPEN: t("Send them to this model")}
    else:
        st.warning(
            t(
                "{documents} would be sent to the service of this model, as far as a question needs them. Your answer is "
                "remembered; it can be changed in Settings, under Data.",
                documents=documents,
            ),
            title=t("May {model} read your documents?", model=plain(choice.model)),
        )
        answers = {leaving.OPEN: t("Send them to this model"), leaving.PRIVATE: t("Keep them here")}
    with st.container(horizontal=True):
        for answer, label in answers.items():
            st.button(label, key=f"egress-{answer}", on_click=leaving.answer, args=(bench.store, answer))


def refused(bench: Workbench, error: Exception, title: str, text: str = "") -> bool:
    """Draw why a recipe cannot be used, or the question that it depends on; return whether it was the question."""
    if isinstance(error, MustChoose):
        ask(bench, error)
        return True
    st.error(plain(text or spoken(error)), title=title)
    return False


def remembered(bench: Workbench) -> None:
    """Let the user change the answer, once there is one."""
    said = leaving.answered(bench.store)
    if not said:
        return
    st.segmented_control(
        t("Your documents and models in the cloud"),
        list(_ANSWERS),
        default=said,
        key="egress-remembered",
        required=True,
        format_func=lambda each: t(_ANSWERS[each]),
        on_change=lambda: leaving.answer(bench.store, st.session_state["egress-remembered"]),
        help=t("They would be sent to the service of a model that does not run on this machine."),
    )
