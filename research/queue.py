"""The queue between whoever asks and the workers, on DBOS: in a SQLite file of the home folder, or in Postgres.

Only who may begin, and how many at once, is decided here.  What a run has done stands in its events, from which anybody
goes on: so nothing is kept in the queue that could be lost with it, and a worker puts in again what it does not find.
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
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING

from research.database import WAIT_S, connected, pool
from research.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from dbos import DBOS, DBOSClient

    from research.settings import Settings

NAME = "research-workbench"
QUEUE = "runs"
WORK = "work_off"
SCHEMA = "workbench_queue"
"""Where DBOS keeps its tables in a Postgres."""
VERSION = "1"
"""Of what a turn means.  DBOS would take a hash of the source, and after an upgrade leave alone what was put in before."""
POLL_S = 0.25
"""How often a worker looks for a turn."""
TAKEN_S = 3.0
"""A turn that was taken so recently is not lost: who took it may not have said yet that it is at work."""
KEPT_S = 3_600.0
"""Turns that are over are kept this long."""
AWAY_S = 30.0
"""How often it is said that the queue's database is away."""

_log = logging.getLogger(__name__)

Take = Callable[[str, str], None]
"""Works on a run of a user, until it ends or rests; given the user's key and the run's id."""


class DbosQueue:
    """The turns of one user's runs.  A turn is a DBOS workflow `USER:RUN:N`, whose input is the user's key and the run."""

    def __init__(self, settings: Settings, user: str) -> None:
        self._settings = settings
        self._user = user

    def put(self, run_id: str) -> None:
        """Let a worker take the run up, which nobody works on.

        A run that waits in the queue stays there once.  A turn of it that has not ended, because its worker is gone or
        is about to say so, is cancelled and does not count as one at work.  While the queue cannot be reached, or no
        worker has ever made it, nothing happens: the run stands as queued, and a worker that finds it puts it in.
        """
        self._put(run_id, taken_s=0.0)

    def put_lost(self, run_id: str) -> None:
        """The same for a run that seems to be lost, unless somebody has taken it up a moment ago."""
        self._put(run_id, taken_s=TAKEN_S)

    def _put(self, run_id: str, taken_s: float) -> None:
        try:
            client = _client(self._settings)
            if client is not None:
                self._enqueue(client, run_id, taken_s)
        except _unreachable() as error:
            _log.warning("run %s is not in the queue yet: %s", run_id, _reason(error))

    def _enqueue(self, client: DBOSClient, run_id: str, taken_s: float) -> None:
        turn = f"{self._user}:{run_id}:"
        last = client.list_workflows(
            workflow_id_prefix=turn, sort_desc=True, limit=1, load_input=False, load_output=False
        )
        number = 0
        for each in last:
            number = int(each.workflow_id.removeprefix(turn))
            if each.status == "ENQUEUED":
                return
            if each.status == "PENDING":
                if taken_s and (each.dequeued_at or 0) / 1000 > time.time() - taken_s:
                    return
                client.cancel_workflow(each.workflow_id)
        # Two who put the same run in at the same time make the same id, which is there once.
        client.enqueue(
            {
                "workflow_name": WORK, "queue_name": QUEUE, "workflow_id": f"{turn}{number + 1}",
                "queue_partition_key": self._user or "-", "app_version": VERSION,
            },
            self._user, run_id,
        )  # fmt: skip


def enqueued(settings: Settings) -> set[tuple[str, str]]:
    """User and run of every turn that nobody has taken; empty where the queue cannot be reached."""
    try:
        client = _client(settings)
        if client is None:
            return set()
        found = client.list_workflows(queue_name=QUEUE, status="ENQUEUED", load_input=False, load_output=False)
    except _unreachable() as error:
        _log.warning("the queue cannot be read: %s", _reason(error))
        return set()
    ids = [each.workflow_id.split(":", 1) for each in found]
    return {(user, rest.rpartition(":")[0]) for user, rest in ids}


def forget_ended(settings: Settings) -> None:
    """Remove turns that were over an hour ago: what came of them stands with the runs."""
    client = _client(settings)
    before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - KEPT_S))
    over = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
    try:
        if client is not None:
            found = client.list_workflows(
                status=over, queue_name=QUEUE, completed_before=before, limit=1_000, load_input=False, load_output=False
            )
            client.delete_workflows([each.workflow_id for each in found])
    except _unreachable() as error:
        _log.warning("turns that are over could not be removed: %s", _reason(error))


def listen(settings: Settings, runs: int, take: Take) -> None:
    """From now on take turns in this process, at most `runs` at once, each in a thread of its own.

    Raises `ConfigError` or `StoreUnavailable` when the queue's database cannot be reached or opened now; later it is
    waited for.
    """
    from dbos import DBOS, DBOSPortableJSONSerializer
    from dbos import error as dbos_error
    from sqlalchemy.exc import SQLAlchemyError

    _quiet()
    if settings.database_url is None:
        _made(settings.root / "queue.sqlite")
    else:
        with connected(pool(settings.database_url.get_secret_value())):
            pass  # it is there: DBOS would wait for it
    try:
        dbos = DBOS(
            config={
                "name": NAME, "system_database_url": _url(settings), "dbos_system_schema": SCHEMA,
                "application_version": VERSION, "serializer": DBOSPortableJSONSerializer(),
                # Of a process, not of a machine: DBOS would begin again by itself what another one of that name began.
                "executor_id": f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
                "use_listen_notify": False, "enable_otlp": False, "log_level": "WARNING", "sys_db_pool_size": 5,
            }
        )  # fmt: skip

        # As often as it takes: whether a run gets any further, the engine sees.
        @DBOS.workflow(name=WORK, max_recovery_attempts=None)
        def work_off(user: str, run_id: str) -> None:
            take(user, run_id)

        DBOS.listen_queues([QUEUE])
        DBOS.launch()
        _bound(dbos, runs)
        DBOS.register_queue(
            QUEUE, global_concurrency=settings.runs_at_once,
            partition_concurrency=min(settings.runs_per_user, settings.runs_at_once),  # it accepts no more
            polling_interval_sec=POLL_S, on_conflict="always_update",
        )  # fmt: skip
    except (SQLAlchemyError, dbos_error.DBOSException) as error:
        raise ConfigError(f"{_named(settings)} cannot be used as a queue: {_reason(error)}") from None


def _bound(dbos: DBOS, runs: int) -> None:
    """Take at most so many turns in this process.

    DBOS keeps the limits of a queue in its database, alike for all workers; how much fits in here is for this process
    to say.  It reads them anew before it looks for a turn, and finds ours.
    """
    system = dbos._sys_db
    read = system.get_queue

    def get_queue(name: str, **more: object) -> object:
        queue = read(name, **more)  # type: ignore[arg-type]
        if queue is not None and queue.name == QUEUE:
            queue._worker_concurrency = runs
        return queue

    system.get_queue = get_queue  # type: ignore[method-assign, assignment]


class _Seldom(logging.Filter):
    """Lets DBOS say now and then, on one line, that its database is away.

    Each of its threads says so several times a second, one of them with a traceback.
    """

    _said = -math.inf

    def filter(self, record: logging.LogRecord) -> bool:
        found = re.search(r"\((?:psycopg|sqlite3)\.[\w.]+\) (.*)", record.getMessage())
        if found is None or record.levelno > logging.WARNING:
            return True
        if time.monotonic() - self._said < AWAY_S:
            return False
        self._said = time.monotonic()
        record.msg, record.args, record.exc_info = f"the queue waits for its database: {found[1]}", (), None
        return True


_seldom = _Seldom()


def _quiet() -> None:
    """Let DBOS log as everything else does; it would write to the terminal by itself."""
    dbos = logging.getLogger("dbos")
    dbos.addHandler(logging.NullHandler())
    dbos.addFilter(_seldom)


def _client(settings: Settings) -> DBOSClient | None:
    """What speaks to the queue without working on it; None: no worker has made it yet."""
    if settings.database_url is None and not (settings.root / "queue.sqlite").exists():
        return None
    return _opened(_url(settings))


@lru_cache(8)
def _opened(url: str) -> DBOSClient:
    from dbos import DBOSClient, DBOSPortableJSONSerializer

    _quiet()
    return DBOSClient(
        system_database_url=url, dbos_system_schema=SCHEMA, serializer=DBOSPortableJSONSerializer(),
        application_name=NAME, system_database_pool_size=2, lazy=True, retry_connection_errors=False,
    )  # fmt: skip


def _url(settings: Settings) -> str:
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return f"sqlite:///{settings.root / 'queue.sqlite'}"


def _named(settings: Settings) -> str:
    return "DATABASE_URL" if settings.database_url is not None else str(settings.root / "queue.sqlite")


def _made(path: Path) -> None:
    """A file in which who looks for a turn does not wait for who takes one.  Raises `ConfigError`."""
    try:
        with closing(sqlite3.connect(path, timeout=WAIT_S)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.Error as error:
        raise ConfigError(
            f"{path} cannot be opened as a queue ({error}); it holds no runs: move it away, and a new one is made"
        ) from None


def _unreachable() -> tuple[type[Exception], ...]:
    """What is raised when the queue's database does not answer, or no worker has made its tables yet."""
    from sqlalchemy.exc import DBAPIError, TimeoutError

    return (DBAPIError, TimeoutError)


def _reason(error: Exception) -> str:
    """Its first line; of SQLAlchemy's errors the one beneath, without the statement."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
