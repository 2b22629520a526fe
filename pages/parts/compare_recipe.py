"""The choices of one recipe among several: framework, strategy, model, and their options folded away."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from pages.parts import form, models
from pages.parts.language import t
from pages.parts.safe import plain
from research import cells, registry
from research.inherited import goes_by_rounds
from research.workbench import Workbench

PAIRS: Final = (
    ("react", "full"), ("iter_research", "evolving"), ("tool_rounds", "full"), ("react", "resum"), ("parallel", "full"),
)  # fmt: skip
"""What the columns begin with; the first two show best what makes a difference.  One more than there are columns."""


def draw(
    bench: Workbench, key: str, framework: str, context: str, model: str, *, by_rounds: bool = False
) -> dict[str, Any]:
    """A column of choices; returns arguments of `Workbench.recipe`.  `key`: what the keys of its widgets begin with.

    `by_rounds`: only frameworks that can go on from the rounds of another one.
    """
    frameworks = {entry.id: entry for entry in registry.framework.all() if goes_by_rounds(entry.id) or not by_rounds}
    st.session_state.setdefault(f"{key}-framework", framework)
    framework = st.selectbox(
        t("Framework"), list(frameworks), key=f"{key}-framework", persist_state="session",
        format_func=lambda each: plain(t(frameworks[each].title)),
    )  # fmt: skip
    st.caption(plain(t(frameworks[framework].summary)))
    contexts = {entry.id: entry for entry in registry.context.all() if not cells.refusal(framework, entry.id)}
    # Each framework remembers the strategy chosen for it; the one a column begins with has its own default.
    begins = context if (framework, context) in PAIRS else cells.default_context(framework)
    st.session_state.setdefault(f"{key}-context-{framework}", begins)
    context = st.selectbox(
        t("Context strategy"), list(contexts), key=f"{key}-context-{framework}", persist_state="session",
        format_func=lambda each: plain(t(contexts[each].title)),
    )  # fmt: skip
    st.caption(plain(t(contexts[context].summary)))
    known = list(dict.fromkeys(["extractive", bench.settings.model, model, *st.session_state.get(models.KNOWN, [])]))
    st.session_state.setdefault(f"{key}-model", model)
    chosen = st.selectbox(
        t("Model"), known, key=f"{key}-model", accept_new_options=True, persist_state="session",
        help=t("`extractive`; `openai:NAME`; `anthropic:NAME`; `gguf:PATH` for a model file on this computer."),
    )  # fmt: skip
    options: dict[str, Any] = {}
    if frameworks[framework].options or contexts[context].options:
        with st.expander(t("Options"), type="compact", icon=":material/tune:"):
            options |= form.entry(f"{key}.{framework}", frameworks[framework], "framework")
            options |= form.entry(f"{key}.{framework}.{context}", contexts[context], "context")
    return {"framework": framework, "context": context, "model": (chosen or "").strip() or None, "options": options}
