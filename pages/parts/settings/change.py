"""The form for a key or an address.

A key travels from the browser to the file and never back.
"""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.parts.settings import trials
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.config import saved_settings
from research.config.settings import ADDRESSES, Settings, variable
from research.errors import REFUSED
from research.workbench.workbench import Workbench

# Checked in the browser so that a typo does not clear the field; `research.config.saved_settings` checks again.
_KEY: Final = r"^\s*[!-~]+\s*$"
_URL: Final = r"^\s*https?://[^\s@?#]+\s*$"


def form(bench: Workbench, name: str, key: str, url: str, work: trials.Work) -> None:
    """Draw the fields of one service; `key` and `url` are settings fields, or "" if the service has none."""
    # Cleared on submit, or the browser would send the key again with every later event.
    with st.form(f"change-{name}-form", clear_on_submit=True, border=False):
        if key:
            _key(bench.settings, key)
        if url:
            _address(bench.settings, url)
        if key and url:
            st.caption(
                t(
                    "A key is only sent to the address it was entered for. If you change the address, enter the key "
                    "again."
                )
            )
        changeable = [field for field in (key, url) if field and not saved_settings.why_locked(bench.settings, field)]
        if st.form_submit_button(t("Save and test"), type="primary", icon=":material/save:", disabled=not changeable):
            _save(bench, name, changeable, work)
    if key and bench.settings.origin(key) == "saved" or key in bench.settings.withheld:
        with st.popover(t("Remove the key"), icon=":material/delete:", type="tertiary"):
            st.markdown(t("Deletes the key from this computer. This can't be undone."))
            if st.button(t("Remove"), key=f"remove-{name}", icon=":material/delete:"):
                _forget(bench, name, key)


def close() -> None:
    """Close the dialog."""
    st.session_state.pop("change", None)


def _key(settings: Settings, field: str) -> None:
    st.text_input(
        t("New key") if getattr(settings, field) else t("Key"),
        key=f"enter-{field}",
        type="password",
        autocomplete="off",
        validate=(_KEY, t("A key contains no spaces and only ASCII characters. Copy it again.")),
        disabled=bool(saved_settings.why_locked(settings, field)),
        placeholder=t("A key is set (never shown)") if getattr(settings, field) else "",
        help=t("Setting: {name}", name=plain(variable(field))),
    )
    _why(settings, field)


def _address(settings: Settings, field: str) -> None:
    usual = Settings.model_fields[field].default
    st.text_input(
        t("Address"),
        "" if settings.origin(field) == "default" else getattr(settings, field),
        key=f"enter-{field}",
        disabled=bool(saved_settings.why_locked(settings, field)),
        placeholder=usual or t("the service's own address"),
        validate=(_URL, t("Accepted: http://HOST[:PORT][/PATH] or https://…")),
        help=t("Setting: {name}. Leave empty for the default.", name=plain(variable(field))),
    )
    _why(settings, field)


def _why(settings: Settings, field: str) -> None:
    if why := saved_settings.why_locked(settings, field):
        st.caption(f":material/lock: {plain(why)}")


def _save(bench: Workbench, name: str, fields: list[str], work: trials.Work) -> None:
    """Save and test what was entered and close the dialog; on an error show it and keep the previous values."""
    entered = {field: (st.session_state[f"enter-{field}"] or "").strip() or None for field in fields}
    try:
        # An empty address restores the default; an empty key changes nothing.
        saved_settings.save(
            bench.settings, **{field: value for field, value in entered.items() if value or field not in ADDRESSES}
        )
        bench.reload()
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("Nothing was saved"))
        return
    trials.start(bench, name, work, keep=True)
    close()
    st.rerun()


def _forget(bench: Workbench, name: str, key: str) -> None:
    try:
        saved_settings.forget(bench.settings, key)
        bench.reload()
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("The key could not be removed"))
        return
    trials.forget(name)
    trials.forget_stored(bench, name)
    close()
    st.rerun()
