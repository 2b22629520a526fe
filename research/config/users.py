"""Users: each is identified by a key, under which all their data is stored.

Without login, the only user is "".  Data common to all users (the queue, shared links) belongs to "", too.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from research._util.paths import resolved
from research.config.settings import USER, Settings, reloaded
from research.errors import ConfigError

_SCHEMAS = "SELECT substr(nspname, 3) FROM pg_catalog.pg_namespace WHERE nspname ~ '^u_[0-9a-f]{16}$'"


def key_of(issuer: str, subject: str) -> str:
    """Return the key of a user, 16 hex digits derived from their identity at the login provider, which never changes.

    `issuer` and `subject` are the claims `iss` and `sub` of a verified ID token; only together do they identify a user,
    while names and addresses can change (OpenID Connect Core 1.0, 5.7).  Raises `ConfigError` when one is missing.
    """
    if not issuer or not subject:
        raise ConfigError("the login provider did not identify the user: the ID token needs `iss` and `sub`")
    return hashlib.sha256(json.dumps([issuer, subject]).encode()).hexdigest()[:16]


def settings_for(settings: Settings, user: str) -> Settings:
    """Return the settings of another user of the same workbench, and create their home if necessary.

    Raises `ConfigError` for an invalid key.
    """
    return reloaded(settings, user=user)


def known_users(settings: Settings) -> list[str]:
    """Return the sorted keys of all users with data here, except "".

    Raises `StoreUnavailable` when the database does not answer.
    """
    folder = settings.root / "users"
    found = {each.name for each in folder.iterdir() if USER.fullmatch(each.name)} if folder.is_dir() else set()
    if settings.database_url is not None:  # users of other machines have data only there
        from research.store.database import connected, pool

        with connected(pool(settings.database_url.get_secret_value())) as connection:
            found |= {key for (key,) in connection.execute(_SCHEMAS)}
    return sorted(found)


def readable(settings: Settings, path: Path) -> Path:
    """Return the absolute path of a local file or folder that the user may read.

    Without login, that is any.  With login, only those below their home or `WORKBENCH_ALLOW_FOLDERS`, because a path
    entered on a page must not open data of others.  Raises `ConfigError` otherwise; the message does not tell whether the
    path exists.
    """
    if not settings.may_read(path):
        raise ConfigError(
            f"{path}: users may not read this path; WORKBENCH_ALLOW_FOLDERS lists the folders they may read"
        )
    return resolved(path)
