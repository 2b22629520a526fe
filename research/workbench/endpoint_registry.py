"""The endpoints of this workbench: each one's problems, and the clients of their models."""

from __future__ import annotations

from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from research import plugins
from research._util import decoding
from research._util.http import is_loopback
from research.config import named_endpoints, saved_endpoints
from research.config.named_endpoints import BY_SETTINGS, Configured, Entry, Preset
from research.config.settings import Settings
from research.engine.rate_limit import Rate, parse_rates
from research.errors import ConfigError
from research.events.recipe import provider_of
from research.models import endpoint
from research.models.endpoint import Endpoint, Prices, Quirks
from research.types import Model

_EXAMPLES: Final = ("openai:gpt-5-mini", "anthropic:claude-sonnet-5-5")
"""Names of models that everybody can set up."""


class Listed(Struct, frozen=True, kw_only=True):
    """An endpoint as lists show it; without its key."""

    name: str
    title: str
    kind: str
    url: str
    origin: str
    """`settings` for the two that have settings of their own, otherwise as `Configured.origin`."""
    key_from: str = ""
    """Where its key comes from; empty: it has none."""
    problem: str = ""
    """What it still lacks; empty: nothing."""
    model: str = ""
    context: int = 0
    requests_per_minute: float = 0
    tokens_per_minute: float = 0
    timeout_s: float = 0
    prices: dict[str, float] | None = None
    lists_models: bool = True
    local: bool = False


def known(settings: Settings) -> list[Listed]:
    """Return the endpoints that are set up, those with settings of their own first."""
    own = [name for name in BY_SETTINGS if _by_settings(settings, name)]
    return [_listed(settings, name) for name in dict.fromkeys([*own, *settings.endpoints])]


def names(settings: Settings) -> list[str]:
    """Return the names that models can begin with: kinds of models, endpoints, and local servers."""
    return sorted({*plugins.provider.names(), *settings.endpoints, *settings.local_endpoints()})


def find(settings: Settings, name: str, model: str = "NAME") -> Endpoint:
    """Return the endpoint of that name.  Raises `ConfigError` that lists the known ones, or says what is missing."""
    configured = _configured(settings, name)
    if configured is None and name not in BY_SETTINGS:
        raise unknown(settings, name)
    if name in BY_SETTINGS:
        base = endpoint.by_settings(settings, name, model)
        if configured is None or (settings.user and configured.origin == "saved"):
            return base
        return _with_entry(base, configured)
    assert configured is not None
    if configured.problem:
        raise ConfigError(f"endpoint {name!r} cannot be used: {configured.problem}")
    return _endpoint(settings, configured)


def unknown(settings: Settings, name: str) -> ConfigError:
    """Return the error for a name that is neither a kind of model nor an endpoint; it says how models are named."""
    if preset := named_endpoints.presets().get(name):
        add = "add it on the Settings page"
        if not settings.user:
            add += f", set {preset.trigger}" if preset.trigger else ""
            add += f", or `python -m research endpoints add {name}{' --key -' if preset.key_variable else ''}` adds it"
        return ConfigError(f"endpoint {name!r} ({preset.title}) is not set up: {add}")
    own = [f"{each.name}:{each.model}" for each in known(settings) if each.model and not each.problem]
    one, other, *_ = dict.fromkeys([*own, *_EXAMPLES])
    return ConfigError(
        f"unknown model provider or endpoint {name!r}; models are named PROVIDER:MODEL, for example {one} or {other}; "
        f"known providers: {', '.join(names(settings))}; add one on the Settings page, or with "
        "`python -m research endpoints add NAME URL`"
    )


def model(settings: Settings, name: str, model: str) -> Model:
    """Return the client of a model of the endpoint.  Raises `ConfigError`."""
    from research.models.served import model_of

    found = find(settings, name, model)
    if not model:
        raise ConfigError(f"{name}: name a model after the colon, e.g. {name}:{_example(settings, name)}")
    return model_of(found, model)


def is_endpoint(settings: Settings, name: str) -> bool:
    """Return whether this start of a model's name is an endpoint, not a kind of model."""
    return name in settings.endpoints or name not in plugins.provider.names()


def lists_models(settings: Settings, name: str) -> bool:
    """Return whether the endpoint's service can be asked for its models."""
    configured = _configured(settings, name)
    return bool(configured.service.models) if configured else True


def judges(settings: Settings, model: str) -> bool:
    """Return whether the model judges citations by default.  Raises `ConfigError` for an unknown provider."""
    kind = model.partition(":")[0]
    if not is_endpoint(settings, kind):
        return plugins.provider.get(kind).written_by == "model"
    if _configured(settings, kind) is None and kind not in BY_SETTINGS:
        raise unknown(settings, kind)
    return True


def free(settings: Settings, model: str) -> bool:
    """Return whether the model's tokens are free: it runs in this process, or on a local server.

    An endpoint saved by a user is not free: only its own entry says what is behind its address.
    """
    kind = model.partition(":")[0]
    if not is_endpoint(settings, kind):
        return provider_of(model).local
    configured = _configured(settings, kind)
    return configured is not None and configured.origin != "saved" and _on_this_machine(configured)


def in_process(settings: Settings, model: str) -> bool:
    """Return whether the model runs in this process, so that asking it needs no connection."""
    kind = model.partition(":")[0]
    return not is_endpoint(settings, kind) and kind not in BY_SETTINGS and provider_of(model).local


def near(settings: Settings, model: str) -> bool:
    """Return whether data for a model stays here: it runs in this process, or its endpoint is marked local."""
    kind, _, name = model.partition(":")
    if in_process(settings, model):
        return True
    if not is_endpoint(settings, kind) and kind not in BY_SETTINGS:
        return False
    if name.endswith(("-cloud", ":cloud")):  # Ollama passes these on
        return False
    configured = _configured(settings, kind)
    if configured is not None and configured.entry.local:
        return True
    given = getattr(settings, f"{kind}_base_url", None) if kind in BY_SETTINGS else None
    return is_loopback(given or (configured.url if configured else ""))


def add(settings: Settings, name: str, entry: Entry, key: str = "", *, replace: bool = False) -> Settings:
    """Check and save an endpoint, and return the new settings.  On `ConfigError`, nothing has changed."""
    _prices(name, entry)
    _quirks(name, entry, Preset(title=name))
    return saved_endpoints.add(settings, name, entry, key, replace=replace)


def rates(settings: Settings) -> dict[str, Rate]:
    """Return the limits on requests and tokens per minute by the start of a model's name.  Raises `ConfigError`.

    The administrator's limits apply besides those of the endpoints.
    """
    admin = parse_rates(settings.rate_limits, names(settings))
    found = {name: Rate(requests=number, shared=True) for name, number in admin.items()}
    for name, each in settings.endpoints.items():
        entry, limit = each.entry, found.get(name, Rate())
        requests = [rate for rate in (limit.requests, entry.requests_per_minute) if rate]
        if requests or entry.tokens_per_minute:
            own = bool(settings.user) and each.origin == "saved" and not limit.requests
            found[name] = Rate(min(requests, default=0.0), entry.tokens_per_minute, shared=not own)
    return found


def _configured(settings: Settings, name: str) -> Configured | None:
    return settings.endpoints.get(name) or (
        None if name in plugins.provider.names() else settings.local_endpoints().get(name)
    )


def _by_settings(settings: Settings, name: str) -> bool:
    return bool(getattr(settings, f"{name}_api_key")) or getattr(settings, f"{name}_base_url") is not None


def _listed(settings: Settings, name: str) -> Listed:
    configured = settings.endpoints.get(name)
    entry = configured.entry if configured else Entry()
    if name in BY_SETTINGS:
        preset = named_endpoints.presets()[name]
        url = getattr(settings, f"{name}_base_url") or preset.url
        key = bool(getattr(settings, f"{name}_api_key"))
        origin, key_from = "settings", f"{name.upper()}_API_KEY" if key else ""
        problem = "" if _by_settings(settings, name) else f"set {name.upper()}_API_KEY"
    else:
        assert configured is not None
        preset, url, origin = configured.service, configured.url, configured.origin
        key_from, problem = configured.key_from, configured.problem
    return Listed(
        name=name,
        title=preset.title,
        kind=preset.kind,
        url=url,
        origin=origin,
        key_from=key_from,
        problem=problem,
        model=entry.model,
        context=entry.context,
        requests_per_minute=entry.requests_per_minute,
        tokens_per_minute=entry.tokens_per_minute,
        timeout_s=entry.timeout_s,
        prices=dict(entry.prices) if entry.prices is not None else None,
        lists_models=bool(preset.models),
        local=preset.local,
    )


def _endpoint(settings: Settings, configured: Configured) -> Endpoint:
    entry, preset, name = configured.entry, configured.service, configured.name
    found = Endpoint(
        name=name,
        kind=_convert(preset.kind, endpoint.Kind, f"endpoint {name!r}: kind"),
        base_url=_base_url(configured) or None,
        key=configured.key,
        api=_convert(entry.api or preset.api, Literal["auto", "chat", "responses"], f"endpoint {name!r}: api"),
        quirks=_quirks(name, entry, preset),
        headers=dict(entry.headers),
        prices=Prices(input=0, output=0) if _on_this_machine(configured) else None,
        near=is_loopback(configured.url) or entry.local,
        api_version=entry.api_version,
        region=entry.region,
        project=entry.project,
        allow_hosts=settings.allowed_hosts if settings.user and configured.origin == "saved" else None,
        timeout_s=entry.timeout_s or preset.timeout_s,
        key_setting=configured.key_from if configured.key_from.isupper() else "",
    )
    return _with_entry(found, configured)


def _on_this_machine(configured: Configured) -> bool:
    return configured.service.local and is_loopback(configured.url)


def _base_url(configured: Configured) -> str:
    """Return the client's address; for a bare Azure resource, that of its API without versions."""
    url = configured.url.rstrip("/")
    bare = configured.service.kind == "azure" and not configured.entry.api_version and not urlsplit(url).path
    return f"{url}/openai/v1" if bare and url else url


def _with_entry(found: Endpoint, configured: Configured) -> Endpoint:
    name, entry = configured.name, configured.entry
    quirks = {**msgspec.to_builtins(found.quirks), **entry.quirks}
    return msgspec.structs.replace(
        found,
        window=entry.context,
        prices=_prices(name, entry) or found.prices,
        quirks=_convert(quirks, Quirks, f"endpoint {name!r}: quirks"),
        timeout_s=entry.timeout_s or found.timeout_s,
        headers={**found.headers, **entry.headers},
    )


def _prices(name: str, entry: Entry) -> Prices | None:
    if entry.prices is None:
        return None
    prices: Prices = _convert(dict(entry.prices), Prices, f"endpoint {name!r}: prices")
    if wrong := [field for field, value in entry.prices.items() if not 0 <= value < float("inf")]:
        raise ConfigError(f"endpoint {name!r}: the price {wrong[0]} is {entry.prices[wrong[0]]}; expected 0 or more")
    return prices


def _quirks(name: str, entry: Entry, preset: Preset) -> Quirks:
    quirks: Quirks = _convert({**preset.quirks, **entry.quirks}, Quirks, f"endpoint {name!r}: quirks")
    return quirks


def _convert(value: Any, kind: Any, what: str) -> Any:
    try:
        return decoding.convert(value, kind)
    except msgspec.ValidationError as error:
        fields: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
        known = f"; known: {', '.join(fields)}" if fields else ""
        raise ConfigError(f"{what}: {error}{known}") from None


def _example(settings: Settings, name: str) -> str:
    found = settings.endpoints.get(name)
    return (found.entry.model if found else "") or "MODEL"
