"""What a new run starts with, unless it says otherwise."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import streamlit as st

from pages.parts import models, settings_trials
from pages.parts.language import later, t
from pages.parts.safe import plain
from pages.parts.settings_services import ORIGINS
from pages.parts.words import count
from research import embedders, keys
from research.errors import REFUSED, ConfigError
from research.settings import Settings, variable
from research.workbench import Workbench

FIELDS: Final = ("model", "reader", "python_tool", "search_cache_s", "gguf_context", "embedder")
READERS: Final = {"direct": later("The workbench itself"), "jina": later("Jina Reader, which learns each address")}
SANDBOXES: Final = {
    "auto": later("The first that is safe here"), "cpython": later("Sealed CPython, with numpy and plots"),
    "monty": later("Monty, without numpy"),
}  # fmt: skip
_HOUR_S: Final = 3600


def draw(bench: Workbench) -> None:
    """The form; what is set elsewhere is shown and cannot be changed."""
    settings = bench.settings
    with st.form("defaults", width=760):
        entered: dict[str, Any] = {
            "model": _typed(
                settings, "model", t("Model"),
                ["extractive", *st.session_state.get(models.KNOWN, [])], t("The model a new run starts with."),
            ),
            "reader": _picked(settings, "reader", t("Web pages are read by"), READERS),
            "python_tool": _picked(settings, "python_tool", t("The Python of a model runs in"), SANDBOXES),
            "search_cache_s": st.number_input(
                t("Hours that search results are kept"), 0.0, None, settings.search_cache_s / _HOUR_S, 1.0,
                key="default-search_cache_s", format="%g", disabled=_closed(settings, "search_cache_s"),
                help=t("The same question to the same service is then answered at once; 0 keeps none."),
            ) * _HOUR_S,
            "gguf_context": st.number_input(
                t("Tokens a model file may hold in mind"), 512, None, settings.gguf_context, 1024,
                key="default-gguf_context", disabled=_closed(settings, "gguf_context"),
                help=t("Prompt and reply of a `gguf:` model together; fewer if the model was trained on fewer."),
            ),
            "embedder": _typed(
                settings, "embedder", t("Encoder"),
                [name for name in embedders.known() if name.partition(":")[2] not in ("MODEL_ID_OR_PATH",)],
                t("`sentence-transformers:` with a name of the Hugging Face hub or a folder can be typed, too."),
            ),
        }  # fmt: skip
        passages = sum(info.passages for info in bench.library.collections())
        st.caption(
            t(
                "Another encoder makes the vectors of {passages} and of the memory anew, in the background. Until then the "
                "library is searched by words alone, and the memory can be read, but not searched, added to or recalled "
                "from. Vectors of two encoders are never mixed. A model of the hub is downloaded with the first text.",
                passages=count(passages, "passage"),
            )
        )
        for field in FIELDS:
            if settings.origin(field) not in ("saved", "default"):
                origin = t(ORIGINS[settings.origin(field)])
                st.caption(f":material/lock: {plain(variable(field))}: {origin}")
        if st.form_submit_button(t("Save"), type="primary", icon=":material/save:", disabled=settings.lock_settings):
            _save(bench, entered)


def _closed(settings: Settings, field: str) -> bool:
    return bool(keys.closed(settings, field))


def _typed(settings: Settings, field: str, label: str, known: list[str], help_text: str) -> str:
    now = getattr(settings, field)
    names = list(dict.fromkeys([*known, now]))
    chosen = st.selectbox(
        label, names, names.index(now), key=f"default-{field}", accept_new_options=True, help=help_text,
        disabled=_closed(settings, field),
    )  # fmt: skip
    return str(chosen or now)


def _picked(settings: Settings, field: str, label: str, known: dict[str, str]) -> str:
    names = list(known)
    return st.selectbox(
        label, names, names.index(getattr(settings, field)), key=f"default-{field}", disabled=_closed(settings, field),
        format_func=lambda each: t(known[each]),
    )  # fmt: skip


def _save(bench: Workbench, entered: dict[str, Any]) -> None:
    """Keep what differs from the usual; or say what is wrong, and leave the form as it is."""
    settings = bench.settings
    changed = {field: value for field, value in entered.items() if value != getattr(settings, field)}
    usual = {field for field, value in changed.items() if value == Settings.model_fields[field].default}
    try:
        if "model" in changed:
            bench.model(changed["model"])
        if "embedder" in changed:
            embedders.create(changed["embedder"])
        keys.save(settings, **{field: None if field in usual else value for field, value in changed.items()})
        bench.reload()
    except REFUSED as error:
        st.error(plain(str(error)), title=t("Nothing was saved"))
        return
    if "embedder" in changed:
        settings_trials.forget("encoder")
        bench.library.start_embedding()
        with suppress(ConfigError):  # where its file cannot be read, its page says so
            if bench.memory.other_encoder:
                bench.renewal.start()
    st.toast(t("Saved."), icon=":material/check:")
