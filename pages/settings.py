"""The Settings page: services and their keys, defaults, data and system."""

from __future__ import annotations

import streamlit as st

from pages.parts.settings import caps, defaults, endpoints, system
from pages.parts.settings import services as settings_services
from pages.parts.shared import home, language, private
from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain
from research.config.settings import ADDRESSES

home.start_with_app()
SECTIONS = {
    "models": later("Models"),
    "endpoints": later("Endpoints"),
    "search": later("Search services"),
    "defaults": later("Defaults"),
    "data": later("Data"),
    "system": later("System"),
    "language": later("Language"),
}


def opened() -> None:
    """Put the chosen section into the page address."""
    st.query_params["section"] = st.session_state["settings-section"]


st.title(t("Settings"), anchor=False)
linked = st.query_params.get("section", "")
st.session_state["settings-section"] = linked if linked in SECTIONS else "models"
section = st.segmented_control(
    t("Section"),
    list(SECTIONS),
    format_func=lambda each: t(SECTIONS[each]),
    required=True,
    key="settings-section",
    on_change=opened,
    label_visibility="collapsed",
)
bench = home.bench()
settings = bench.settings
with st.container():  # always drawn, so that the rows below keep their place
    if settings.lock_settings:
        st.info(t("The administrator of this server has locked the settings. You can view them here."))
    elif section in ("models", "search") and not any(getattr(settings, key) for key in ADDRESSES):
        st.caption(
            t(
                "The offline model, the library, your own documents and the calculator work without a key. Keys "
                "add language models and more reliable web search."
            )
        )

with st.container(width=960):
    if section in ("models", "search"):
        services = settings_services.providers() if section == "models" else settings_services.searchers()
        for service in services:
            settings_services.draw(bench, service)
        settings_services.change(bench, services)
    elif section == "endpoints":
        endpoints.draw(bench)
    elif section == "defaults":
        defaults.draw(bench)
    elif section == "data":
        caps.draw(bench)
        private.remembered(bench)
        system.data(bench)
    elif section == "system":
        system.parts(bench)
    else:
        language.choice()
    if section != "language":
        st.caption(t("Settings are saved in {path}.", path=plain(str(settings.home / "settings.toml"))))
