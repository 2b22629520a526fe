"""The recipes of an evaluation: framework × strategy × model, chosen one by one or as a ready-made set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import streamlit as st

from pages.parts.shared import models, private, titles
from pages.parts.shared.language import t
from pages.parts.shared.words import unique_labels
from research import defaults
from research.errors import REFUSED
from research.evaluation import Candidate, candidate, oracles
from research.workbench.recipes import pairs
from research.workbench.workbench import Workbench

KEY: Final = "evaluate-recipes"


def every() -> list[str]:
    """Return all valid pairs of framework and strategy, spelled as on the command line."""
    return [f"{framework}/{context}" for framework, context in pairs()]


def draw(bench: Workbench) -> list[str]:
    """Draw the choices and return the recipes, each combined with each model."""
    st.session_state.setdefault(KEY, list(defaults.EVALUATED))
    known, first = every(), defaults.FRAMEWORK
    ready = {
        t("Three to start with"): defaults.EVALUATED,
        t("Every framework, full history"): [each for each in known if each.endswith(f"/{defaults.CONTEXT}")],
        t("Every strategy with {framework}", framework=titles.framework(first)): [
            each for each in known if each.startswith(f"{first}/")
        ],
        t("All combinations"): known,
    }
    above, below = st.container(), st.container(horizontal=True, gap="small", key="evaluate-ready")
    with below:  # drawn first, because their choice is shown above
        for place, (label, some) in enumerate(ready.items()):
            st.button(
                label,
                key=f"evaluate-ready-{place}",
                type="tertiary",
                icon=":material/checklist:",
                on_click=_take,
                args=(tuple(some),),
            )
    chosen = st.session_state[KEY]
    options = list(dict.fromkeys([*known, *oracles(), *chosen]))
    texts = above.multiselect(
        t("Recipes"),
        options,
        key=KEY,
        accept_new_options=True,
        persist_state="session",
        format_func=unique_labels(options, _called),
        placeholder=t("Choose a framework and strategy"),
        help=t(
            "Type another one as FRAMEWORK:OPTION=VALUE/STRATEGY, for example react:rounds=5/window:k=3. An "
            "oracle knows the answer; it is an upper bound only."
        ),
    )
    asked = _models(bench)
    if not texts:
        st.markdown(f":red[:material/error: {t('Choose at least one recipe.')}]")
    if not asked:
        st.markdown(f":red[:material/error: {t('Choose at least one model.')}]")
    # With a single model the names omit it, as on the command line with --model.
    return [f"{text}/{model}" if len(asked) > 1 else text for model in asked for text in texts]


def _models(bench: Workbench) -> list[str]:
    """Draw the selector of models and return the chosen ones."""
    st.session_state.setdefault("evaluate-models", [bench.settings.model])
    return st.multiselect(
        t("Models"),
        models.offered(bench, *st.session_state["evaluate-models"]),
        key="evaluate-models",
        accept_new_options=True,
        persist_state="session",
        format_func=titles.model,
        placeholder=t("Choose or type a model"),
        help=t(
            "Each recipe runs with each model. The offline model needs no key; others: `openai:NAME`; `anthropic:NAME`; "
            "`gguf:PATH` for a model file on this computer."
        ),
    )


def model() -> str | None:
    """Return the model for recipes that name none."""
    chosen = st.session_state.get("evaluate-models") or [None]
    return chosen[0].strip() if chosen[0] else None


def made(bench: Workbench, texts: Sequence[str], **shared: Any) -> list[Candidate] | None:
    """Return the recipes, or None after showing an error if one is invalid."""
    found = []
    for text in texts:
        try:
            found.append(candidate(bench, text, model=model(), **shared))
        except REFUSED as error:
            if private.refused(bench, error, t("A recipe can't be used"), str(error).removeprefix("--recipe ")):
                break  # it is one question for all of them
    return found if len(found) == len(texts) else None


def _take(texts: tuple[str, ...]) -> None:
    st.session_state[KEY] = list(texts)


def _called(text: str) -> str:
    framework, _, context = text.partition("/")
    if text in oracles():
        return t(
            "{framework}, knows the answer (oracle) / {context}",
            framework=titles.framework(framework.partition(":")[0]),
            context=titles.context(context),
        )
    return f"{titles.framework(framework)} / {titles.context(context)}" if context else text
