"""Settings entered on the settings page: they are saved in `settings.toml` of the home folder, readable by its owner only.

The file is the last source of `research.config.settings`.  It is edited with tomlkit, which preserves manual changes and
comments.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import SecretStr, TypeAdapter, ValidationError

from research._util.bounds import within
from research._util.http import base_url, check_key, host_of
from research.config.settings import ADDRESSES, OUTSIDE, SAVED_FILE, Settings, read_saved, reloaded, variable
from research.errors import ConfigError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

LONGEST: Final = 2_000
"""Most characters of a text setting."""
_HEAD: Final = "Written by the settings page; the environment, .env and secrets.toml take precedence. It contains keys."


def save(settings: Settings, **values: str | float | bool | None) -> Settings:
    """Save these fields, all or none, and return the new settings; the value None removes a field.

    A key is saved together with the address it was entered for.  On `ConfigError`, which names the setting and the
    accepted values, nothing has changed.
    """
    for field, value in values.items():
        _changeable(settings, field, removed=value is None)
    checked = {field: None if value is None else _checked(field, value) for field, value in values.items()}
    for field, value in checked.items():
        if isinstance(value, str) and (why := settings.why_not_loaded(value)):
            raise ConfigError(f"{variable(field)} {why}")

    def change(document: TOMLDocument) -> None:
        import tomlkit

        for field, value in checked.items():
            if value is None:
                document.pop(variable(field), None)
            elif isinstance(value, SecretStr):
                url = ADDRESSES[field]
                goes_to = getattr(settings, url)
                if url in checked:
                    goes_to = checked[url] or Settings.model_fields[url].default
                entry = tomlkit.inline_table()
                entry.update({"key": value.get_secret_value(), "for": host_of(goes_to)})
                document[variable(field)] = entry
            else:
                document[variable(field)] = value

    return edit(settings, change)


def forget(settings: Settings, *fields: str) -> Settings:
    """Remove these saved fields, and return the new settings.  Raises `ConfigError`."""
    return save(settings, **dict.fromkeys(fields))


def why_locked(settings: Settings, field: str) -> str:
    """Return why a field cannot be saved; empty when it can."""
    try:
        _changeable(settings, field)
    except ConfigError as error:
        return str(error)
    return ""


def _changeable(settings: Settings, field: str, *, removed: bool = False) -> None:
    """Raise `ConfigError` for a field that cannot be saved; with `removed`, a saved field can always be removed."""
    if settings.lock_settings:
        raise ConfigError("the settings are locked by WORKBENCH_LOCK_SETTINGS; change them in the environment")
    if field in OUTSIDE or field not in Settings.model_fields:
        raise ConfigError(f"{variable(field) or field} cannot be saved in {SAVED_FILE}; set it in the environment")
    if removed:
        return
    origin = settings.origin(field)
    if origin not in ("saved", "default"):
        raise ConfigError(f"{variable(field)} is set by {origin}, which takes precedence: change it there")
    for key, url in ADDRESSES.items():
        if url == field and getattr(settings, key) and settings.origin(key) != "saved":
            raise ConfigError(
                f"{variable(key)} is set by {settings.origin(key)}: set {variable(field)} there, too; a key is never sent "
                "to an address that was entered on the settings page"
            )


def _checked(field: str, value: str | float | bool) -> Any:
    """Return the validated value.  Raises `ConfigError`, whose message never contains a key."""
    name, info = variable(field), Settings.model_fields[field]
    if isinstance(value, str):
        value = value.strip()
        if not value:
            raise ConfigError(f"{name} is empty; enter a value, or remove the saved one")
        within(LONGEST, name, value)
    try:
        # The metadata of the field contains its bounds.
        kind: Any = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
        checked = TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise ConfigError(f"{name}: {error.errors()[0]['msg']}") from None  # the message contains the input
    if isinstance(checked, SecretStr):
        check_key(checked.get_secret_value(), name)
    elif field.endswith("_url"):
        return str(base_url(str(checked), name))
    return checked


def edit(settings: Settings, change: Callable[[TOMLDocument], None]) -> Settings:
    """Rewrite the file atomically, readable by its owner only, and return the new settings."""
    import tomlkit
    from filelock import FileLock

    path = settings.home / SAVED_FILE
    try:
        with FileLock(path.with_suffix(".lock"), mode=0o600):  # concurrent edits are applied one after the other
            read_saved(settings.home)  # raises for a damaged file, which is not overwritten
            document = tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
            if not path.exists():
                document.add(tomlkit.comment(_HEAD))
            change(document)
            before = path.read_bytes() if path.exists() else None
            _write(path, tomlkit.dumps(document).encode())
            try:
                return reloaded(settings)
            except ConfigError:
                _write(path, before or b"")
                raise
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}); nothing was changed") from error


def _write(path: Path, data: bytes) -> None:
    # mkstemp creates the file with mode 0600; concurrent readers see the old file or the new one.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
