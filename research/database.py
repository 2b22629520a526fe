"""How the workbench opens a database of its own: one way, so that every store survives the same things.

A SQLite file by `opened`; a Postgres by `pool`, `connected` and `migrated`.
"""

from __future__ import annotations

import errno
import math
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, LiteralString
from urllib.parse import quote, quote_plus, urlsplit
from weakref import WeakKeyDictionary

from research.errors import ConfigError, StoreUnavailable

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.abc import Buffer
    from psycopg.rows import TupleRow
    from psycopg_pool import ConnectionPool
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    Pool = ConnectionPool[Connection[TupleRow]]

WAIT_S: Final = 60
"""How long a writer waits for another one."""
CONNECTIONS: Final = 8
"""Of one process to one Postgres; everything that is asked of it is short."""
ANSWER_S: Final = 5.0
"""How long a caller waits for a connection; a server that restarts is tried again meanwhile, and by the next caller."""
SCHEMES: Final = ("postgresql", "postgres")
_CONNECTING: Final[Mapping[str, str | int]] = {
    "connect_timeout": 10, "application_name": "research-workbench", "client_encoding": "UTF8",
    # A machine that is gone without a word is noticed in half a minute, not in two hours.
    "keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000,
}  # fmt: skip
"""How libpq connects, where the url does not say it otherwise."""

_pools: dict[str, Pool] = {}
_opening = threading.Lock()


class Answers:
    """Whether a database answers, as this process finds out."""

    def __init__(self) -> None:
        self.since = -math.inf
        """When it answered again after it was away, by `time.monotonic`; it may never have been."""
        self._away = False

    def missed(self) -> None:
        self._away = True

    def heard(self) -> None:
        if self._away:
            self.since, self._away = time.monotonic(), False


_answers: WeakKeyDictionary[Pool, Answers] = WeakKeyDictionary()


def opened(path: Path, migrations: Migrations) -> Database:
    """The database, brought to its newest schema; a commit is on disk before it is acknowledged.

    The connection may be used by several threads, one at a time; transactions are begun and ended by sqlite-utils and by
    the caller, not by the driver.  Raises `ConfigError` for a file that is no database, and leaves it as it is;
    `StoreUnavailable` when the disk is full.
    """
    from filelock import FileLock
    from sqlite_utils import Database

    connection = None
    try:
        connection = sqlite3.connect(path, check_same_thread=False, timeout=WAIT_S, isolation_level=None)
        # Read before anything is written: a damaged file is left as it is.
        connection.execute("SELECT count(*) FROM sqlite_master")
        database = Database(connection)
        # One process at a time: SQLite does not wait for a lock when a reader becomes a writer.
        with FileLock(f"{path}.lock"):
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
                connection.execute(f"PRAGMA {pragma}")
            migrations.apply(database)
    except (sqlite3.DatabaseError, OSError) as error:
        if connection is not None:
            connection.close()
        if _full(error):
            raise StoreUnavailable(f"{path} cannot be opened: {error}") from error
        raise damaged(path, error) from error
    return database


def damaged(path: Path, error: Exception) -> ConfigError:
    """What the user is told of a file that is no database, or not a whole one."""
    return ConfigError(
        f"{path} cannot be opened as a database ({error}); it was left as it is. "
        "Move it away to start with an empty one, or name another WORKBENCH_HOME."
    )


def _full(error: Exception) -> bool:
    """Whether there is no room on the disk, which says nothing about the file."""
    if isinstance(error, sqlite3.Error):
        return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY)
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def pool(url: str) -> Pool:
    """The connections of this process to that Postgres: made once, safe for threads, each statement its own transaction.

    Raises `ConfigError` that names DATABASE_URL, never its password, when nobody answers there at the first use.
    """
    with _opening:
        if url not in _pools:
            _pools[url] = _first(url)
            _answers[_pools[url]] = Answers()
        return _pools[url]


def answers(pool: Pool) -> Answers:
    """Shared by all who use these connections."""
    return _answers[pool]


def hang_up(url: str) -> None:
    """Close the connections of this process to that Postgres, if there are any."""
    with _opening:
        gone = _pools.pop(url, None)
    if gone is not None:
        gone.close()


@contextmanager
def connected(pool: Pool) -> Iterator[Connection[TupleRow]]:
    """A connection that works.  Several statements belong together within `connection.transaction()`.

    Raises `StoreUnavailable` where the server does not answer, or cannot do it just now: the same may succeed later.
    """
    import psycopg

    found = answers(pool)
    try:
        with pool.connection() as connection:
            found.heard()
            yield connection
    # The second: a standby that is about to become the server.
    except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction) as error:
        found.missed()
        raise StoreUnavailable(f"the database of DATABASE_URL does not answer: {_told(error)}") from error


def migrated(pool: Pool, schema: str, name: str, steps: Sequence[LiteralString]) -> None:
    """Make the schema, and apply each step to it that was not applied yet, in order, all or nothing.

    `name` says whose steps they are; `{schema}` in a step stands for the schema's name, quoted.  A change of the tables is
    a new step at the end.  Processes that do so at once take turns.  Raises `ConfigError` where the user of the database
    may not, and when a newer version was here; `StoreUnavailable` as `connected`.
    """
    import psycopg
    from psycopg.sql import SQL, Identifier

    own = Identifier(schema)
    try:
        with connected(pool) as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"workbench {schema}"])
            # `IF NOT EXISTS` would ask for the right to make schemas where an administrator has made it.
            if not connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchone():
                connection.execute(SQL("CREATE SCHEMA {}").format(own))
            connection.execute(
                SQL(
                    "CREATE TABLE IF NOT EXISTS {}.migrations (name text, step integer, "
                    "applied timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (name, step))"
                ).format(own)
            )
            query = SQL("SELECT count(*) FROM {}.migrations WHERE name = %s").format(own)
            ((done,),) = connection.execute(query, [name]).fetchall()
            if done > len(steps):
                raise ConfigError(
                    f"DATABASE_URL: a newer version of the workbench has changed the schema {schema!r}; use that one"
                )
            for number, step in enumerate(steps[done:], done):
                connection.execute(SQL(step).format(schema=own))
                connection.execute(SQL("INSERT INTO {}.migrations VALUES (%s, %s)").format(own), [name, number])
    except psycopg.errors.InsufficientPrivilege as error:
        raise ConfigError(
            f"DATABASE_URL: its user may not make tables in the schema {schema!r} ({_told(error)}); "
            "grant it CREATE on the database"
        ) from error


def _first(url: str) -> Pool:
    """Connect once, to know that it can be done, and open the pool."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg_pool import ConnectionPool

    _check(url)
    try:
        told = conninfo_to_dict(url)
    except psycopg.Error:  # its words may quote the password
        raise ConfigError(f"DATABASE_URL cannot be read; {_FORM}") from None
    conninfo = make_conninfo(url, **{name: value for name, value in _CONNECTING.items() if name not in told})
    place = f"{told.get('host', 'this machine')}, database {told.get('dbname', '') or told.get('user', '')!r}"
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            encoding = connection.info.parameter_status("server_encoding")
    except psycopg.Error as error:
        reason = _told(error)
        for secret in (told.get("password"), told.get("sslpassword")):
            for form in (str(secret), quote(str(secret), safe=""), quote_plus(str(secret))) if secret else ():
                reason = reason.replace(form, "…")
        raise ConfigError(f"DATABASE_URL: no connection to {place}: {reason}") from None
    if encoding != "UTF8":
        raise ConfigError(f"DATABASE_URL: {place} is written in {encoding}; create it with ENCODING 'UTF8'")
    return ConnectionPool(
        conninfo, kwargs={"autocommit": True}, min_size=1, max_size=CONNECTIONS, open=True, timeout=ANSWER_S,
        reconnect_timeout=ANSWER_S, check=ConnectionPool.check_connection, configure=_configure, name="workbench",
    )  # fmt: skip


_FORM: Final = "write postgresql://USER:PASSWORD@HOST/NAME, with %40 for an @ and %2F for a / of the password"


def _check(url: str) -> None:
    """Refuse what is no address of a Postgres, or could be read in two ways: nothing of it may be said then."""
    scheme, found, rest = url.partition("://")
    if not found or not scheme.replace("+", "").isalnum():
        raise ConfigError(f"DATABASE_URL is no address; {_FORM}")
    if scheme not in SCHEMES:
        raise ConfigError(f"DATABASE_URL begins with {scheme}://, which is not accepted; {_FORM}")
    # A password with one of these unwritten would end up in the name of a host, a port or a database, and be told.
    if rest.count("@") > 1 or "#" in rest or ("@" in rest and "@" not in urlsplit(url).netloc):
        raise ConfigError(f"DATABASE_URL cannot be read; {_FORM}")


_NUL: Final = "\ufdd0"
"""Begins what stands for a NUL, and for itself, in a text column; a character that Unicode keeps out of texts."""


def _configure(connection: Connection[TupleRow]) -> None:
    _hold_any_text(connection)
    # Whoever is gone in the middle of a transaction must not keep others from what it has touched.
    connection.execute(f"SET idle_in_transaction_session_timeout = '{WAIT_S}s'")
    connection.execute(f"SET lock_timeout = '{WAIT_S}s'")
    # What is acknowledged survives a power loss, however the server was set up.
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )


def _told(error: Exception) -> str:
    """What libpq or the server said, in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _hold_any_text(connection: Connection[TupleRow]) -> None:
    """Let the text columns of that connection hold every string.

    Postgres refuses NUL.  What people type and pages send may hold one, and comes back as it was.
    """
    from psycopg.types.string import StrBinaryDumper, StrDumperUnknown, TextBinaryLoader, TextLoader

    class Put(StrDumperUnknown):
        def dump(self, obj: str) -> Buffer | None:
            return super().dump(_escaped(obj))

    class PutBinary(StrBinaryDumper):
        def dump(self, obj: str) -> Buffer | None:
            return super().dump(_escaped(obj))

    class Got(TextLoader):
        def load(self, data: Buffer) -> bytes | str:
            return _plain(super().load(data))

    class GotBinary(TextBinaryLoader):
        def load(self, data: Buffer) -> bytes | str:
            return _plain(super().load(data))

    for dumper in (PutBinary, Put):  # the last is for whoever does not say how
        connection.adapters.register_dumper(str, dumper)
    for loader in (GotBinary, Got):
        connection.adapters.register_loader("text", loader)


def _escaped(text: str) -> str:
    return text.replace(_NUL, f"{_NUL}1").replace("\0", f"{_NUL}0") if "\0" in text or _NUL in text else text


def _plain(text: bytes | str) -> bytes | str:
    if isinstance(text, str) and _NUL in text:
        return text.replace(f"{_NUL}0", "\0").replace(f"{_NUL}1", _NUL)
    return text
