"""One row per service: its state, a test, and a dialog for its key or address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import streamlit as st
from msgspec import Struct
from streamlit.delta_generator import DeltaGenerator

from pages.parts.settings import change as settings_change
from pages.parts.settings import trials
from pages.parts.shared import models
from pages.parts.shared.language import later, spoken, t
from pages.parts.shared.safe import plain, prose
from pages.parts.shared.words import ago
from research import defaults, plugins
from research.config.named_endpoints import BY_SETTINGS
from research.config.settings import ADDRESSES, Settings
from research.workbench import diagnostics
from research.workbench.diagnostics import Check
from research.workbench.workbench import Workbench

ORIGINS = {
    "argument": later("given at startup"),
    "environment": later("set by an environment variable"),
    ".env": later("set in .env"),
    "secrets.toml": later("set in secrets.toml"),
    "saved": later("saved here"),
    "default": later("default"),
}
"""Where a setting comes from."""


class Service(Struct, frozen=True):
    """A service that can be set up."""

    id: str
    title: str
    summary: str
    work: trials.Work | None
    """Tests the service; None if that needs more than the settings."""
    key: str = ""
    """Settings field of the key, if any."""
    url: str = ""
    """Settings field of the address, if it can be changed."""
    needs: tuple[str, ...] = ()
    """Fields of which at least one must be set; empty if the service works without."""


def providers() -> list[Service]:
    """Return the model providers, local ones first; those that play scripts need no row."""
    kinds = defaults.ordered((each.id for each in plugins.provider.all() if each.written_by != "script"), BY_SETTINGS)
    found = []
    for entry in sorted(map(plugins.provider.get, kinds), key=lambda each: not each.local):
        key, url = f"{entry.id}_api_key", f"{entry.id}_base_url"
        served = {"key": key, "url": url, "needs": (key, url)} if key in ADDRESSES else {}
        name = entry.id if entry.written_by == "rules" else "" if entry.local else f"{entry.id}:*"
        work = partial(models.listed, name=name) if name else None
        found.append(Service(entry.id, entry.title, entry.summary, work, **served))
    return found


def searchers() -> list[Service]:
    """Return the search services and the page reader."""
    found = []
    for entry in plugins.searcher.all():
        key = f"{entry.id}_api_key" if f"{entry.id}_api_key" in ADDRESSES else ""
        url = f"{entry.id}_url" if f"{entry.id}_url" in Settings.model_fields else ""
        needs = (entry.needs,) if entry.needs else ()
        found.append(
            Service(entry.id, entry.title, entry.summary, partial(diagnostics.service, name=entry.id), key, url, needs)
        )
    found.sort(key=lambda each: not each.needs)
    reads = later("Opens web pages in its own browser. Used when it is chosen as the web page reader.")
    return [*found, Service("jina", "Jina Reader", reads, diagnostics.reader, "jina_api_key", "jina_url")]


def draw(bench: Workbench, service: Service) -> None:
    """Draw the row of a service."""
    settings, ready = bench.settings, _ready(bench.settings, service)
    # Read once and in this order, because a test may end while the row is drawn.
    asking, found = trials.at_work(service.id), trials.found(service.id)
    last = None if asking else trials.last(bench, service.id)
    if last is not None:
        found = last.check
    with frame(f"service-{service.id}") as (words, buttons):
        with words:
            st.markdown(f"**{plain(t(service.title))}** · {_state(settings, service, found)}")
            st.caption(prose(t(service.summary)))
            if notes := _notes(settings, service):
                st.caption(notes)
            if asking:
                trials.asking(service.id, t(service.title))
            elif found:
                st.markdown(plain(spoken(found.text)))
                if last is not None:
                    st.caption(t("Tested {when}", when=ago(last.time)))
                if found.state == "ok":
                    models.choose(bench, service.id)
        if service.work:
            buttons.button(
                t("Try again") if found and found.state == "broken" else t("Test"),
                key=f"test-{service.id}",
                icon=":material/cable:",
                disabled=not ready,
                on_click=trials.start,
                args=(bench, service.id, service.work),
                kwargs={"keep": True},
                help=t("Test the connection to {name}.", name=plain(t(service.title))),
            )
        if (service.key or service.url) and not settings.lock_settings:
            buttons.button(
                t("Change") if service.key and getattr(settings, service.key) else t("Set up"),
                key=f"change-{service.id}",
                icon=":material/edit:",
                on_click=st.session_state.__setitem__,
                args=("change", service.id),
                help=t("Enter a key or address for {name}.", name=plain(t(service.title))),
            )


@contextmanager
def frame(key: str) -> Iterator[tuple[DeltaGenerator, DeltaGenerator]]:
    """Lay out a row: text on the left, buttons on the right, or below on a narrow page."""
    with st.container(border=True, key=key):
        left, right = st.columns([3, 1], vertical_alignment="center", gap="small")
        yield left.container(gap=None), right.container(horizontal=True, horizontal_alignment="right", gap="small")


def change(bench: Workbench, services: list[Service]) -> None:
    """Draw the dialog of the clicked row; it stays open when a test ends and the page reruns."""
    for service in services:
        if service.work and service.id == st.session_state.get("change"):
            opened = st.dialog(plain(t(service.title)), icon=":material/key:", on_dismiss=settings_change.close)
            opened(settings_change.form)(bench, service.id, service.key, service.url, service.work)


def _ready(settings: Settings, service: Service) -> bool:
    return not service.needs or any(getattr(settings, field) for field in service.needs)


def _state(settings: Settings, service: Service, found: Check | None) -> str:
    """Return the state of the service as an icon and a word."""
    if not _ready(settings, service):
        if service.key:
            return f":orange[:material/key_off: {t('Key missing')}]"
        return f":orange[:material/link_off: {t('Address missing')}]"
    if service.work is None:
        return f":gray[:material/check: {t('No key needed')}]"
    if found is None:
        return f":gray[:material/help: {t('Not tested')}]"
    if found.state == "ok":
        return f":green[:material/check_circle: {t('Works')}]"
    return f":red[:material/error: {t('Not working')}]"


def _notes(settings: Settings, service: Service) -> str:
    """Return where the key comes from, where it is sent, and which saved values are ignored."""
    notes = []
    if service.key in settings.withheld:
        notes.append(t("The saved key belongs to another address and is not sent to this one. Enter it again."))
    if service.url in settings.withheld:
        notes.append(t("The saved address is ignored because the key is set elsewhere."))
    if service.key and getattr(settings, service.key):
        notes.append(t("Key {origin}", origin=t(ORIGINS[settings.origin(service.key)])))
    if service.url and settings.origin(service.url) != "default":
        origin = t(ORIGINS[settings.origin(service.url)])
        notes.append(
            t("Address `{url}` ({origin})", url=getattr(settings, service.url).replace("`", ""), origin=origin)
        )
    return " · ".join(notes)
