"""How the workbench opens a SQLite file of its own: one way, so that every store survives the same things."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from research.errors import ConfigError

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

WAIT_S = 60
"""How long a writer waits for another one."""


def opened(path: Path, migrations: Migrations) -> Database:
    """The database, brought to its newest schema; a commit is on disk before it is acknowledged.

    The connection may be used by several threads, one at a time; transactions are begun and ended by sqlite-utils and by
    the caller, not by the driver.  Raises `ConfigError` for a file that is no database, and leaves it as it is.
    """
    from filelock import FileLock
    from sqlite_utils import Database

    try:
        connection = sqlite3.connect(path, check_same_thread=False, timeout=WAIT_S, isolation_level=None)
        database = Database(connection)
        # One process at a time: SQLite does not wait for a lock when a reader becomes a writer.
        with FileLock(f"{path}.lock"):
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
                connection.execute(f"PRAGMA {pragma}")
            migrations.apply(database)
    except sqlite3.DatabaseError as error:
        raise ConfigError(
            f"{path} cannot be opened as a database ({error}); it was left as it is. "
            "Move it away to start with an empty one, or name another WORKBENCH_HOME."
        ) from error
    return database
