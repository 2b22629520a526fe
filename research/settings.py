"""The only reader of the environment, and of what was entered on the settings page.

Order: the environment, `.env`, `.streamlit/secrets.toml`, then `settings.toml` in the home folder.  Keys are
`SecretStr`: they are taken out where a client is made and nowhere else.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from research.errors import ConfigError

SECRETS_FILE = Path(".streamlit/secrets.toml")
SAVED_FILE: Final = "settings.toml"
"""In the home folder; written by `research.keys`."""
OUTSIDE: Final = frozenset(
    {
        "home", "user", "allow_users", "allow_folders", "allow_hosts", "lock_settings", "database_url", "engine",
        "runs_at_once", "runs_per_user", "rate_limits", "logs", "log_level",
    }
)  # fmt: skip
"""The administrator's alone: never in `settings.toml`."""
USER: Final = re.compile("[0-9a-f]{16}")
"""The key of a user; see `research.users`."""

Origin = Literal["argument", "environment", ".env", "secrets.toml", "saved", "default"]
"""Where a value comes from, first come first served."""


def default_home() -> Path:
    """The platform's folder for a user's data."""
    from platformdirs import user_data_path

    return user_data_path("research-workbench", appauthor=False)


class Settings(BaseSettings):
    """What the workbench was told from outside.  Made by `load`, which also knows where each value comes from."""

    # A value that is refused may be a key: it must not stand in the error.
    model_config = SettingsConfigDict(env_file=".env", extra="ignore", hide_input_in_errors=True, env_ignore_empty=True)

    home: Path = Field(default_factory=default_home, validation_alias="WORKBENCH_HOME")
    """Everything is kept under this folder; for a user, what is his is kept under this one, `users/KEY` of `root`."""
    user: str = Field("", validation_alias="WORKBENCH_USER")
    """Whose things these are: 16 hex digits, see `research.users`; "" is the only one there is without login."""
    allow_users: str = Field("", validation_alias="WORKBENCH_ALLOW_USERS")
    """Who may log in, by checked address and separated by commas, e.g. `alice@example.org,@example.org`; "" is everyone
    whom the provider lets in."""
    allow_folders: str = Field("", validation_alias="WORKBENCH_ALLOW_FOLDERS")
    """Folders of this machine that users may put into their libraries, separated by commas; no login, no such limit."""
    database_url: SecretStr | None = Field(None, validation_alias="DATABASE_URL")
    """A Postgres where runs and memory are kept, `postgresql://…`; without one they are files of the home folder."""
    engine: Literal["here", "workers"] = Field("here", validation_alias="WORKBENCH_ENGINE")
    """Who works on runs: the process that was asked, or whoever runs `python -m research worker`."""
    runs_at_once: int = Field(16, ge=1, validation_alias="WORKBENCH_RUNS_AT_ONCE")
    """Runs that all workers together work on."""
    runs_per_user: int = Field(4, ge=1, validation_alias="WORKBENCH_RUNS_PER_USER")
    """Runs of one user that they work on."""
    rate_limits: str = Field("", validation_alias="WORKBENCH_RATE_LIMITS")
    """Requests a minute to each kind of model by all processes together, e.g. `openai=60,anthropic=30`."""
    logs: Literal["lines", "json"] = Field("lines", validation_alias="WORKBENCH_LOGS")
    """How the log is written to standard error."""
    log_level: Literal["debug", "info", "warning", "error"] = Field("warning", validation_alias="WORKBENCH_LOG_LEVEL")
    lock_settings: bool = Field(False, validation_alias="WORKBENCH_LOCK_SETTINGS")
    """Nothing can be changed on the settings page: for a server that several people use."""
    model: str = Field("extractive", validation_alias="WORKBENCH_MODEL")
    """The model a new run starts with."""
    embedder: str = Field("universal", validation_alias="WORKBENCH_EMBEDDER")
    """`universal`, or `sentence-transformers:MODEL`."""
    allow_hosts: str = Field("", validation_alias="WORKBENCH_ALLOW_HOSTS")
    """Private hosts that `visit` may open, separated by commas, e.g. `wiki.internal`."""
    openai_api_key: SecretStr | None = Field(None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(None, validation_alias="OPENAI_BASE_URL")
    openai_send_reasoning: bool = Field(False, validation_alias="OPENAI_SEND_REASONING")
    """Give past reasoning back with its message: DeepSeek's thinking mode needs it, its older models refuse it."""

    anthropic_api_key: SecretStr | None = Field(None, validation_alias="ANTHROPIC_API_KEY")
    anthropic_base_url: str | None = Field(None, validation_alias="ANTHROPIC_BASE_URL")
    searxng_url: str | None = Field(None, validation_alias="SEARXNG_URL")
    """A SearXNG instance that answers in JSON, e.g. `http://localhost:8888`."""
    tavily_api_key: SecretStr | None = Field(None, validation_alias="TAVILY_API_KEY")
    tavily_url: str = Field("https://api.tavily.com", validation_alias="TAVILY_URL")
    brave_api_key: SecretStr | None = Field(None, validation_alias="BRAVE_API_KEY")
    brave_url: str = Field("https://api.search.brave.com", validation_alias="BRAVE_URL")
    serper_api_key: SecretStr | None = Field(None, validation_alias="SERPER_API_KEY")
    serper_url: str = Field("https://google.serper.dev", validation_alias="SERPER_URL")
    semantic_scholar_api_key: SecretStr | None = Field(None, validation_alias="SEMANTIC_SCHOLAR_API_KEY")
    semantic_scholar_url: str = Field("https://api.semanticscholar.org", validation_alias="SEMANTIC_SCHOLAR_URL")
    openalex_api_key: SecretStr | None = Field(None, validation_alias="OPENALEX_API_KEY")
    openalex_url: str = Field("https://api.openalex.org", validation_alias="OPENALEX_URL")
    arxiv_url: str = Field("https://export.arxiv.org", validation_alias="ARXIV_URL")
    reader: Literal["direct", "jina"] = Field("direct", validation_alias="WORKBENCH_READER")
    """How `visit` reads web pages: by itself, or through Jina Reader (the url is then sent to that service)."""
    jina_api_key: SecretStr | None = Field(None, validation_alias="JINA_API_KEY")
    jina_url: str = Field("https://r.jina.ai", validation_alias="JINA_URL")
    gguf_context: int = Field(8192, ge=512, validation_alias="WORKBENCH_GGUF_CONTEXT")
    """Tokens that prompt and reply of a `gguf:` model share; fewer if the model was trained on fewer."""
    python_tool: Literal["auto", "cpython", "monty"] = Field("auto", validation_alias="WORKBENCH_PYTHON")
    """Where a model's Python runs: sealed CPython (Linux) or Monty; `auto` takes the first that is safe here."""
    memory_capacity: int = Field(1_000, ge=1, le=1_000_000, validation_alias="WORKBENCH_MEMORY_CAPACITY")
    """Entries that the memory holds; beyond it the oldest that is not pinned makes room."""
    search_cache_s: float = Field(86_400, ge=0, validation_alias="WORKBENCH_SEARCH_CACHE_S")
    """Seconds that results of web and scholar services are kept; 0 keeps none."""

    _root: Path = PrivateAttr()
    _origins: dict[str, Origin] = PrivateAttr(default_factory=dict)
    _withheld: frozenset[str] = PrivateAttr(default=frozenset())

    @field_validator("home")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().resolve()

    @field_validator("user")
    @classmethod
    def _key(cls, value: str) -> str:
        if value and not USER.fullmatch(value):
            raise ValueError("a user is given by 16 hex digits in small letters")
        return value

    @model_validator(mode="after")
    def _at_home(self) -> Self:
        self._root = self.home
        if self.user:
            self.home = self.root / "users" / self.user
        return self

    @property
    def root(self) -> Path:
        """The home folder that all users have in common: `home` of the user ""."""
        return self._root

    @property
    def schema(self) -> str:  # type: ignore[override]  # pydantic's own is deprecated
        """The schema of the Postgres database that holds what is this user's."""
        return f"u_{self.user}" if self.user else "workbench"

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        return tuple(host.strip() for host in self.allow_hosts.split(",") if host.strip())

    def origin(self, field: str) -> Origin:
        """Where the value of a field comes from."""
        return self._origins.get(field, "default")

    @property
    def withheld(self) -> frozenset[str]:
        """Saved fields that do not count, so that no key goes to an address it was not given for; see `_together`."""
        return self._withheld

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource, dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:  # fmt: skip
        return (init_settings,)  # `load` asks the others itself: it has to know which one answered


def variable(field: str) -> str:
    """The name under which the user knows a field, e.g. `OPENAI_API_KEY`; "" where there is none."""
    known = Settings.model_fields.get(field)
    return str(known.validation_alias) if known else ""


FIELDS: Final[Mapping[str, str]] = {variable(field): field for field in Settings.model_fields}
"""Field by variable."""
ADDRESSES: Final[Mapping[str, str]] = {
    key: next(url for url in (f"{service}_base_url", f"{service}_url") if url in Settings.model_fields)
    for key in Settings.model_fields
    if (service := key.removesuffix("_api_key")) != key
}
"""The field with the address that a key is sent to, by the key's field."""


def environment() -> Mapping[str, str]:
    """The variables that `mcp.json` may name: those of the process, then those of `.env`."""
    from dotenv import dotenv_values

    file = Settings.model_config.get("env_file")
    kept = dotenv_values(str(file)) if file else {}
    return {**{name: value for name, value in kept.items() if value is not None}, **os.environ}


def load(**overrides: Any) -> Settings:
    """The settings; an override replaces what was found.  Raises `ConfigError` that names the setting."""
    found: dict[Origin, dict[str, Any]] = {
        "argument": {
            str(Settings.model_fields[field].validation_alias): value
            for field, value in overrides.items()
            if value is not None
        },
        "environment": EnvSettingsSource(Settings)(),
        ".env": DotEnvSettingsSource(Settings)(),
        "secrets.toml": _secrets(),
    }
    values, origins = _first(found)
    try:
        whose = ("WORKBENCH_HOME", "WORKBENCH_USER")
        entries = read_saved(Settings(**{name: values[name] for name in whose if name in values}).home)
        found["saved"] = {
            name: entry["key"] if isinstance(entry, Mapping) else entry for name, entry in entries.items()
        }
        values, origins = _first(found)
        withheld = {FIELDS[name] for name in _together(values, origins, entries)}
        values, origins = _first(
            {**found, "saved": {n: v for n, v in found["saved"].items() if FIELDS[n] not in withheld}}
        )
        settings = Settings(**values)
        settings.root.mkdir(mode=0o700, parents=True, exist_ok=True)  # runs and documents are the user's alone
        if settings.user:
            for folder in (settings.home.parent, settings.home):
                folder.mkdir(mode=0o700, exist_ok=True)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise ConfigError(f"setting {name}{_whence(origins.get(name))}: {first['msg']}") from error
    except OSError as error:
        raise ConfigError(
            f"WORKBENCH_HOME {error.filename}: {error.strerror}; name a folder that can be written"
        ) from error
    if not os.access(settings.home, os.W_OK):
        raise ConfigError(f"WORKBENCH_HOME {settings.home}: not writable; name a folder that can be written")
    settings._origins = {FIELDS[name]: origin for name, origin in origins.items()}
    settings._withheld = frozenset(withheld)
    return settings


def again(settings: Settings, *, user: str | None = None) -> Settings:
    """The same as `settings`, read anew; `user`: those of another user.  Raises `ConfigError`."""
    given = {field: getattr(settings, field) for field, each in settings._origins.items() if each == "argument"}
    if "home" in given:
        given["home"] = settings.root
    return load(**given | ({} if user is None else {"user": user}))


def read_saved(home: Path) -> dict[str, Any]:
    """What `settings.toml` holds: a value by its variable, for a key `{key, for}`.  Raises `ConfigError`."""
    path = home / SAVED_FILE
    mend = "mend it, or remove it and enter the settings again"
    try:
        with path.open("rb") as file:
            entries = tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):  # a home that cannot be made is told by `load`
        return {}
    except OSError as error:
        raise ConfigError(f"the settings file {path} cannot be read ({error.strerror}); {mend}") from error
    except ValueError as error:  # TOML or UTF-8; the words of both say where, and quote no value
        raise ConfigError(f"the settings file {path} is damaged ({error}); {mend}") from error
    for name, entry in entries.items():
        if FIELDS.get(name, "home") in OUTSIDE:
            raise ConfigError(f"the settings file {path} holds {name}, which is no setting to be kept there; {mend}")
        key = FIELDS[name] in ADDRESSES
        if isinstance(entry, dict) and not (key and isinstance(entry.get("key"), str) and set(entry) <= {"key", "for"}):
            raise ConfigError(f'the settings file {path}: {name} is not written as NAME = "value"; {mend}')
    return entries


def host_of(url: str | None) -> str:
    """What a key is given for: scheme, host and port of an address; "" for that of the service itself."""
    if not url:
        return ""
    parts = urlsplit(url.strip().lower())
    return f"{parts.scheme}://{parts.netloc}"


def _secrets() -> dict[str, Any]:
    try:
        return {
            name: value for name, value in TomlConfigSettingsSource(Settings, SECRETS_FILE)().items() if name in FIELDS
        }
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{SECRETS_FILE} is damaged ({error}); mend it or remove it") from error


def _first(found: Mapping[Origin, Mapping[str, Any]]) -> tuple[dict[str, Any], dict[str, Origin]]:
    """Each value from the first source that has it, and which one that was; by variable."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for origin, source in found.items():
        for name in source.keys() & FIELDS.keys() - values.keys():
            values[name], origins[name] = source[name], origin
    # Streamlit copies secrets.toml into the environment.
    for name, value in found.get("secrets.toml", {}).items():
        if origins[name] == "environment" and values[name] == str(value):
            origins[name] = "secrets.toml"
    return values, origins


def _together(values: Mapping[str, Any], origins: Mapping[str, Origin], entries: Mapping[str, Any]) -> Iterator[str]:
    """Saved variables that must not count.

    Whoever may open the page may enter an address; no key that he does not know may go there.  So a saved key counts
    for the address only that it was entered for, and a saved address counts only for a key that is saved, too.
    """
    for key, url in ((variable(key), variable(url)) for key, url in ADDRESSES.items()):
        if origins.get(url) == "saved" and values.get(key) and origins.get(key) != "saved":
            yield url
        elif origins.get(key) == "saved" and isinstance(entries[key], dict) and "for" in entries[key]:
            goes_to = values.get(url, Settings.model_fields[FIELDS[url]].default)
            if host_of(goes_to) != entries[key]["for"]:
                yield key


def _whence(origin: Origin | None) -> str:
    return {"saved": f" in {SAVED_FILE} of the home folder", ".env": " in .env"}.get(origin or "", "")
