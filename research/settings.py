"""The only reader of the environment.

Order: the environment, `.env`, `.streamlit/secrets.toml`.  Keys are `SecretStr`: they are taken out where a client is
made and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from research.errors import ConfigError

SECRETS_FILE = Path(".streamlit/secrets.toml")


def default_home() -> Path:
    """The platform's folder for a user's data."""
    from platformdirs import user_data_path

    return user_data_path("research-workbench", appauthor=False)


class Settings(BaseSettings):
    """What the workbench was told from outside."""

    model_config = SettingsConfigDict(env_file=".env", toml_file=SECRETS_FILE, extra="ignore")

    home: Path = Field(default_factory=default_home, validation_alias="WORKBENCH_HOME")
    """Everything is kept under this folder."""
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
    search_cache_s: float = Field(86_400, ge=0, validation_alias="WORKBENCH_SEARCH_CACHE_S")
    """Seconds that results of web and scholar services are kept; 0 keeps none."""

    @field_validator("home")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().resolve()

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        return tuple(host.strip() for host in self.allow_hosts.split(",") if host.strip())

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource, dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:  # fmt: skip
        return init_settings, env_settings, dotenv_settings, TomlConfigSettingsSource(settings_cls)


def environment() -> Mapping[str, str]:
    """The variables that `mcp.json` may name: those of the process, then those of `.env`."""
    from dotenv import dotenv_values

    file = Settings.model_config.get("env_file")
    kept = dotenv_values(str(file)) if file else {}
    return {**{name: value for name, value in kept.items() if value is not None}, **os.environ}


def load(**overrides: Any) -> Settings:
    """The settings; an override replaces what was found.  Raises `ConfigError` that names the setting."""
    names = {name: str(field.validation_alias) for name, field in Settings.model_fields.items()}
    try:
        settings = Settings(**{names[key]: value for key, value in overrides.items() if value is not None})
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)  # runs and documents are the user's alone
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"setting {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except OSError as error:
        raise ConfigError(
            f"WORKBENCH_HOME {error.filename}: {error.strerror}; name a folder that can be written"
        ) from error
    if not os.access(settings.home, os.W_OK):
        raise ConfigError(f"WORKBENCH_HOME {settings.home}: not writable; name a folder that can be written")
    return settings
