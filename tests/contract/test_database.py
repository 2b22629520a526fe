"""Opening a Postgres: rejected URLs, error messages, and migrations."""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from research.config import users
from research.config.settings import load
from research.errors import ConfigError, StoreUnavailable
from research.store.database import apply_migrations, availability, close_pool, connected, create_sqlite, pool
from tests.workers import LONG_S


@pytest.fixture
def url(database_url: str) -> Iterator[str]:
    yield database_url
    close_pool(database_url)


@pytest.mark.parametrize(
    "wrong",
    [
        "", "sesame", "mysql://me:sesame@host/x", "postgresql+psycopg://me:sesame@host/x",
        "sqlite:///sesame", "postgresql://me:sesame@127.0.0.1:1/x", "postgres://me:sesame@127.0.0.1:1/x",
        "postgresql://me:ses@sesame@localhost/x", "postgresql://me:12/sesame@localhost/x",
        "postgresql://me:a?sesame@localhost/x", "postgresql://me:a#sesame@localhost/x",
        "postgresql://me:sesame@localhost:port/x", "postgresql://me:sesame@localhost/x?nonsense=sesame",
        "postgresql://me@127.0.0.1:1/x?password=sesame", "postgresql://me:%zzsesame@localhost/x",
        "host=127.0.0.1 port=1 password=sesame",
    ],
)  # fmt: skip
def test_an_invalid_url_is_reported_without_its_password(wrong: str) -> None:
    with pytest.raises(ConfigError, match="DATABASE_URL") as told:
        pool(wrong)
    assert "sesame" not in str(told.value)
    assert "sesame" not in str(told.value.__cause__ or "")


def test_an_unknown_database_scheme_is_rejected_by_name() -> None:
    with pytest.raises(ConfigError, match="mysql://"):
        pool("mysql://localhost/x")


def test_a_missing_database_is_named(url: str) -> None:
    nowhere = urlsplit(url)._replace(path="/nowhere").geturl()
    for _ in range(2):
        with pytest.raises(ConfigError, match='"nowhere" does not exist'):
            pool(nowhere)


def test_a_database_with_another_encoding_is_rejected(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE old ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(ConfigError, match="LATIN1"):
        pool(urlsplit(postgres_url)._replace(path="/old").geturl())


def test_both_url_schemes_are_accepted_and_each_url_gets_one_pool(url: str) -> None:
    other = url.replace("postgresql://", "postgres://")
    assert pool(url) is pool(url) is not pool(other)
    close_pool(other)
    close_pool(other)
    with connected(pool(url)) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_concurrent_migrations_apply_each_step_once(url: str) -> None:
    steps = ["CREATE TABLE {schema}.things (n integer)", "INSERT INTO {schema}.things VALUES (1)"]
    gate, failed = threading.Barrier(6), list[Exception]()

    def make() -> None:
        gate.wait(LONG_S)
        try:
            apply_migrations(pool(url), "mine", "things", steps)
        except psycopg.Error as error:
            failed.append(error)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    apply_migrations(pool(url), "mine", "things", [*steps, "INSERT INTO {schema}.things VALUES (2)"])
    apply_migrations(pool(url), "mine", "others", ["CREATE TABLE {schema}.others (n integer)"])
    with connected(pool(url)) as connection:
        assert connection.execute("SELECT n FROM mine.things ORDER BY n").fetchall() == [(1,), (2,)]
    with pytest.raises(ConfigError, match="newer version"):
        apply_migrations(pool(url), "mine", "things", steps)


def test_migration_steps_are_applied_all_or_none(url: str) -> None:
    with pytest.raises(psycopg.Error):
        apply_migrations(pool(url), "mine", "things", ["CREATE TABLE {schema}.things (n integer)", "SELECT nonsense"])
    apply_migrations(pool(url), "mine", "things", ["CREATE TABLE {schema}.things (n integer)"])


def test_a_role_that_may_not_create_tables_gets_an_error_and_can_use_a_given_schema(url: str) -> None:
    with connected(pool(url)) as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN")
    guest = url.replace("postgres:@", "guest@")
    with pytest.raises(ConfigError, match="DATABASE_URL.*schema 'mine'.*CREATE"):
        apply_migrations(pool(guest), "mine", "things", ["CREATE TABLE {schema}.things (n integer)"])
    with connected(pool(url)) as connection:  # an administrator creates it
        connection.execute("CREATE SCHEMA mine AUTHORIZATION guest")
    apply_migrations(pool(guest), "mine", "things", ["CREATE TABLE {schema}.things (n integer)"])
    close_pool(guest)


def test_a_connection_closed_by_the_server_is_replaced(url: str) -> None:
    with connected(pool(url)) as connection:
        pid = connection.info.backend_pid
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
    with connected(pool(url)) as connection:
        assert connection.info.backend_pid != pid


def test_a_connection_closed_during_use_raises_store_unavailable(url: str) -> None:
    with (
        pytest.raises(StoreUnavailable, match="DATABASE_URL"),
        connected(pool(url)) as connection,
        psycopg.connect(url, autocommit=True) as other,
    ):
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [connection.info.backend_pid])
        connection.execute("SELECT 1")
    with connected(pool(url)) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_pool_records_when_the_database_came_back(url: str) -> None:
    with pytest.raises(StoreUnavailable), connected(pool(url)):
        raise psycopg.OperationalError("the server closed the connection")
    with connected(pool(url)):
        assert availability(pool(url)).since > -math.inf


def test_errors_in_a_statement_are_not_hidden(url: str) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable), connected(pool(url)) as connection:
        connection.execute("SELECT * FROM nowhere")


def test_every_text_is_read_back_unchanged(url: str) -> None:
    texts = ["", "\0", "a\0b", "\ufdd0", "\ufdd00", "\ufdd01\0", "\ufdd0\ufdd0", '{"a":"\\u0000"}', "漢字"]
    with connected(pool(url)) as connection:
        for binary in (False, True):
            for mark in ("%s", "%t", "%b"):
                for text in texts:
                    query = f"SELECT {mark}::text"
                    cursor = connection.execute(query.encode(), [text], binary=binary)
                    assert cursor.fetchone() == (text,)
            assert connection.execute("SELECT %s::text[]", [texts], binary=binary).fetchone() == (texts,)


def test_several_threads_can_create_a_sqlite_file_concurrently(tmp_path: Path) -> None:
    failed: list[Exception] = []

    def create(path: Path, together: threading.Barrier) -> None:
        together.wait()
        try:
            create_sqlite(path)
        except sqlite3.Error as error:
            failed.append(error)

    for n in range(20):
        path, together = tmp_path / f"{n}.sqlite", threading.Barrier(8)
        threads = [threading.Thread(target=create, args=(path, together)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []


def test_users_of_the_database_are_listed_beside_those_with_a_home(url: str, tmp_path: Path) -> None:
    alice, bob = (users.key_of("https://login.example.org", name) for name in ("alice", "bob"))
    with connected(pool(url)) as connection:
        for schema in (f"u_{bob}", "u_other", "workbench"):
            connection.execute(f'CREATE SCHEMA "{schema}"'.encode())
    users.settings_for(load(home=tmp_path), alice)
    assert users.known_users(load(home=tmp_path, database_url=url)) == sorted([alice, bob])
