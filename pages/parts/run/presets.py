"""The row of presets: choosing one, saving the current options, and deleting own presets with undo."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.parts.run import choices
from pages.parts.shared import home, undo
from pages.parts.shared.address import changed, starts_at
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.errors import REFUSED
from research.store.saved import Preset
from research.workbench import presets
from research.workbench.presets import BUILT_IN, SHAPE, Choices, Fitted
from research.workbench.workbench import Workbench

OWN: Final = {each.name: each for each in BUILT_IN}
CHOSEN: Final = "chosen-preset"
"""Session key of the name of the chosen preset, or None."""
GAPS: Final = "preset-gaps"
"""Session key of what the chosen preset cannot use here."""


def row(bench: Workbench) -> None:
    """Draw all presets; call it before the options are drawn."""
    known = presets.names(bench)
    if st.session_state.get(CHOSEN) not in known:
        st.session_state[CHOSEN] = None
    name = st.session_state[CHOSEN]
    key = starts_at("preset", name)
    with st.container(key="presets", width="content"):
        st.pills(
            t("Preset"),
            known,
            key=key,
            on_change=changed,
            args=(key, _chosen),
            label_visibility="collapsed",
            persist_state="session",
            wrap=True,
            format_func=lambda name: t(name) if name in OWN else plain(name),
        )


def own(bench: Workbench) -> None:
    """Draw the menu of the user's own presets."""
    with st.popover(t("My presets"), icon=":material/bookmark:", type="tertiary"):
        _own(bench)


def about() -> None:
    """Draw what the chosen preset does, and what it cannot use here."""
    name = st.session_state[CHOSEN]
    about = [t(OWN[name].summary)] if name in OWN else []
    gaps = [choices.gap(each) for each in st.session_state.get(GAPS, ())] if name else []
    if gaps:
        about.append(f":material/info: {' '.join(gaps)}")
    if about:
        st.caption("  \n".join(about))


def choose(bench: Workbench, name: str) -> None:
    """Apply a preset; call it before the options are drawn.

    Raises `ConfigError`.
    """
    found = presets.find(bench, name)
    spelled = next(each for each in presets.names(bench) if each.casefold() == " ".join(name.split()).casefold())
    st.session_state[CHOSEN] = spelled
    fill(found, spelled)


def fill(found: Fitted, name: str = "") -> None:
    """Set the options; a built-in preset leaves the model and unspecified options unchanged."""
    choices.fill(found.choices, SHAPE if name in OWN else choices.EVERYTHING)
    st.session_state[GAPS] = found.gaps


def keep_current(arguments: dict[str, Any]) -> None:
    """Remember the current options for the save button."""
    st.session_state["chosen"] = arguments


def _chosen(name: str | None) -> None:
    st.session_state[CHOSEN] = name
    if name is None:
        return
    try:
        choose(home.bench(), name)
    except REFUSED as error:
        st.session_state[CHOSEN], st.session_state["preset-error"] = None, spoken(error)


def _own(bench: Workbench) -> None:
    own = bench.saved.presets()
    if not own:
        st.caption(t("Save the current options under a name to reuse them with one click."))
    with st.form("keep-preset", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(t("Name"), key="preset-name", placeholder=t("e.g. Weekly review"))
        st.form_submit_button(t("Save"), key="keep-preset-button", on_click=_keep)
    if error := st.session_state.pop("preset-error", ""):
        st.error(plain(error))
    for each in own:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(plain(each.name), width="stretch")
            undo.delete_button(
                t("Delete"),
                f"forget-preset-{each.name}",
                partial(_forget, bench, each),
                t("The preset {name} was deleted.", name=plain(each.name)),
            )


def _keep() -> None:
    bench, name = home.bench(), " ".join(st.session_state["preset-name"].split())
    before = next((each for each in bench.saved.presets() if each.name == name), None)
    try:
        presets.keep(bench, name, Choices(**st.session_state["chosen"]))
    except REFUSED as error:
        st.session_state["preset-error"] = spoken(error)
        return
    st.session_state[CHOSEN], st.session_state["preset-name"] = name, ""
    st.session_state.pop(GAPS, None)
    if before:
        undo.offer(t("The preset {name} was replaced.", name=plain(name)), lambda: bench.saved.save_preset(before))


def _forget(bench: Workbench, preset: Preset) -> Callable[[], None]:
    bench.saved.delete_preset(preset.name)
    return lambda: bench.saved.save_preset(preset)
