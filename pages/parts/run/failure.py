"""Why a run failed or paused, in one sentence with the remedy, above everything else."""

from __future__ import annotations

import re
from typing import Final

import streamlit as st

from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain
from research.events.view import RunView
from research.text import clip

LONGEST, TRACE = 2_000, 20_000
"""Maximum characters of an error and of its technical details."""
SETTINGS: Final = "pages/settings.py"
REMEDIES: Final = (
    (
        re.compile(r"\b(?:401|403)\b|api key|unauthori[sz]ed|forbidden|authenticat", re.I),
        later("Check the key of this model under Settings, then run the question again."),
    ),
    (
        re.compile(r"\b429\b|rate.?limit|quota|insufficient|billing|credit", re.I),
        later("The provider refuses more requests for now: wait, or choose another model."),
    ),
    (
        re.compile(r"context (?:length|window)|too long for|maximum context|context_overflow", re.I),
        later(
            "The prompt no longer fits the model: choose a strategy that shortens it, or a model with a larger window."
        ),
    ),
    (
        re.compile(r"connect|timed? ?out|unreachable|refused|resolve|network|\b50[0234]\b|unavailable", re.I),
        later("Check that the model's server is running and that its address under Settings is right."),
    ),
)
"""What to do, by the words of an error; the first that fits."""
OTHERWISE: Final = later("Run the question again; if it fails again, the technical details say where.")


def draw(view: RunView) -> None:
    """Draw the cause and the remedy of a failed or paused run; nothing if nothing went wrong."""
    if not view.error:
        return
    cause = plain(clip(" ".join(view.error.split()), LONGEST))
    if view.status == "paused":
        st.warning(cause, title=t("The run is paused: fix this, then resume it"))
        return
    with st.container(key="failure", gap="xsmall"):
        st.error(f"{cause}  \n**{t(remedy(view.error))}**", title=t("The run failed"))
        if view.report:
            st.caption(t("What it had found until then is below."))
        if view.traceback:
            with st.expander(t("Technical details"), type="compact"):
                st.code(view.traceback[-TRACE:], language=None)


def remedy(error: str) -> str:
    """Return what to do about an error, in English; `t` translates it."""
    return next((words for pattern, words in REMEDIES if pattern.search(error)), OTHERWISE)
