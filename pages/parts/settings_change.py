"""Entering a key or an address.  A key goes from the browser to the file and never back."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.parts import settings_trials
from pages.parts.language import t
from pages.parts.safe import plain
from research import keys
from research.errors import REFUSED
from research.settings import ADDRESSES, Settings, variable
from research.workbench import Workbench

# Judged before it is sent, so that a slip does not cost the entry; `research.keys` judges it again.
_KEY: Final = r"^\s*[!-~]+\s*$"
_URL: Final = r"^\s*https?://[^\s@?#]+\s*$"


def form(bench: Workbench, name: str, key: str, url: str, work: settings_trials.Work) -> None:
    """The fields of one service; `key` and `url` are fields of the settings, "" where it has none."""
    # Cleared, or the browser would send the key again with whatever the page sends next.
    with st.form(f"change-{name}-form", clear_on_submit=True, border=False):
        if key:
            _key(bench.settings, key)
        if url:
            _address(bench.settings, url)
        if key and url:
            st.caption(
                t(
                    "A key goes to the address it was entered for and to no other: after a change of the address, enter it again."
                )
            )
        changeable = [field for field in (key, url) if field and not keys.closed(bench.settings, field)]
        if st.form_submit_button(t("Save and test"), type="primary", icon=":material/save:", disabled=not changeable):
            _save(bench, name, changeable, work)
    if key and bench.settings.origin(key) == "saved" or key in bench.settings.withheld:
        with st.popover(t("Remove the key"), icon=":material/delete:", type="tertiary"):
            st.markdown(t("The key is deleted from this computer. It cannot be shown or brought back."))
            if st.button(t("Remove"), key=f"remove-{name}", icon=":material/delete:"):
                _forget(bench, name, key)


def close() -> None:
    """The dialog is done with."""
    st.session_state.pop("change", None)


def _key(settings: Settings, field: str) -> None:
    st.text_input(
        t("New key") if getattr(settings, field) else t("Key"), key=f"enter-{field}", type="password",
        autocomplete="off", validate=(_KEY, t("A key has no white space and only letters of ASCII: copy it again.")),
        disabled=bool(keys.closed(settings, field)),
        placeholder=t("A key is set; it is never shown") if getattr(settings, field) else "",
        help=t("The setting {name}.", name=plain(variable(field))),
    )  # fmt: skip
    _why(settings, field)


def _address(settings: Settings, field: str) -> None:
    usual = Settings.model_fields[field].default
    st.text_input(
        t("Address"), "" if settings.origin(field) == "default" else getattr(settings, field), key=f"enter-{field}",
        disabled=bool(keys.closed(settings, field)), placeholder=usual or t("that of the service itself"),
        validate=(_URL, t("Accepted: http://HOST[:PORT][/PATH] or https://…")),
        help=t("The setting {name}. Leave it empty for the usual one.", name=plain(variable(field))),
    )  # fmt: skip
    _why(settings, field)


def _why(settings: Settings, field: str) -> None:
    if why := keys.closed(settings, field):
        st.caption(f":material/lock: {plain(why)}")


def _save(bench: Workbench, name: str, fields: list[str], work: settings_trials.Work) -> None:
    """Keep what was entered, try it, and close the dialog; or say what is wrong and keep what was there before."""
    entered = {field: (st.session_state[f"enter-{field}"] or "").strip() or None for field in fields}
    try:
        # An empty address is the usual one; an empty key is none to be entered.
        keys.save(
            bench.settings, **{field: value for field, value in entered.items() if value or field not in ADDRESSES}
        )
        bench.reload()
    except REFUSED as error:
        st.error(plain(str(error)), title=t("Nothing was saved"))
        return
    settings_trials.start(bench, name, work)
    close()
    st.rerun()


def _forget(bench: Workbench, name: str, key: str) -> None:
    try:
        keys.forget(bench.settings, key)
        bench.reload()
    except REFUSED as error:
        st.error(plain(str(error)), title=t("The key was not removed"))
        return
    settings_trials.forget(name)
    close()
    st.rerun()
