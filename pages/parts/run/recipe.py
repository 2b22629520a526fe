"""The form for one recipe of several: framework, strategy, model, and their options in an expander."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from pages.parts.run import form
from pages.parts.shared import models
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from research import defaults, plugins
from research.workbench.workbench import Workbench


def draw(
    bench: Workbench, key: str, framework: str, context: str, model: str, *, by_rounds: bool = False
) -> dict[str, Any]:
    """Draw a recipe's options and return arguments of `Workbench.recipe`.

    `key` prefixes its widget keys. With `by_rounds`, only frameworks that can continue from the rounds of another one
    are offered.
    """
    frameworks = {entry.id: entry for entry in plugins.framework.all() if entry.forkable or not by_rounds}
    st.session_state.setdefault(f"{key}-framework", framework)
    framework = _choice(t("Framework"), f"{key}-framework", frameworks)
    policy = frameworks[framework]
    contexts = {entry.id: entry for entry in plugins.context.all() if entry.id not in policy.refuses}
    # Each framework remembers its strategy; the initial pair of a column has its own default.
    begins = context if (framework, context) in defaults.COMPARED else policy.default_context
    st.session_state.setdefault(f"{key}-context-{framework}", begins)
    context = _choice(t("Context strategy"), f"{key}-context-{framework}", contexts)
    # A model that the user left alone follows the default, which may have been chosen on another page since.
    if st.session_state.setdefault(f"{key}-model", model) == st.session_state.get(f"{key}-model-default"):
        st.session_state[f"{key}-model"] = model
    st.session_state[f"{key}-model-default"] = model
    chosen = st.selectbox(
        t("Model"),
        models.offered(bench, model),
        key=f"{key}-model",
        accept_new_options=True,
        persist_state="session",
        format_func=models.named(bench),
        help=t(models.NAMES),
    )
    models.meant(bench, (chosen or "").strip(), partial(st.session_state.__setitem__, f"{key}-model"))
    options: dict[str, Any] = {}
    if frameworks[framework].options or contexts[context].options:
        with st.expander(t("Options"), type="compact", icon=":material/tune:", key=f"{key}-options"):
            options |= form.entry(f"{key}.{framework}", frameworks[framework], "framework")
            options |= form.entry(f"{key}.{framework}.{context}", contexts[context], "context")
    return {"framework": framework, "context": context, "model": (chosen or "").strip() or None, "options": options}


def _choice(label: str, key: str, entries: Mapping[str, plugins.Entry]) -> str:
    """Draw the selector of a framework or strategy with the summary of the chosen one."""
    chosen = st.selectbox(
        label,
        list(entries),
        key=key,
        persist_state="session",
        format_func=lambda each: plain(t(entries[each].title)),
    )
    st.caption(plain(t(entries[chosen].summary)))
    return chosen
