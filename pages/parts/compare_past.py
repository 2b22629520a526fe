"""Comparisons that were made before."""

from __future__ import annotations

import streamlit as st

from pages.parts import undo
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import count, when
from research.desk import Comparison
from research.text import clip
from research.workbench import Workbench

SHOWN = 20
"""The newest, until all are asked for."""


def draw(bench: Workbench) -> None:
    """Each with its link, and a button that forgets it."""
    past = sorted(bench.desk.comparisons(), key=lambda each: -each.created)
    if not past:
        return
    st.subheader(t("Past comparisons"), anchor=False)
    everything = len(past) > SHOWN and st.toggle(t("All {number}", number=len(past)), key="compare-past-all")
    for each in past if everything else past[:SHOWN]:
        with st.container(horizontal=True, vertical_alignment="center", key=f"compare-past-{each.id}"):
            question = plain(clip(" ".join(each.question.split()), 100))
            st.page_link("pages/compare.py", label=question, icon=":material/view_column:", query_params={"id": each.id},
                         width="stretch")  # fmt: skip
            st.caption(f"{count(len(each.runs), 'run')} · {when(each.created)}", width="content")
            st.button(
                t("Forget"), key=f"compare-forget-{each.id}", type="tertiary", icon=":material/delete:",
                on_click=_forget, args=(bench, each), help=t("The runs themselves stay under Runs."),
            )  # fmt: skip


def _forget(bench: Workbench, comparison: Comparison) -> None:
    bench.desk.forget_comparison(comparison.id)
    undo.offer(t("The comparison was forgotten."), lambda: bench.desk.keep_comparison(comparison))
