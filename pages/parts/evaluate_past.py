"""Evaluations that were made before."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts import address, evaluate_jobs, undo
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import count, when
from research.errors import REFUSED
from research.evaluation.running import Saved
from research.workbench import Workbench

SHOWN = 20
"""The newest, until all are asked for."""


def draw(bench: Workbench, past: Sequence[Saved]) -> None:
    """Each with its link, how far it is, and a button that deletes it."""
    if not past:
        st.caption(t("Evaluations are kept: they will be listed here, each with a link of its own."))
        return
    st.subheader(t("Evaluations"), anchor=False)
    everything = len(past) > SHOWN and st.toggle(t("All {number}", number=len(past)), key="evaluate-past-all")
    for place, each in enumerate(past if everything else past[:SHOWN]):
        _one(bench, place, each)


def _one(bench: Workbench, place: int, each: Saved) -> None:
    jobs, name = evaluate_jobs.of(bench), each.plan.name
    if jobs.working(name):
        state = t("at work")
    else:
        left = jobs.left(each)
        state = t("{rows} left", rows=count(left, "row")) if left else t("complete")
    with st.container(horizontal=True, vertical_alignment="center", key=f"evaluate-past-{place}"):
        address.link(plain(name), f"evaluate-open-{place}", ":material/grid_on:", "stretch", evaluation=name)
        st.caption(
            " · ".join([
                state, count(len(each.plan.questions), "question"), count(len(each.plan.candidates), "recipe"),
                when(each.created),
            ]),
            width="content",
        )  # fmt: skip
        st.button(
            t("Delete"), key=f"evaluate-delete-{place}", type="tertiary", icon=":material/delete:",
            on_click=_forget, args=(bench, name), help=t("The runs themselves stay under Runs."),
        )  # fmt: skip


def _forget(bench: Workbench, name: str) -> None:
    try:
        restore = evaluate_jobs.of(bench).forget(name)
    except REFUSED as error:
        st.toast(plain(str(error)), icon=":material/info:")
        return
    undo.offer(t("The evaluation was deleted."), restore)
