"""Named endpoints: model services by name, from presets, `WORKBENCH_ENDPOINTS` and the saved settings.

This module only reads and combines them; clients are built from `research.models.endpoint`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct
from pydantic import SecretStr

from research import plugins
from research._util import decoding
from research._util.http import host_of
from research._util.paths import resolved
from research.errors import ConfigError

SETTING: Final = "WORKBENCH_ENDPOINTS"
NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
BY_SETTINGS: Final = ("openai", "anthropic")
"""Endpoints whose address and key are settings of their own, such as OPENAI_API_KEY."""
PROTOCOLS: Final = ("openai", "anthropic", "azure", "bedrock", "vertex", "ollama")
Origin = Literal["list", "saved", "variable", "preset"]
"""Where an endpoint is defined: in WORKBENCH_ENDPOINTS, on the settings page, by a preset's variable that is set, or only
by a preset of a local server."""


class Probe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a local server is recognised; see `presets.toml`."""

    signs: Mapping[str, str]
    models: str
    list: str
    name: str


class Preset(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known about a service; see `presets.toml`."""

    title: str
    kind: str = "openai"
    url: str = ""
    hosts: tuple[str, ...] = ()
    key_variable: str = ""
    url_variable: str = ""
    version_variable: str = ""
    region_variable: str = ""
    project_variable: str = ""
    models: str = "models"
    local: bool = False
    api: str = "auto"
    timeout_s: float = 0
    note: str = ""
    quirks: Mapping[str, Any] = {}
    probe: Probe | None = None

    @property
    def trigger(self) -> str:
        """The variable that, if set, creates an endpoint."""
        return self.key_variable or self.project_variable

    def serves(self, host: str) -> bool:
        """Return whether a result of `host_of` belongs to the service."""
        name = host.partition("://")[2]
        return bool(self.url) and host == host_of(self.url) or any(fnmatchcase(name, each) for each in self.hosts)


class SavedKey(Struct, frozen=True):
    """A key with the address that it was entered for."""

    key: str
    goes_to: str = msgspec.field(name="for")


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An endpoint as written; its preset supplies the rest."""

    kind: str = ""
    """A preset, or a protocol; empty: recognised by the address."""
    url: str = ""
    key: str | SavedKey = ""
    key_variable: str = ""
    """The variable that has the key."""
    model: str = ""
    """The model that is tested, and offered first."""
    context: int = 0
    """Tokens of prompt and reply together; 0: as the price table or the server says."""
    requests_per_minute: float = 0
    tokens_per_minute: float = 0
    prices: Mapping[str, float] | None = None
    """US dollars for a million tokens: `input`, `output`, and where they differ `cache_read` and `cache_write`."""
    quirks: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    api: str = ""
    api_version: str = ""
    region: str = ""
    project: str = ""
    timeout_s: float = 0
    local: bool = False
    """Its server is the user's own: data sent there stays here. Not needed for one on this machine."""


class Configured(Struct, frozen=True, kw_only=True):
    """An endpoint with all that is known about it; may be incomplete."""

    name: str
    entry: Entry
    """Without its key."""
    preset: str
    """Its preset's name; empty: none."""
    origin: Origin
    url: str
    key: SecretStr | None = None
    withheld: SecretStr | None = None
    """A saved key that does not count, because it was entered for another address."""
    key_from: str = ""
    """Where the key comes from: `saved`, WORKBENCH_ENDPOINTS, or the name of a variable."""
    problem: str = ""
    """What the endpoint still lacks; empty: nothing."""

    @property
    def service(self) -> Preset:
        return presets().get(self.preset) or Preset(title=self.name, kind=self.entry.kind or "openai")


@cache
def presets() -> Mapping[str, Preset]:
    """Return the presets by name."""
    with Path(__file__).with_name("presets.toml").open("rb") as file:
        return decoding.convert(tomllib.load(file), dict[str, Preset])


def parse(text: str) -> dict[str, Entry]:
    """Return the endpoints of WORKBENCH_ENDPOINTS: a JSON object, or the path of a TOML file.  Raises `ConfigError`."""
    text = text.strip()
    if not text:
        return {}
    if text.startswith("{"):
        try:
            found = decoding.decode(text, dict[str, Any])
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{SETTING} is not valid JSON: {error}") from None
        return {name: entry_of(name, value, SETTING) for name, value in found.items()}
    path = resolved(Path(text))
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{SETTING}: {text} cannot be read ({error.strerror}); name a TOML file, or write a JSON object"
        ) from error
    except ValueError as error:  # from TOML or UTF-8; both messages give a position, not a value
        raise ConfigError(f"{SETTING}: {text} is damaged ({error})") from error
    return {name: entry_of(name, value, f"{SETTING} ({path.name})") for name, value in found.items()}


def entry_of(name: str, value: Any, source: str) -> Entry:
    """Return the endpoint that a table describes.  Raises `ConfigError` that names what is wrong, without a key."""
    check_name(name, source)
    try:
        entry = decoding.convert(value, Entry)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{source}: endpoint {name!r}: {error}; known: {', '.join(Entry.__struct_fields__)}"
        ) from None
    if name in BY_SETTINGS:
        if wrong := [each for each in ("kind", "url", "key", "key_variable") if getattr(entry, each)]:
            raise ConfigError(
                f"{source}: endpoint {name!r} cannot have {wrong[0]!r}: its address and key are "
                f"{name.upper()}_BASE_URL and {name.upper()}_API_KEY; choose another name for another service"
            )
    elif entry.kind and entry.kind not in (*presets(), *PROTOCOLS):
        raise ConfigError(f"{source}: endpoint {name!r}: unknown kind {entry.kind!r}; known: {', '.join(presets())}")
    for field in ("context", "requests_per_minute", "tokens_per_minute", "timeout_s"):
        if not 0 <= getattr(entry, field) < 1e12:
            raise ConfigError(f"{source}: endpoint {name!r}: {field} {getattr(entry, field)}; expected 0 or more")
    return entry


def check_name(name: str, source: str = "") -> None:
    """Raise `ConfigError` for a name that no endpoint can have."""
    start = f"{source}: " if source else ""
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"{start}endpoint {name[:60]!r}: a name has up to 40 lowercase letters, digits, dots, hyphens and underscores"
        )
    if name not in BY_SETTINGS and name in plugins.provider.names():
        raise ConfigError(f"{start}endpoint {name!r}: that name is taken by a model provider; choose another")


def collect(
    listed: Mapping[str, Entry], saved: Mapping[str, Entry], variables: Mapping[str, str], *, user: str
) -> dict[str, Configured]:
    """Return every endpoint by name: the listed, the saved, and those whose preset's variable is set.

    With login, a user's own endpoint reads no variable: the administrator's keys go with the administrator's prices.
    """
    found = {
        name: _configured(name, Entry(), "variable", variables, user)
        for name, preset in presets().items()
        if name not in BY_SETTINGS and preset.trigger and variables.get(preset.trigger)
    }
    own: Mapping[str, str] = {} if user else variables
    found |= {name: _configured(name, entry, "saved", own, user) for name, entry in saved.items()}
    found |= {name: _configured(name, entry, "list", variables, user) for name, entry in listed.items()}
    return found


def local(variables: Mapping[str, str]) -> dict[str, Configured]:
    """Return the endpoints of local servers at their usual addresses, by the names of their presets."""
    return {name: _configured(name, Entry(), "preset", variables, "") for name, each in presets().items() if each.local}


def preset_of(name: str, entry: Entry) -> str:
    """Return an endpoint's preset by its kind, else its address, else its name; empty: none.

    Local servers share ports, so their addresses say nothing.
    """
    if entry.kind and entry.kind != "openai":
        return entry.kind
    named = name if name in presets() and not entry.kind else ""
    if entry.url:
        host = host_of(entry.url)
        found = next((each for each, preset in presets().items() if not preset.local and preset.serves(host)), "")
        return found or (named if named and presets()[named].local else "")
    return entry.kind or named


def _configured(name: str, entry: Entry, origin: Origin, variables: Mapping[str, str], user: str) -> Configured:
    preset_name = preset_of(name, entry)
    preset = presets().get(preset_name, Preset(title=name))
    url = (entry.url or variables.get(preset.url_variable, "")).strip() or preset.url
    entry = msgspec.structs.replace(
        entry,
        api_version=entry.api_version or variables.get(preset.version_variable, ""),
        region=entry.region or variables.get(preset.region_variable, ""),
        project=entry.project or variables.get(preset.project_variable, ""),
    )
    given = entry.key.key if isinstance(entry.key, SavedKey) else entry.key
    found = Configured(
        name=name, entry=msgspec.structs.replace(entry, key=""), preset=preset_name, origin=origin, url=url
    )
    if name in BY_SETTINGS:
        return found
    key, key_from, problem = _key(found, entry.key, preset, variables, user)
    key = key.strip()
    if preset.url_variable and not url:
        problem = f"set {preset.url_variable}, or give its address"
    elif not url and preset.kind not in ("bedrock", "vertex"):
        problem = "it has no address"
    elif not problem and not key and preset.key_variable and not preset.local and preset.serves(host_of(url)):
        problem = f"it has no key: set {preset.key_variable}, or enter one"
    return msgspec.structs.replace(
        found,
        key=SecretStr(key) if key else None,
        withheld=SecretStr(given) if given and not key else None,
        key_from=key_from if key else "",
        problem=problem,
    )


def _key(
    found: Configured, given: str | SavedKey, preset: Preset, variables: Mapping[str, str], user: str
) -> tuple[str, str, str]:
    """Return the key, its source, and why a given key does not count.

    A key is sent to the address it was entered for.  The variable of a preset has the key of that service: it is used
    only for the service's own address, whoever entered the endpoint: visitors of a page must not receive a key that
    they do not know.
    """
    entry, host = found.entry, host_of(found.url)
    if isinstance(given, SavedKey):
        if given.goes_to != host:
            return "", "", "its key was entered for another address; enter it again"
        return given.key, "saved", ""
    if given:
        return given, SETTING if found.origin == "list" else "saved", ""
    if entry.key_variable:
        if found.origin == "saved" and user:
            return "", "", "with a login, an endpoint of a user reads no variable; enter the key"
        value = variables.get(entry.key_variable, "")
        return value, entry.key_variable, "" if value else f"the variable {entry.key_variable} is not set"
    usual = host_of(variables.get(preset.url_variable, "") or preset.url)
    own = host == usual or (found.origin == "list" and preset.serves(host))
    if preset.key_variable and own:
        return variables.get(preset.key_variable, ""), preset.key_variable, ""
    return "", "", ""


def keys(endpoints: Mapping[str, Configured]) -> Iterator[str]:
    """Yield every key and header of the endpoints, to redact them."""
    for each in endpoints.values():
        yield from (secret.get_secret_value() for secret in (each.key, each.withheld) if secret)
        yield from each.entry.headers.values()
