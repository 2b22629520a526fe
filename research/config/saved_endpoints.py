"""Endpoints that are added on the settings page or the command line, saved in `settings.toml` of the home folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from research._util.bounds import within
from research._util.http import base_url, check_key, host_of
from research.config import named_endpoints
from research.config.named_endpoints import Entry
from research.config.saved_settings import LONGEST, edit
from research.config.settings import ENDPOINTS, SAVED_FILE, Settings
from research.errors import ConfigError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

Table = Mapping[str, Any]
"""A saved endpoint as in the file, with its key."""


def why_locked(settings: Settings, name: str) -> str:
    """Return why the endpoint of this name cannot be added, changed or removed; empty when it can."""
    if settings.lock_settings:
        return "the settings are locked by WORKBENCH_LOCK_SETTINGS; change them in the environment"
    found = settings.endpoints.get(name)
    if found and found.origin == "list":
        return f"endpoint {name!r} is set by {named_endpoints.SETTING}, which takes precedence: change it there"
    if settings.user and name in named_endpoints.BY_SETTINGS:
        return f"endpoint {name!r}: choose another name; the settings of this server describe this one"
    return ""


def add(settings: Settings, name: str, entry: Entry, key: str = "", *, replace: bool = False) -> Settings:
    """Save an endpoint with its key, and return the new settings.

    On `ConfigError`, which names what is wrong and never a key, nothing has changed.
    """
    name = name.strip()
    named_endpoints.check_name(name)
    if why := why_locked(settings, name):
        raise ConfigError(why)
    known = settings.endpoints.get(name)
    if known and known.origin == "saved" and not replace:
        raise ConfigError(f"endpoint {name!r} exists; remove it first, or choose another name")
    if entry.key_variable and settings.user:
        raise ConfigError(
            f"endpoint {name!r}: where users sign in, a user's endpoint cannot read environment variables; enter the key"
        )
    key = key.strip()
    table = _table(entry)
    # The check that reads the file, so that nothing unreadable is saved.
    entry = named_endpoints.entry_of(name, table, "endpoints")
    url = _address(name, entry)
    for each in (key, *entry.headers.values()):
        within(LONGEST, f"the key of endpoint {name!r}", each)
        check_key(each, f"the key of endpoint {name!r}")
    if key and name in named_endpoints.BY_SETTINGS:
        raise ConfigError(f"endpoint {name!r}: save its key as {name.upper()}_API_KEY")
    if key:
        table["key"] = {"key": key, "for": host_of(url)}
    return _write(settings, name, table)


def remove(settings: Settings, name: str) -> tuple[Settings, Table]:
    """Remove a saved endpoint; return the new settings, and the value for `restore`.  Raises `ConfigError`."""
    if why := why_locked(settings, name):
        raise ConfigError(why)
    known = settings.endpoints.get(name)
    if known is None or known.origin != "saved":
        saved = [each.name for each in settings.endpoints.values() if each.origin == "saved"]
        raise ConfigError(f"endpoint {name!r} is not saved in {SAVED_FILE}; saved: {', '.join(saved) or 'none'}")
    removed: dict[str, Any] = {}

    def change(document: TOMLDocument) -> None:
        tables = document[ENDPOINTS]
        removed.update(tables.pop(name).unwrap())
        if not tables:
            del document[ENDPOINTS]

    return edit(settings, change), removed


def restore(settings: Settings, name: str, table: Table) -> Settings:
    """Save again what `remove` returned.  Raises `ConfigError`."""
    if why := why_locked(settings, name):
        raise ConfigError(why)
    named_endpoints.entry_of(name, table, "endpoints")
    return _write(settings, name, table)


def _table(entry: Entry) -> dict[str, Any]:
    table: dict[str, Any] = msgspec.to_builtins(entry)
    if "url" in table:
        table["url"] = table["url"].strip().rstrip("/")
    return table


def _address(name: str, entry: Entry) -> str:
    """Return the checked address for a new endpoint's key.  Raises `ConfigError`."""
    preset = named_endpoints.presets().get(named_endpoints.preset_of(name, entry))
    url = entry.url or (preset.url if preset else "")
    if not url and name not in named_endpoints.BY_SETTINGS and not (preset and preset.kind in ("bedrock", "vertex")):
        presets = ", ".join(each for each, one in named_endpoints.presets().items() if one.url)
        raise ConfigError(f"endpoint {name!r} has no address; give its URL, or name a preset: {presets}")
    if entry.url:
        base_url(entry.url, f"the address of endpoint {name!r}")
        within(LONGEST, f"the address of endpoint {name!r}", entry.url)
    return url


def _write(settings: Settings, name: str, table: Table) -> Settings:
    def change(document: TOMLDocument) -> None:
        import tomlkit

        if ENDPOINTS not in document:
            document[ENDPOINTS] = tomlkit.table(is_super_table=True)
        written = tomlkit.table()
        for field, value in table.items():
            if isinstance(value, Mapping):
                inline = tomlkit.inline_table()
                inline.update(dict(value))
                value = inline
            written[field] = value
        document[ENDPOINTS][name] = written

    return edit(settings, change)
