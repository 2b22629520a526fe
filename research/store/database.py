"""Open a database as all stores do, so that all survive the same faults.

`open_sqlite` opens a SQLite file; `pool`, `connected` and `apply_migrations` open a Postgres.
"""

from __future__ import annotations

import errno
import math
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, LiteralString
from urllib.parse import quote, quote_plus, urlsplit
from weakref import WeakKeyDictionary

import msgspec

from research._util import extras, imports
from research.errors import ConfigError, StoreUnavailable
from research.text import storable

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.abc import Buffer
    from psycopg.rows import TupleRow
    from psycopg_pool import ConnectionPool
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    Pool = ConnectionPool[Connection[TupleRow]]

LOCK_WAIT_S: Final = 60
"""Seconds that a writer waits for another one."""
CONNECTIONS: Final = 8
"""Connections of one process to one Postgres; every query is short."""
RESPONSE_S: Final = 5.0
"""Seconds that a caller waits for a connection, which is retried meanwhile in case the server restarts."""
SCHEMES: Final = ("postgresql", "postgres")
_CONNECT_OPTIONS: Final[Mapping[str, str | int]] = {
    "connect_timeout": 10,
    "application_name": "research-workbench",
    "client_encoding": "UTF8",
    # These detect a vanished machine after half a minute instead of two hours.
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""Options of libpq that the url does not set."""

_pools: dict[str, Pool] = {}
_opening = threading.Lock()


class Availability:
    """When a database last came back after an outage, as seen by this process."""

    def __init__(self) -> None:
        self.since = -math.inf
        """By `time.monotonic`; -inf without an outage."""
        self._failed = False

    def failed(self) -> None:
        self._failed = True

    def succeeded(self) -> None:
        if self._failed:
            self.since, self._failed = time.monotonic(), False


_availability: WeakKeyDictionary[Pool, Availability] = WeakKeyDictionary()


def new_migrations(name: str) -> Migrations:
    """Return an empty list of the changes of a schema."""
    # sqlite-utils imports these only for their types, taking half a second.
    with imports.without("pandas", "numpy"):
        from sqlite_utils.migrations import Migrations
    return Migrations(name)


def open_sqlite(path: Path, migrations: Migrations) -> Database:
    """Open a SQLite database and apply the migrations; each commit is on disk when it returns.

    Several threads may use the connection, one at a time.  sqlite-utils and the caller begin and end transactions, not the
    driver.  Raises `ConfigError` for a file that is no database, or empty, and leaves it unchanged; raises
    `StoreUnavailable` when the disk is full.
    """
    from filelock import FileLock
    from sqlite_utils import Database

    connection = None
    try:
        _begin(path)
        connection = sqlite3.connect(path, check_same_thread=False, timeout=LOCK_WAIT_S, isolation_level=None)
        connection.text_factory = _text  # one damaged text must not hide the others
        # Read first: this raises for a damaged file, before anything is written to it.
        connection.execute("SELECT count(*) FROM sqlite_master")
        database = Database(connection)
        # One process at a time, because SQLite does not wait for a lock when a reader becomes a writer.
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


def in_sqlite(query: str) -> str:
    """Return a statement of both databases for SQLite; a list is one parameter, because their number is limited."""
    return query.replace("{s}", "main").replace("{any}", "IN (SELECT value FROM json_each(?))")


def sqlite_parameter(value: Any) -> Any:
    """Return a list as JSON.  A word with NUL is left out: none is stored, and SQLite would truncate it."""
    if not isinstance(value, list):
        return value
    kept = [storable(each) if isinstance(each, str) else each for each in value if "\0" not in str(each)]
    return msgspec.json.encode(kept).decode()


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")


def _begin(path: Path) -> None:
    """Create a new database's file atomically, so that an empty file means a lost, hence damaged, database."""
    from filelock import FileLock

    if path.exists():
        if not path.stat().st_size:
            raise _lost(path, "empty")
        return
    place = path.resolve()  # the target of a link
    with FileLock(f"{path}.lock"):
        if path.exists():
            return
        if _changes(path):  # SQLite would remove it
            raise _lost(path, "gone")
        new = place.with_name(f"{place.name}.new")
        new.unlink(missing_ok=True)
        with closing(sqlite3.connect(new)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        new.replace(place)


def _changes(path: Path) -> bool:
    """Return whether a write-ahead log beside a database holds changes that are not in it yet."""
    changes = Path(f"{path}-wal")
    return changes.exists() and changes.stat().st_size > 0


def _lost(path: Path, how: str) -> ConfigError:
    kept = f", but {path.name}-wal holds changes of it" if _changes(path) else ""
    return damaged(path, ValueError(f"it is {how}{kept}"))


def create_sqlite(path: Path) -> None:
    """Create an empty database with a write-ahead log, unless the file exists; several processes may do so at once.

    Raises `sqlite3.Error` for a file that is not a database.
    """
    from filelock import FileLock

    # While another process changes the journal mode, SQLite reports it as locked without waiting.
    with FileLock(f"{path}.lock"), closing(sqlite3.connect(path, timeout=LOCK_WAIT_S)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def damaged(path: Path, error: Exception) -> ConfigError:
    """Return the error for a file that is damaged or not a database."""
    return ConfigError(
        f"{path} cannot be opened as a database ({error}); it was left unchanged. "
        "Move it away to start with an empty one, or set another WORKBENCH_HOME."
    )


def is_full(error: Exception) -> bool:
    """Return whether the disk is full."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _full(error: Exception) -> bool:
    """Return whether the disk is full or the file busy, which says nothing about its content."""
    if isinstance(error, sqlite3.Error):
        return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY)
    return is_full(error)


def pool(url: str) -> Pool:
    """Return the connection pool of this process for that Postgres; each statement is a transaction of its own.

    Safe for threads.  The first use of a url connects once, and raises `ConfigError` when that fails; the message names
    DATABASE_URL, but never its password.
    """
    with _opening:
        if url not in _pools:
            _pools[url] = _open_pool(url)
            _availability[_pools[url]] = Availability()
        return _pools[url]


def availability(pool: Pool) -> Availability:
    """Return the availability that all users of the pool share."""
    return _availability[pool]


def close_pool(url: str) -> None:
    """Close the connections of this process to that Postgres, if there are any."""
    with _opening:
        gone = _pools.pop(url, None)
    if gone is not None:
        gone.close()


@contextmanager
def connected(pool: Pool) -> Iterator[Connection[TupleRow]]:
    """Give out a checked connection; group statements by `connection.transaction()`.

    Raises `StoreUnavailable` when the server does not respond or cannot execute a statement now, but may later.
    """
    import psycopg

    state = availability(pool)
    try:
        with pool.connection() as connection:
            state.succeeded()
            yield connection
    # A standby server raises the second one until it has been promoted.
    except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction) as error:
        state.failed()
        raise StoreUnavailable(f"the database of DATABASE_URL does not answer: {_one_line(error)}") from error


def apply_migrations(pool: Pool, schema: str, name: str, steps: Sequence[LiteralString]) -> None:
    """Create the schema, and apply the steps that are missing, in order, all or nothing.

    `name` tells the lists of steps in one schema apart; `{schema}` in a step is replaced by the quoted schema name.  New
    steps go to the end.  Processes that do this at the same time take turns.  Raises `ConfigError` when the database user
    lacks the right, or a newer version has applied more steps; raises `StoreUnavailable` as `connected` does.
    """
    import psycopg
    from psycopg.sql import SQL, Identifier

    own = Identifier(schema)
    try:
        with connected(pool) as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"workbench {schema}"])
            # `CREATE SCHEMA IF NOT EXISTS` requires the right to create schemas even if the schema exists.
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
                    f"DATABASE_URL: a newer version of the workbench has changed the schema {schema!r}; use that version"
                )
            for number, step in enumerate(steps[done:], done):
                connection.execute(SQL(step).format(schema=own))
                connection.execute(SQL("INSERT INTO {}.migrations VALUES (%s, %s)").format(own), [name, number])
    except psycopg.errors.InsufficientPrivilege as error:
        raise ConfigError(
            f"DATABASE_URL: its user may not create tables in the schema {schema!r} ({_one_line(error)}); "
            "grant it CREATE on the database"
        ) from error


def _open_pool(url: str) -> Pool:
    """Connect once to check the url, then open the pool."""
    extras.need("postgres", "the database of DATABASE_URL", "psycopg", "psycopg_pool")
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg_pool import ConnectionPool

    _check(url)
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:  # its message may contain the password
        raise ConfigError(f"DATABASE_URL cannot be read; {_FORM}") from None
    conninfo = make_conninfo(url, **{name: value for name, value in _CONNECT_OPTIONS.items() if name not in given})
    place = f"{given.get('host', 'this machine')}, database {given.get('dbname', '') or given.get('user', '')!r}"
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            encoding = connection.info.parameter_status("server_encoding")
    except psycopg.Error as error:
        reason = _one_line(error)
        for secret in (given.get("password"), given.get("sslpassword")):
            for form in (str(secret), quote(str(secret), safe=""), quote_plus(str(secret))) if secret else ():
                reason = reason.replace(form, "…")
        raise ConfigError(f"DATABASE_URL: no connection to {place}: {reason}") from None
    if encoding != "UTF8":
        raise ConfigError(f"DATABASE_URL: {place} has the encoding {encoding}; create it with ENCODING 'UTF8'")
    return ConnectionPool(
        conninfo,
        kwargs={"autocommit": True},
        min_size=1,
        max_size=CONNECTIONS,
        open=True,
        timeout=RESPONSE_S,
        reconnect_timeout=RESPONSE_S,
        check=ConnectionPool.check_connection,
        configure=_configure,
        name="workbench",
    )


_FORM: Final = "write postgresql://USER:PASSWORD@HOST/NAME, with %40 for an @ and %2F for a / of the password"


def _check(url: str) -> None:
    """Raise `ConfigError` for a url that is ambiguous or not of a Postgres; the message quotes no part of it."""
    scheme, found, rest = url.partition("://")
    if not found or not scheme.replace("+", "").isalnum():
        raise ConfigError(f"DATABASE_URL is not a url; {_FORM}")
    if scheme not in SCHEMES:
        raise ConfigError(f"DATABASE_URL begins with {scheme}://, which is not accepted; {_FORM}")
    # Unescaped in a password, these would put part of it into the host or database name, which is shown.
    if rest.count("@") > 1 or "#" in rest or ("@" in rest and "@" not in urlsplit(url).netloc):
        raise ConfigError(f"DATABASE_URL cannot be read; {_FORM}")


_NUL: Final = "\ufdd0"
"""Escape character for NUL and for itself in text columns; a Unicode noncharacter."""


def _configure(connection: Connection[TupleRow]) -> None:
    _store_any_text(connection)
    # A process that disappears in a transaction must not hold its locks for longer.
    connection.execute(f"SET idle_in_transaction_session_timeout = '{LOCK_WAIT_S}s'")
    connection.execute(f"SET lock_timeout = '{LOCK_WAIT_S}s'")
    # A commit survives a power loss even if the server is configured otherwise.
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )


def _one_line(error: Exception) -> str:
    """Return the message of libpq or the server without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__


def _store_any_text(connection: Connection[TupleRow]) -> None:
    """Let text columns hold strings with NUL, which Postgres refuses but users and web pages send."""
    from psycopg.types.string import StrBinaryDumper, StrDumperUnknown, TextBinaryLoader, TextLoader

    class Dumper(StrDumperUnknown):
        def dump(self, obj: str) -> Buffer | None:
            return super().dump(_escaped(obj))

    class BinaryDumper(StrBinaryDumper):
        def dump(self, obj: str) -> Buffer | None:
            return super().dump(_escaped(obj))

    class Loader(TextLoader):
        def load(self, data: Buffer) -> bytes | str:
            return _unescaped(super().load(data))

    class BinaryLoader(TextBinaryLoader):
        def load(self, data: Buffer) -> bytes | str:
            return _unescaped(super().load(data))

    for dumper in (BinaryDumper, Dumper):  # the last one registered is the default
        connection.adapters.register_dumper(str, dumper)
    for loader in (BinaryLoader, Loader):
        connection.adapters.register_loader("text", loader)


def _escaped(text: str) -> str:
    return text.replace(_NUL, f"{_NUL}1").replace("\0", f"{_NUL}0") if "\0" in text or _NUL in text else text


def _unescaped(text: bytes | str) -> bytes | str:
    if isinstance(text, str) and _NUL in text:
        return text.replace(f"{_NUL}0", "\0").replace(f"{_NUL}1", _NUL)
    return text
