"""Settings: what can be used here, what it needs, and whether it works."""

from __future__ import annotations

import streamlit as st

from pages.parts import home, language, settings_defaults, settings_services, settings_system
from pages.parts.language import later, t
from pages.parts.safe import plain
from research.settings import ADDRESSES

home.start_with_app()
SECTIONS = {
    "models": later("Models"), "search": later("Search services"), "defaults": later("Defaults"), "data": later("Data"),
    "system": later("System"), "language": later("Language"),
}  # fmt: skip


def opened() -> None:
    """The section that was chosen stands in the address."""
    st.query_params["section"] = st.session_state["settings-section"]


asked = st.query_params.get("section", "")
st.session_state["settings-section"] = asked if asked in SECTIONS else "models"
section = st.segmented_control(
    t("Section"), list(SECTIONS), format_func=lambda each: t(SECTIONS[each]), required=True, key="settings-section",
    on_change=opened, label_visibility="collapsed",
)  # fmt: skip
bench = home.bench()
settings = bench.settings
with st.container():  # always there, so that the rows keep their place when it empties
    if settings.lock_settings:
        st.info(t("The settings are locked by the administrator of this server; they can be read here, not changed."))
    elif section in ("models", "search") and not any(getattr(settings, key) for key in ADDRESSES):
        st.caption(
            t(
                "Everything works without a key: the offline model, the library, your own documents and the calculator. "
                "A key adds language models that write freely, and web search that does not refuse."
            )
        )

with st.container(width=960):
    if section in ("models", "search"):
        services = settings_services.models() if section == "models" else settings_services.searchers()
        for service in services:
            settings_services.draw(bench, service)
        settings_services.change(bench, services)
    elif section == "defaults":
        settings_defaults.draw(bench)
    elif section == "data":
        settings_system.data(bench)
    elif section == "system":
        settings_system.parts(bench)
    else:
        language.choice()
    if section != "language":
        st.caption(t("What is saved here is kept in {path}.", path=plain(str(settings.home / "settings.toml"))))
