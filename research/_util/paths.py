"""Paths that people type, or that files name."""

from __future__ import annotations

from pathlib import Path

from research.errors import ConfigError


def resolved(path: Path) -> Path:
    """Return the absolute path, with `~` and links resolved; it need not exist.

    Raises `ConfigError` for what no path can be: a circle of links, the home folder of an unknown user, a NUL.
    """
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(f"path {str(path)[:300]!r} cannot be used: {error.__class__.__name__}: {error}") from error


def folder_named(text: str) -> Path | None:
    """Return the resolved path of the folder that a text names; None if there is no such folder."""
    try:
        path = resolved(Path(text))
        return path if path.is_dir() else None
    except (ConfigError, OSError):
        return None
