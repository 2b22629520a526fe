"""The queue of runs for workers, on DBOS: in a SQLite file of the home folder, or in Postgres.

It decides only which run starts next, and how many run at once.  The progress of a run is in its events, so the queue can be
lost without losing work: workers add missing runs again.
"""

from __future__ import annotations

import logging
import math
import os
import re
import secrets
import socket
import sqlite3
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from research._util import extras
from research.errors import ConfigError
from research.store.database import connected, create_sqlite, pool

if TYPE_CHECKING:
    from pathlib import Path

    from dbos import DBOS, DBOSClient

    from research.config.settings import Settings

NAME = "research-workbench"
QUEUE = "runs"
WORK = "work_off"
SCHEMA = "workbench_queue"
"""The Postgres schema with the tables of DBOS."""
VERSION = "1"
"""The application version of entries.  DBOS would use a hash of the source, and ignore older entries after an upgrade."""
POLL_S = 0.25
"""How often a worker looks for an entry, in seconds."""
TAKEN_S = 3.0
"""An entry taken within this time is not lost: its worker may not have sent a heartbeat yet."""
KEEP_ENDED_S = 3_600.0
"""Seconds after which ended entries are deleted."""
WARN_EVERY_S = 30.0
"""Seconds between two warnings that the queue's database is unavailable."""

_QUEUE = "the queue of runs for workers"

_log = logging.getLogger(__name__)

Take = Callable[[str, str], None]
"""Drives a run, given the user's key and the run's id, until it ends, pauses or asks the user."""


class DbosQueue:
    """The queue for one user's runs; an entry is a DBOS workflow `USER:RUN:N` with the user's key and the run as input."""

    def __init__(self, settings: Settings, user: str) -> None:
        extras.need("postgres", _QUEUE, "dbos")
        self._settings = settings
        self._user = user

    def put(self, run_id: str) -> None:
        """Add a run that no process drives, unless it already waits in the queue.

        If a worker has taken the run's entry, cancel it, because that worker has died or is about to finish.
        If the queue cannot be reached, or no worker has created it yet, this does nothing: the run is marked as queued,
        and workers add such runs later.
        """
        self._put(run_id, taken_s=0.0)

    def put_lost(self, run_id: str) -> None:
        """Add a run whose worker seems to have died, unless a worker has just taken it."""
        self._put(run_id, taken_s=TAKEN_S)

    def _put(self, run_id: str, taken_s: float) -> None:
        try:
            client = _client(self._settings)
            if client is not None:
                self._enqueue(client, run_id, taken_s)
        except _unreachable() as error:
            _log.warning("run %s cannot be queued yet: %s", run_id, _reason(error))

    def _enqueue(self, client: DBOSClient, run_id: str, taken_s: float) -> None:
        prefix = f"{self._user}:{run_id}:"
        last = client.list_workflows(
            workflow_id_prefix=prefix, sort_desc=True, limit=1, load_input=False, load_output=False
        )
        number = 0
        for each in last:
            number = int(each.workflow_id.removeprefix(prefix))
            if each.status == "ENQUEUED":
                return
            if each.status == "PENDING":
                if taken_s and (each.dequeued_at or 0) / 1000 > time.time() - taken_s:
                    return
                client.cancel_workflow(each.workflow_id)
        # Processes that add a run at the same time use the same id, which exists once.
        client.enqueue(
            {
                "workflow_name": WORK,
                "queue_name": QUEUE,
                "workflow_id": f"{prefix}{number + 1}",
                "queue_partition_key": self._user or "-",
                "app_version": VERSION,
            },
            self._user,
            run_id,
        )


def enqueued(settings: Settings) -> set[tuple[str, str]]:
    """Return user and run of every waiting entry; empty when the queue cannot be reached."""
    try:
        client = _client(settings)
        if client is None:
            return set()
        found = client.list_workflows(queue_name=QUEUE, status="ENQUEUED", load_input=False, load_output=False)
    except _unreachable() as error:
        _log.warning("the queue cannot be read: %s", _reason(error))
        return set()
    ids = [each.workflow_id.split(":", 1) for each in found]
    return {(user, entry.rpartition(":")[0]) for user, entry in ids}


def delete_ended(settings: Settings) -> None:
    """Delete entries that ended more than `KEEP_ENDED_S` ago; the results are stored with the runs."""
    client = _client(settings)
    before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - KEEP_ENDED_S))
    ended = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
    try:
        if client is not None:
            found = client.list_workflows(
                status=ended,
                queue_name=QUEUE,
                completed_before=before,
                limit=1_000,
                load_input=False,
                load_output=False,
            )
            client.delete_workflows([each.workflow_id for each in found])
    except _unreachable() as error:
        _log.warning("ended queue entries cannot be deleted: %s", _reason(error))


def listen(settings: Settings, runs: int, take: Take) -> None:
    """Take entries in this process from now on, at most `runs` at once, each in a thread of its own.

    Raises `ConfigError` or `StoreUnavailable` when the queue's database is unavailable now; later outages are waited for.
    """
    extras.need("postgres", _QUEUE, "dbos")
    from dbos import DBOS, DBOSPortableJSONSerializer
    from dbos import error as dbos_error
    from sqlalchemy.exc import SQLAlchemyError

    _configure_logging()
    if settings.database_url is None:
        _create_file(settings.root / "queue.sqlite")
    else:
        with connected(pool(settings.database_url.get_secret_value())):
            pass  # raises if unavailable; DBOS would wait
    try:
        dbos = DBOS(
            config={
                "name": NAME,
                "system_database_url": _url(settings),
                "dbos_system_schema": SCHEMA,
                "application_version": VERSION,
                "serializer": DBOSPortableJSONSerializer(),
                # Unique, because DBOS restarts the entries of a process with the same id.
                "executor_id": f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
                "use_listen_notify": False,
                "enable_otlp": False,
                "log_level": "WARNING",
                "sys_db_pool_size": 5,
            }
        )

        # No limit here: the engine gives up on runs that make no progress.
        @DBOS.workflow(name=WORK, max_recovery_attempts=None)
        def work_off(user: str, run_id: str) -> None:
            take(user, run_id)

        DBOS.listen_queues([QUEUE])
        DBOS.launch()
        _limit(dbos, runs)
        if settings.database_url is None:
            _lock_before_reading(dbos)
        DBOS.register_queue(
            QUEUE,
            global_concurrency=settings.runs_at_once,
            partition_concurrency=min(settings.runs_per_user, settings.runs_at_once),  # DBOS accepts no more
            polling_interval_sec=POLL_S,
            on_conflict="always_update",
        )
    except (SQLAlchemyError, dbos_error.DBOSException) as error:
        raise ConfigError(f"{_label(settings)} cannot be used as a queue: {_reason(error)}") from None


def _limit(dbos: DBOS, runs: int) -> None:
    """Take at most `runs` entries at once in this process.

    DBOS stores the limits of a queue in its database, the same for all workers, and reads them before it looks for an
    entry; this overrides the limit per worker at each read.
    """
    system = dbos._sys_db
    read = system.get_queue

    def get_queue(name: str, **more: object) -> object:
        queue = read(name, **more)  # type: ignore[arg-type]
        if queue is not None and queue.name == QUEUE:
            queue._worker_concurrency = runs
        return queue

    system.get_queue = get_queue  # type: ignore[method-assign, assignment]


def _lock_before_reading(dbos: DBOS) -> None:
    """Let a transaction on SQLite take the write lock before it reads.

    The driver begins one only before a statement that writes, so two workers could both count what runs, and then both
    claim the last free place.
    """
    from sqlalchemy import Connection, event

    @event.listens_for(dbos._sys_db.engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


class _OutageFilter(logging.Filter):
    """Reduces the warnings of DBOS about an unavailable database to one line per `WARN_EVERY_S`.

    Each of its threads logs several per second, one of them with a traceback.
    """

    _last = -math.inf

    def filter(self, record: logging.LogRecord) -> bool:
        found = re.search(r"\((?:psycopg|sqlite3)\.[\w.]+\) (.*)", record.getMessage())
        if found is None or record.levelno > logging.WARNING:
            return True
        if time.monotonic() - self._last < WARN_EVERY_S:
            return False
        self._last = time.monotonic()
        record.msg, record.args, record.exc_info = f"the queue waits for its database: {found[1]}", (), None
        return True


_outage_filter = _OutageFilter()


def _configure_logging() -> None:
    """Let DBOS use the handlers of this process; otherwise it writes to the terminal itself."""
    dbos = logging.getLogger("dbos")
    dbos.addHandler(logging.NullHandler())
    dbos.addFilter(_outage_filter)


def _client(settings: Settings) -> DBOSClient | None:
    """Return a client that adds and lists entries; None until a worker creates the queue."""
    if settings.database_url is None and not (settings.root / "queue.sqlite").exists():
        return None
    return _client_of(_url(settings))


@lru_cache(8)
def _client_of(url: str) -> DBOSClient:
    from dbos import DBOSClient, DBOSPortableJSONSerializer

    _configure_logging()
    return DBOSClient(
        system_database_url=url,
        dbos_system_schema=SCHEMA,
        serializer=DBOSPortableJSONSerializer(),
        application_name=NAME,
        system_database_pool_size=2,
        lazy=True,
        retry_connection_errors=False,
    )


def _url(settings: Settings) -> str:
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return f"sqlite:///{settings.root / 'queue.sqlite'}"


def _label(settings: Settings) -> str:
    return "DATABASE_URL" if settings.database_url is not None else str(settings.root / "queue.sqlite")


def _create_file(path: Path) -> None:
    """Create the file, so that DBOS finds one with a write-ahead log.  Raises `ConfigError`."""
    try:
        create_sqlite(path)
    except sqlite3.Error as error:
        raise ConfigError(
            f"{path} cannot be opened as a queue ({error}); it contains no runs: move it away, and a new one is created"
        ) from None


def _unreachable() -> tuple[type[Exception], ...]:
    """Return the exceptions for a database that is unavailable or lacks the tables of DBOS."""
    from sqlalchemy.exc import DBAPIError, TimeoutError

    return (DBAPIError, TimeoutError)


def _reason(error: Exception) -> str:
    """Return the first line of an error; for SQLAlchemy's errors that of their cause, without the statement."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
