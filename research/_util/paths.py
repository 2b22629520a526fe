"""Paths typed by people or named in files."""

from __future__ import annotations

from pathlib import Path

from research.errors import ConfigError


def resolved(path: Path) -> Path:
    """Return the absolute path, with `~` and links resolved; it need not exist.

    Raises `ConfigError` for what cannot be a path: a loop of links, an unknown user's home folder, a NUL.
    """
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(f"path {str(path)[:300]!r} cannot be used: {error.__class__.__name__}: {error}") from error


def folder_named(text: str) -> Path | None:
    """Return the resolved path of the folder named by a text; None if it does not exist."""
    try:
        path = resolved(Path(text))
        return path if path.is_dir() else None
    except (ConfigError, OSError):
        return None
