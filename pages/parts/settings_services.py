"""One row for each service that a key or an address opens: how it stands, a test, and the way to change it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import streamlit as st
from msgspec import Struct
from streamlit.delta_generator import DeltaGenerator

from pages.parts import settings_change, settings_trials
from pages.parts.language import later, t
from pages.parts.safe import plain, prose
from research import doctor, registry
from research.doctor import Check
from research.settings import ADDRESSES, Settings
from research.workbench import Workbench

ORIGINS = {
    "argument": later("given at the start"), "environment": later("set by the environment"), ".env": later("set in .env"),
    "secrets.toml": later("set in secrets.toml"), "saved": later("saved here"), "default": later("the usual one"),
}  # fmt: skip
"""Where a value comes from, shown by `t`."""


class Service(Struct, frozen=True):
    """What can be set up."""

    id: str
    title: str
    summary: str
    work: settings_trials.Work | None
    """Tries it; None where that needs more than the settings say."""
    key: str = ""
    """Field of the key, if it has one."""
    url: str = ""
    """Field of the address, if it can be changed."""
    needs: tuple[str, ...] = ()
    """Of these fields one has to be set; none: it works as it is."""


def models() -> list[Service]:
    """The providers of models; the first two work on this machine."""
    found = []
    for kind in ("extractive", "gguf", "openai", "anthropic"):
        entry = registry.provider.get(kind)
        key, url = f"{kind}_api_key", f"{kind}_base_url"
        served = {"key": key, "url": url, "needs": (key, url)} if key in ADDRESSES else {}
        name = {"extractive": "extractive", "gguf": ""}.get(kind, f"{kind}:*")
        work = partial(doctor.connect, name=name) if name else None
        found.append(Service(kind, entry.title, entry.summary, work, **served))
    return found


def searchers() -> list[Service]:
    """Services for the web and for papers, and the one that reads pages."""
    found = []
    for entry in registry.searcher.all():
        key = f"{entry.id}_api_key" if f"{entry.id}_api_key" in ADDRESSES else ""
        url = f"{entry.id}_url" if f"{entry.id}_url" in Settings.model_fields else ""
        needs = (entry.traits["needs"],) if "needs" in entry.traits else ()
        found.append(
            Service(entry.id, entry.title, entry.summary, partial(doctor.service, name=entry.id), key, url, needs)
        )
    found.sort(key=lambda each: not each.needs)
    reads = later("Opens web pages in a browser of its own; used where the reader of pages is set to it.")
    return [*found, Service("jina", "Jina Reader", reads, doctor.reader, "jina_api_key", "jina_url")]


def draw(bench: Workbench, service: Service) -> None:
    """The row."""
    settings, ready = bench.settings, _ready(bench.settings, service)
    # Read once, and in this order: a trial may end while the row is drawn.
    asking, found = settings_trials.at_work(service.id), settings_trials.found(service.id)
    with frame(f"service-{service.id}") as (words, buttons):
        with words:
            st.markdown(f"**{plain(service.title)}** · {_state(settings, service, found)}")
            st.caption(prose(t(service.summary)))
            if said := _said(settings, service):
                st.caption(said)
            if asking:
                settings_trials.asking(service.id, service.title)
            elif found:
                st.markdown(plain(t(found.text)))
        if service.work:
            buttons.button(
                t("Test"), key=f"test-{service.id}", icon=":material/cable:", disabled=not ready,
                on_click=settings_trials.start, args=(bench, service.id, service.work),
                help=t("Test the connection to {name}.", name=plain(service.title)),
            )  # fmt: skip
        if (service.key or service.url) and not settings.lock_settings:
            buttons.button(
                t("Change") if service.key and getattr(settings, service.key) else t("Set up"),
                key=f"change-{service.id}", icon=":material/edit:",
                on_click=st.session_state.__setitem__, args=("change", service.id),
                help=t("Enter a key or an address for {name}.", name=plain(service.title)),
            )  # fmt: skip


@contextmanager
def frame(key: str) -> Iterator[tuple[DeltaGenerator, DeltaGenerator]]:
    """A row: words, and buttons beside them, or below them on a narrow page."""
    with st.container(border=True, key=key):
        left, right = st.columns([3, 1], vertical_alignment="center", gap="small")
        yield left.container(gap=None), right.container(horizontal=True, horizontal_alignment="right", gap="small")


def change(bench: Workbench, services: list[Service]) -> None:
    """The dialog of the row that was clicked; it stays open when a trial ends and the page is drawn anew."""
    for service in services:
        if service.work and service.id == st.session_state.get("change"):
            opened = st.dialog(plain(service.title), icon=":material/key:", on_dismiss=settings_change.close)
            opened(settings_change.form)(bench, service.id, service.key, service.url, service.work)


def _ready(settings: Settings, service: Service) -> bool:
    return not service.needs or any(getattr(settings, field) for field in service.needs)


def _state(settings: Settings, service: Service, found: Check | None) -> str:
    """How it stands, in a word and an icon."""
    if not _ready(settings, service):
        if service.key:
            return f":orange[:material/key_off: {t('Key missing')}]"
        return f":orange[:material/link_off: {t('Address missing')}]"
    if service.work is None:
        return f":gray[:material/check: {t('Needs no key')}]"
    if found is None:
        return f":gray[:material/help: {t('Not tested')}]"
    if found.state == "ok":
        return f":green[:material/check_circle: {t('Works')}]"
    return f":red[:material/error: {t('Does not work')}]"


def _said(settings: Settings, service: Service) -> str:
    """Where the key comes from, where it goes to, and what of both does not count."""
    said = []
    if service.key in settings.withheld:
        said.append(t("The saved key was entered for another address and is not sent to this one: enter it again."))
    if service.url in settings.withheld:
        said.append(t("The saved address is not used, because the key is set elsewhere."))
    if service.key and getattr(settings, service.key):
        said.append(t("Key {origin}", origin=t(ORIGINS[settings.origin(service.key)])))
    if service.url and settings.origin(service.url) != "default":
        origin = t(ORIGINS[settings.origin(service.url)])
        said.append(t("Address `{url}` ({origin})", url=getattr(settings, service.url).replace("`", ""), origin=origin))
    return " · ".join(said)
