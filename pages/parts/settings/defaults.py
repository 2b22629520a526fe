"""The defaults of new runs."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import streamlit as st

from pages.parts.settings import trials
from pages.parts.settings.services import ORIGINS
from pages.parts.shared import models
from pages.parts.shared.language import later, spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import JUDGES, count
from research.citations.verification import check_name
from research.config import saved_settings
from research.config.settings import Settings, variable
from research.errors import REFUSED, ConfigError
from research.search import embedders
from research.workbench.workbench import Workbench

FIELDS: Final = (
    "model",
    "judge",
    "verifier",
    "reader",
    "keep_pages",
    "python_tool",
    "search_cache_s",
    "gguf_context",
    "embedder",
)
READERS: Final = {"direct": later("Built-in reader"), "jina": later("Jina Reader (sees every address)")}
KEEPING: Final = {"on": later("In the library, for later runs and checks"), "off": later("Do not keep them")}
SANDBOXES: Final = {
    "auto": later("Automatic"),
    "cpython": later("Sandboxed CPython, with numpy and plots"),
    "monty": later("Monty, without numpy"),
}
_HOUR_S: Final = 3600


def draw(bench: Workbench) -> None:
    """Draw the form; fields set elsewhere are disabled."""
    settings = bench.settings
    with st.form("defaults", width=760):
        entered: dict[str, Any] = {
            "model": _model(bench),
            **_judging(settings),
            "reader": _picked(settings, "reader", t("Web page reader"), READERS),
            "keep_pages": _picked(settings, "keep_pages", t("Keep the web pages that runs read"), KEEPING),
            "python_tool": _picked(settings, "python_tool", t("Python sandbox"), SANDBOXES),
            "search_cache_s": st.number_input(
                t("Search cache (hours)"),
                0.0,
                None,
                settings.search_cache_s / _HOUR_S,
                1.0,
                key="default-search_cache_s",
                format="%g",
                disabled=_closed(settings, "search_cache_s"),
                help=t("Repeated searches are answered from the cache; 0 turns it off."),
            )
            * _HOUR_S,
            "gguf_context": st.number_input(
                t("Local model context (tokens)"),
                512,
                None,
                settings.gguf_context,
                1024,
                key="default-gguf_context",
                disabled=_closed(settings, "gguf_context"),
                help=t("Prompt and reply of a `gguf:` model together; less if the model was trained on less."),
            ),
            "embedder": _typed(
                settings,
                "embedder",
                t("Encoder"),
                [name for name in embedders.known() if name.partition(":")[2] not in ("MODEL_ID_OR_PATH",)],
                t("You can also type `sentence-transformers:` followed by a Hugging Face model name or a folder."),
            ),
        }
        passages = sum(info.passages for info in bench.library.collections())
        st.caption(
            t(
                "Changing the encoder re-indexes {passages} and the memory in the background. Until that is done,"
                " the library has keyword search only, and memory can be read but not searched, extended or "
                "recalled. A Hugging Face model is downloaded on first use.",
                passages=count(passages, "passage"),
            )
        )
        for field in FIELDS:
            if settings.origin(field) not in ("saved", "default"):
                origin = t(ORIGINS[settings.origin(field)])
                st.caption(f":material/lock: {plain(variable(field))}: {origin}")
        if st.form_submit_button(t("Save"), type="primary", icon=":material/save:", disabled=settings.lock_settings):
            _save(bench, entered)


def _model(bench: Workbench) -> str:
    return _typed(bench.settings, "model", t("Model"), models.offered(bench), t("Model for new runs."))


def _judging(settings: Settings) -> dict[str, Any]:
    judge = _picked(settings, "judge", t("Judge of citations"), JUDGES)
    entered: str = st.text_input(
        t("Verifier"),
        settings.verifier,
        key="default-verifier",
        placeholder="cross-encoder:PATH_OR_ID",
        disabled=_closed(settings, "verifier"),
        help=t(
            "Judges citations instead of the run's language model: `cross-encoder:` followed by a folder or a "
            "Hugging Face model name, or `model:` followed by a model."
        ),
    )
    return {"judge": judge, "verifier": entered.strip()}


def _closed(settings: Settings, field: str) -> bool:
    return bool(saved_settings.why_locked(settings, field))


def _typed(settings: Settings, field: str, label: str, known: list[str], help_text: str) -> str:
    now = getattr(settings, field)
    names = list(dict.fromkeys([*known, now]))
    chosen = st.selectbox(
        label,
        names,
        names.index(now),
        key=f"default-{field}",
        accept_new_options=True,
        help=help_text,
        disabled=_closed(settings, field),
    )
    return str(chosen or now)


def _picked(settings: Settings, field: str, label: str, known: dict[str, str]) -> str:
    names = list(known)
    return st.selectbox(
        label,
        names,
        names.index(getattr(settings, field)),
        key=f"default-{field}",
        disabled=_closed(settings, field),
        format_func=lambda each: t(known[each]),
    )


def _save(bench: Workbench, entered: dict[str, Any]) -> None:
    """Save the values that differ from the defaults; on an error show it and leave the form unchanged."""
    settings = bench.settings
    changed = {field: value for field, value in entered.items() if value != getattr(settings, field)}
    usual = {field for field, value in changed.items() if value == Settings.model_fields[field].default}
    try:
        if "model" in changed:
            bench.model(changed["model"])
        if changed.get("verifier"):
            check_name(changed["verifier"])
        if "embedder" in changed:
            embedders.create(changed["embedder"])
        saved_settings.save(settings, **{field: None if field in usual else value for field, value in changed.items()})
        bench.reload()
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("Nothing was saved"))
        return
    if "embedder" in changed:
        trials.forget("encoder")
        bench.library.start_embedding()
        with suppress(ConfigError):  # the Memory page reports an unreadable file
            if bench.memory.other_encoder:
                bench.reembedding.start()
    st.toast(t("Saved."), icon=":material/check:")
