"""Earlier comparisons."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.parts.shared import undo
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count, when
from research.store.saved import Comparison
from research.text import clip
from research.workbench.workbench import Workbench

SHOWN = 20
"""Comparisons shown before the user asks for all."""


def draw(bench: Workbench) -> None:
    """Draw each earlier comparison as a link with a remove button."""
    past = sorted(bench.saved.comparisons(), key=lambda each: -each.created)
    if not past:
        return
    st.subheader(t("Past comparisons"), anchor=False)
    everything = len(past) > SHOWN and st.toggle(t("All {number}", number=len(past)), key="compare-past-all")
    for each in past if everything else past[:SHOWN]:
        with st.container(horizontal=True, vertical_alignment="center", key=f"compare-past-{each.id}"):
            question = plain(clip(" ".join(each.question.split()), 100))
            st.page_link(
                "pages/compare.py",
                label=question,
                icon=":material/view_column:",
                query_params={"id": each.id},
                width="stretch",
            )
            st.caption(f"{count(len(each.runs), 'run')} · {when(each.created)}", width="content")
            undo.delete_button(
                t("Remove"),
                f"compare-forget-{each.id}",
                partial(_forget, bench, each),
                t("Comparison removed."),
                help=t("The runs themselves stay on the Runs page."),
            )


def _forget(bench: Workbench, comparison: Comparison) -> Callable[[], None]:
    bench.saved.delete_comparison(comparison.id)
    return lambda: bench.saved.save_comparison(comparison)
