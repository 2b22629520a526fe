"""Earlier evaluations."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts.evaluate import jobs as evaluate_jobs
from pages.parts.shared import address, undo
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count, when
from research.evaluation.plans import StoredEvaluation
from research.workbench.workbench import Workbench

SHOWN = 20
"""Evaluations shown before the user asks for all."""


def draw(bench: Workbench, past: Sequence[StoredEvaluation]) -> None:
    """Draw each evaluation as a link with its progress and a delete button."""
    if not past:
        st.caption(t("Your evaluations will be listed here, each with its own link."))
        return
    st.subheader(t("Evaluations"), anchor=False)
    everything = len(past) > SHOWN and st.toggle(t("All {number}", number=len(past)), key="evaluate-past-all")
    for each in past if everything else past[:SHOWN]:
        _one(bench, each)


def _one(bench: Workbench, each: StoredEvaluation) -> None:
    jobs, name = evaluate_jobs.of(bench), each.plan.name
    if jobs.working(name):
        state = t("running")
    else:
        left = jobs.left(each)
        state = t("{runs} left", runs=count(left, "run")) if left else t("complete")
    with st.container(horizontal=True, vertical_alignment="center", key=f"evaluate-past-{name}"):
        address.link(plain(name), f"evaluate-open-{name}", ":material/grid_on:", "stretch", evaluation=name)
        st.caption(
            " · ".join(
                [
                    state,
                    count(len(each.plan.questions), "question"),
                    count(len(each.plan.candidates), "recipe"),
                    when(each.created),
                ]
            ),
            width="content",
        )
        undo.delete_button(
            t("Delete"),
            f"evaluate-delete-{name}",
            lambda: jobs.forget(name),
            t("Evaluation deleted."),
            help=t("The runs themselves stay on the Runs page."),
        )
