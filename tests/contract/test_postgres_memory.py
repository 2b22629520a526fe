"""The memory in Postgres: separate users, concurrent processes, moving there and back, a server that fails or changed."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import psycopg
import pytest

from research.errors import ConfigError, StoreUnavailable
from research.memory import Entry, Filters
from research.memory.entries import Memory
from research.memory.postgres_store import PostgresMemoryStore
from research.memory.sqlite_store import SqliteMemoryStore
from research.memory.store import MemoryStore, StoredEntry, copy_entries
from research.store import database
from research.store.database import close_pool
from tests.word_encoder import WordEncoder

ROOT = Path(__file__).parents[2]
MANY = 300
"""Number of entries: more than fit into two batches."""


@pytest.fixture
def url(database_url: str) -> Iterator[str]:
    yield database_url
    close_pool(database_url)


def opened(url: str, schema: str = "workbench", dimension: int = 64) -> Memory:
    return Memory(PostgresMemoryStore(url, schema), WordEncoder(dimension))


def test_a_users_memory_is_invisible_to_other_users(url: str) -> None:
    one, other = (opened(url, f"u_{digit * 16}") for digit in "01")
    for memory, word in ((one, "okapi"), (other, "quagga")):
        memory.add([Entry(f"a {word} is an animal", id="same", run=word, tags=(word,), url="https://a.example")])
    one.forget(["same"])
    assert (one.count(), other.count()) == (0, 1)
    one.restore(["same"])
    for memory, word in ((one, "okapi"), (other, "quagga")):
        assert [found.entry.run for found in memory.search("animal okapi quagga", 9)] == [word]
        assert (memory.tags(), memory.runs(), len(list(memory.export()))) == ([word], [word], 1)
        assert memory.get("same").text == f"a {word} is an animal"
    one.forget(["same"])
    one.purge(float("inf"))
    opened(url, "u_" + "1" * 16, 32).reembed()
    assert other.entries() and one.add([Entry("again")])[0].id != "same"


@pytest.mark.parametrize("schema", ['a"b', "a'b", "two words", "用户", "select", "{s}"])
def test_a_schema_may_have_any_name(url: str, schema: str) -> None:
    kept = opened(url, schema)
    kept.add([Entry("oslo is a town")])
    assert opened(url, schema).search("towns")[0].word_rank == 1


OTHER = """
import sys
from research.memory import Entry
from research.memory.entries import Memory
from research.memory.postgres_store import PostgresMemoryStore
from tests.word_encoder import WordEncoder
kept = Memory(PostgresMemoryStore(sys.argv[1], "workbench"), WordEncoder(int(sys.argv[2])))
exec(sys.argv[3])
"""


def elsewhere(url: str, code: str, dimension: int = 64) -> None:
    """Run code on the memory in another process."""
    subprocess.run([sys.executable, "-c", OTHER, url, str(dimension), code], cwd=ROOT, check=True)


def test_each_process_sees_the_changes_of_the_others(url: str) -> None:
    kept = opened(url)
    kept.add([Entry("apples are red", id="a"), Entry("pears are green", id="b")])
    assert kept.search("apples")[0].entry.id == "a"
    elsewhere(
        url, 'kept.add([Entry("plums are blue", id="c")]); kept.forget(["b"]); kept.edit("a", text="figs are sweet")'
    )
    assert {found.entry.id for found in kept.search("plums pears apples", 9)} == {"a", "c"}
    (best, *_) = kept.search("figs sweet")
    assert (best.entry.id, best.word_rank, best.meaning_rank) == ("a", 1, 1)
    elsewhere(url, 'kept.restore(["b"])')
    assert kept.search("pears")[0].entry.id == "b"
    elsewhere(url, "kept.reembed()", 32)
    with pytest.raises(ConfigError, match="'words:32'.*'words:64'"):
        kept.search("plums")
    assert opened(url, dimension=32).search("plums")[0].entry.id == "c"


def test_a_fact_added_by_many_writers_at_once_is_saved_once(url: str) -> None:
    """Each memory has its own store, as in separate processes: a writer sees all earlier writes."""
    facts = [f"town {n} has a mill" for n in range(12)]
    memories = [opened(url) for _ in range(4)]
    begin = threading.Barrier(len(memories))
    wrong: list[BaseException] = []

    def work(memory: Memory) -> None:
        begin.wait()
        try:
            for fact in facts:
                memory.add([Entry(fact)])
        except (ConfigError, StoreUnavailable, KeyError) as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(memory,)) for memory in memories]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sorted(entry.text for entry in memories[0].entries()) == sorted(facts)


def test_a_fact_is_saved_once_even_if_the_database_defaults_to_repeatable_read(url: str) -> None:
    name = url.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_isolation = "repeatable read"')
    test_a_fact_added_by_many_writers_at_once_is_saved_once(url)


def filled(store: MemoryStore) -> Memory:
    memory = Memory(store, WordEncoder(32))
    memory.add(
        Entry(f"Town {1000 + n} has a mill.", id=f"e{n}", time=float(n + 1), run=f"r{n % 3}") for n in range(MANY)
    )
    memory.add(
        [Entry("日本的首都是东京。", "finding", tags=("资本", "b"), pinned=True, url="u", title="t\0", quote="q\1")]
    )
    memory.touch(["e5"])
    memory.forget(["e7", "e8"])
    Memory(store, WordEncoder()).reembed(stop=stopped())  # interrupted, so there are vectors of two encoders
    store.put_vectors("words:64", {store.by_id(["e9"])["e9"]: WordEncoder().encode(["x"]).tobytes()})
    return memory


def stopped() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def everything(store: MemoryStore) -> list[StoredEntry]:
    """Return all stored entries, numbered from 0."""
    found = store.stored(0, 10_000)
    return [StoredEntry(n, each.entry, each.last_used, each.forgotten, each.vectors) for n, each in enumerate(found)]


@pytest.mark.parametrize("back", [False, True])
def test_a_move_copies_the_whole_memory_and_a_second_one_adds_nothing(url: str, tmp_path: Path, back: bool) -> None:
    stores = [SqliteMemoryStore(tmp_path / "memory.sqlite"), PostgresMemoryStore(url, "workbench")]
    source, target = reversed(stores) if back else stores
    with closing(filled(source)):
        before = everything(source)
        assert len(before) == MANY + 1 and sum(each.forgotten is not None for each in before) == 2
        assert {len(each.vectors) for each in before} == {1, 2}
        assert copy_entries(source, target) == MANY + 1
        assert everything(target) == everything(source) == before
        assert copy_entries(source, target) == 0
        assert everything(target) == before
    with closing(Memory(target, WordEncoder(32), MANY)) as moved:
        with target.writing():
            target.drop_other_encoders("words:32")
        assert moved.search("town 1011")[0].entry.id == "e11"
        assert moved.search("首都")[0].word_rank == 1
        moved.restore(["e7"])
        moved.add([Entry("one more")])
        assert {"e0", "e5", "e7"} & {entry.id for entry in moved.entries(limit=MANY)} == {"e5", "e7"}


def test_a_second_move_finishes_an_interrupted_one(url: str, tmp_path: Path) -> None:
    source, target = SqliteMemoryStore(tmp_path / "memory.sqlite"), PostgresMemoryStore(url, "workbench")
    with closing(filled(source)):
        with pytest.raises(InterruptedError):
            copy_entries(source, target, interrupted)
        assert 0 < target.count() < MANY - 2
        Memory(target, WordEncoder(32)).forget(["e5"])
        progress: list[int] = []
        copy_entries(source, target, progress.append)
        assert 0 == progress[0] < progress[-1] < MANY
        assert target.count() == MANY - 2, "an entry forgotten in the target came back"


def interrupted(done: int) -> None:
    raise InterruptedError


def test_word_search_ranks_entries_like_the_file(url: str, tmp_path: Path) -> None:
    """Both use BM25, but weigh a second occurrence differently."""
    random = np.random.default_rng(1)
    weights = 1 / np.arange(5, 2_005)
    lengths = random.integers(4, 80, 1_500)
    texts = [" ".join(f"w{n}" for n in random.choice(2_000, size, p=weights / weights.sum())) for size in lengths]
    stores: list[MemoryStore] = [SqliteMemoryStore(tmp_path / "memory.sqlite"), PostgresMemoryStore(url, "workbench")]
    for store in stores:
        with store.writing():
            store.insert(
                [(Entry(text, id=str(n), run=f"r{n % 2}", quote=texts[n - 1]), 0.0) for n, text in enumerate(texts)]
            )
    for filters, least in ((Filters(), 0.8), (Filters(runs=("r1",)), 0.8)):
        shared = []
        for _ in range(30):
            words = [f"w{n}" for n in random.choice(2_000, 4, replace=False, p=weights / weights.sum())]
            one, other = (set(store.search_words(words, 10, filters)) for store in stores)
            shared.append(len(one & other) / len(one))
        assert sum(shared) / len(shared) > least
    stores[0].close()


@contextmanager
def gone(url: str) -> Iterator[None]:
    """Make the server refuse connections to this database and end the open ones, like during a restart."""
    name = url.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(url.replace(name, "postgres"), autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        try:
            yield
        finally:
            connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


def test_a_memory_loses_nothing_while_its_server_does_not_answer(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "RESPONSE_S", 0.2)
    kept = opened(url)
    kept.add([Entry("here before", id="a")])
    kept.search("before")
    with gone(url):
        for asked in (
            lambda: kept.add([Entry("not now")]), lambda: kept.search("before"), kept.entries, lambda: kept.touch(["a"]),
        ):  # fmt: skip
            with pytest.raises(StoreUnavailable, match="DATABASE_URL"):
                asked()
    monkeypatch.undo()
    assert kept.search("before")[0].entry.id == "a"
    assert kept.add([Entry("not now")])[0].new and kept.count() == 2


def test_a_write_interrupted_by_the_server_saves_nothing(url: str) -> None:
    store = PostgresMemoryStore(url, "workbench")
    with pytest.raises(StoreUnavailable), store.writing():
        store.insert([(Entry("half", id="a"), 0.0)])
        with gone(url):
            store.put_vectors("words:64", {})
            store.count()
    assert PostgresMemoryStore(url, "workbench").numbers() == []
    with store.writing():
        assert store.insert([(Entry("half", id="a"), 0.0)])


def test_missing_tables_are_an_error_that_names_their_schema(url: str) -> None:
    kept = opened(url)
    kept.add([Entry("here")])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE workbench.words")
    for asked in (lambda: kept.add([Entry("there")]), lambda: kept.search("here")):
        with pytest.raises(ConfigError, match="schema 'workbench' of DATABASE_URL cannot be used"):
            asked()
    assert kept.count() == 1
