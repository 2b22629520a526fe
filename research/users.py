"""Whose things are whose: a user is a key, and everything he has is kept under it.

Without login there is one user, "".  What several users share (the queue, what was shared by link) is kept by "".
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from research.errors import ConfigError
from research.settings import USER, Settings, again

_SCHEMAS = "SELECT substr(nspname, 3) FROM pg_catalog.pg_namespace WHERE nspname ~ '^u_[0-9a-f]{16}$'"


def key_of(issuer: str, subject: str) -> str:
    """The key of a user, 16 hex digits: who he is to his provider, which never changes and is never given to another.

    `issuer` and `subject` are the claims `iss` and `sub` of a checked ID token (OpenID Connect Core 1.0, 5.7: only the
    two together name a user; a name or an address can change hands).  Raises `ConfigError` when one is missing.
    """
    if not issuer or not subject:
        raise ConfigError("the login provider did not say who this is: `iss` and `sub` are needed")
    return hashlib.sha256(json.dumps([issuer, subject]).encode()).hexdigest()[:16]


def settings_for(settings: Settings, user: str) -> Settings:
    """The settings of that user of the same workbench; "" is the one without login.

    His home is made when it is not there.  Raises `ConfigError` for what is no key.
    """
    return again(settings, user=user)


def known(settings: Settings) -> list[str]:
    """The keys of all users that have something here, sorted; "" is none of them.

    Raises `StoreUnavailable` when the database does not answer.
    """
    folder = settings.root / "users"
    found = {each.name for each in folder.iterdir() if USER.fullmatch(each.name)} if folder.is_dir() else set()
    if settings.database_url is not None:  # other machines have homes of their own
        from research.database import connected, pool

        with connected(pool(settings.database_url.get_secret_value())) as connection:
            found |= {key for (key,) in connection.execute(_SCHEMAS)}
    return sorted(found)


def readable(settings: Settings, path: Path) -> Path:
    """A file or folder of this machine that the user may name, in full.

    Without login it is his own machine.  With it, only what is below his home or `WORKBENCH_ALLOW_FOLDERS`: a name on a
    page must not open what others keep here.  Raises `ConfigError` for anything else, in the same words whether it is
    there or not.
    """
    full = path.expanduser().resolve()
    if settings.user and not full.is_relative_to(settings.home.resolve()):
        named = [
            Path(each.strip()).expanduser().resolve() for each in settings.allow_folders.split(",") if each.strip()
        ]
        if full.is_relative_to(settings.root) or not any(full.is_relative_to(each) for each in named):
            raise ConfigError(
                f"{path}: users may not read this here; WORKBENCH_ALLOW_FOLDERS names the folders they may"
            )
    return full
