"""What is entered on the settings page: kept in `settings.toml` of the home folder, for its owner alone to read.

The file is the last source of `research.settings`.  It is changed with tomlkit, so that what somebody wrote into it by
hand, comments too, stays.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import SecretStr, TypeAdapter, ValidationError

from research.errors import ConfigError
from research.http import base_url, check_key
from research.settings import ADDRESSES, OUTSIDE, SAVED_FILE, Settings, again, host_of, read_saved, variable

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_HEAD: Final = (
    "Written by the settings page; the environment, .env and secrets.toml come first. Holds keys: keep it to yourself."
)


def save(settings: Settings, **values: str | float | bool | None) -> Settings:
    """Keep these fields for good, all of them or none; None removes one.  Returns the settings as they are now.

    A key is kept together with the address it is given for.  Raises `ConfigError` that names the setting and what is
    accepted; nothing is changed then.
    """
    for field, value in values.items():
        _changeable(settings, field, removed=value is None)
    checked = {field: None if value is None else _checked(field, value) for field, value in values.items()}

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

    return _changed(settings, change)


def forget(settings: Settings, *fields: str) -> Settings:
    """Remove these fields from what is kept; returns the settings as they are now.  Raises `ConfigError`."""
    return save(settings, **dict.fromkeys(fields))


def closed(settings: Settings, field: str) -> str:
    """Why a field cannot be changed here, in words; empty where it can."""
    try:
        _changeable(settings, field)
    except ConfigError as error:
        return str(error)
    return ""


def _changeable(settings: Settings, field: str, *, removed: bool = False) -> None:
    """Raise `ConfigError` for a field that cannot be kept here; one that is, although it does not count, can go."""
    if settings.lock_settings:
        raise ConfigError("the settings are locked by WORKBENCH_LOCK_SETTINGS; change them in the environment")
    if field in OUTSIDE or field not in Settings.model_fields:
        raise ConfigError(f"{variable(field) or field} is not kept in {SAVED_FILE}; set it in the environment")
    if removed:
        return
    origin = settings.origin(field)
    if origin not in ("saved", "default"):
        raise ConfigError(f"{variable(field)} is set by {origin}, which comes first: change it there")
    for key, url in ADDRESSES.items():
        if url == field and getattr(settings, key) and settings.origin(key) != "saved":
            raise ConfigError(
                f"{variable(key)} is set by {settings.origin(key)}: set {variable(field)} there, too, so that the key "
                "goes to no address that was entered here"
            )


def _checked(field: str, value: str | float | bool) -> Any:
    """The value in its type.  Raises `ConfigError`, which never quotes a key."""
    name, info = variable(field), Settings.model_fields[field]
    if isinstance(value, str):
        value = value.strip()
        if not value:
            raise ConfigError(f"{name} is empty; enter a value, or remove the one that is kept")
    try:
        # The bounds of the field stand in its metadata.
        kind: Any = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
        checked = TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise ConfigError(f"{name}: {error.errors()[0]['msg']}") from None  # its words quote the input
    if isinstance(checked, SecretStr):
        check_key(checked.get_secret_value(), name)
    elif field.endswith("_url"):
        return str(base_url(str(checked), name))
    return checked


def _changed(settings: Settings, change: Callable[[TOMLDocument], None]) -> Settings:
    """Write the file anew, for nobody else to read, whole or not at all."""
    import tomlkit
    from filelock import FileLock

    path = settings.home / SAVED_FILE
    try:
        with FileLock(path.with_suffix(".lock"), mode=0o600):  # of two who save at the same time, neither is lost
            read_saved(settings.home)  # what cannot be read is not written over
            document = tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
            if not path.exists():
                document.add(tomlkit.comment(_HEAD))
            change(document)
            before = path.read_bytes() if path.exists() else None
            _write(path, tomlkit.dumps(document).encode())
            try:
                return again(settings)
            except ConfigError:
                _write(path, before or b"")
                raise
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}); nothing was changed") from error


def _write(path: Path, data: bytes) -> None:
    # Made with mode 0600; whoever reads meanwhile sees the old file or the new one.
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
