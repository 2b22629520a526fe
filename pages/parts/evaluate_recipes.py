"""Which recipes take part: framework × strategy × model, picked one by one or by a ready choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import streamlit as st

from pages.parts import models, runs_filters
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import apart
from research import cells, registry
from research.errors import REFUSED
from research.evaluation import Candidate, candidate
from research.workbench import Workbench

KEY: Final = "evaluate-recipes"
FIRST: Final = ("react/full", "iter_research/evolving", "rewoo/full")
"""Three that differ most in how they go about it."""
ORACLE: Final = "reflexion:evaluator=gold/full"


def every() -> list[str]:
    """All cells of framework × strategy that make sense, as the command line writes them."""
    return [
        f"{framework}/{context}"
        for framework in _sorted(registry.framework.names(), cells.FRAMEWORKS)
        for context in _sorted(registry.context.names(), cells.CONTEXTS)
        if not cells.refusal(framework, context)
    ]


def draw(bench: Workbench) -> list[str]:
    """The recipes as they are written, each with each of the models."""
    st.session_state.setdefault(KEY, list(FIRST))
    known = every()
    ready = {
        t("Three to begin with"): FIRST,
        t("Every framework, full history"): [each for each in known if each.endswith("/full")],
        t("Every strategy with ReAct"): [each for each in known if each.startswith("react/")],
        t("The whole matrix"): known,
    }
    above, below = st.container(), st.container(horizontal=True, gap="small", key="evaluate-ready")
    with below:  # first, because what they choose is shown above
        for place, (label, some) in enumerate(ready.items()):
            st.button(label, key=f"evaluate-ready-{place}", type="tertiary", icon=":material/checklist:",
                      on_click=_take, args=(tuple(some),))  # fmt: skip
    chosen = st.session_state[KEY]
    options = list(dict.fromkeys([*known, ORACLE, *chosen]))
    texts = above.multiselect(
        t("Recipes"), options, key=KEY, accept_new_options=True, persist_state="session", format_func=apart(options, _called),
        placeholder=t("Choose a framework with its strategy"),
        help=t(
            "Type another one as FRAMEWORK:OPTION=VALUE/STRATEGY, for example react:rounds=5/window:k=3. An oracle is told "
            "the answer: a bound for the others, and no rival of theirs."
        ),
    )  # fmt: skip
    st.session_state.setdefault("evaluate-models", [bench.settings.model])
    offered = list(
        dict.fromkeys(
            [
                "extractive",
                bench.settings.model,
                *st.session_state["evaluate-models"],
                *st.session_state.get(models.KNOWN, []),
            ]
        )
    )
    asked = st.multiselect(
        t("Models"), offered, key="evaluate-models", accept_new_options=True, persist_state="session",
        placeholder=t("Choose or type a model"),
        help=t("Each recipe is asked with each of them. `extractive` works offline; `openai:NAME`; `anthropic:NAME`; "
               "`gguf:PATH` for a model file on this computer."),
    )  # fmt: skip
    if not texts:
        st.markdown(f":red[:material/error: {t('Choose at least one recipe.')}]")
    if not asked:
        st.markdown(f":red[:material/error: {t('Choose at least one model.')}]")
    # With a single model the name is short, as on the command line with its --model.
    return [f"{text}/{model}" if len(asked) > 1 else text for model in asked for text in texts]


def model() -> str | None:
    """Of the recipes that name none."""
    chosen = st.session_state.get("evaluate-models") or [None]
    return chosen[0].strip() if chosen[0] else None


def made(bench: Workbench, texts: Sequence[str], **shared: Any) -> list[Candidate] | None:
    """The recipes; None where one cannot be used, which is said."""
    found = []
    for text in texts:
        try:
            found.append(candidate(bench, text, model=model(), **shared))
        except REFUSED as error:
            st.error(plain(str(error).removeprefix("--recipe ")), title=t("A recipe cannot be used"))
    return found if len(found) == len(texts) else None


def _take(texts: tuple[str, ...]) -> None:
    st.session_state[KEY] = list(texts)


def _called(text: str) -> str:
    if text == ORACLE:
        return t("{framework} told the answer (oracle) / {context}",
                 framework=runs_filters.framework("reflexion"), context=runs_filters.context("full"))  # fmt: skip
    framework, _, context = text.partition("/")
    return f"{runs_filters.framework(framework)} / {runs_filters.context(context)}" if context else text


def _sorted(names: Sequence[str], order: Sequence[str]) -> list[str]:
    """As the docs list them; what is not among them follows by name."""
    return [*(each for each in order if each in names), *sorted(set(names) - set(order))]
