"""The memory through its public API: entries are stored once, found again, and shared between processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from research.errors import ConfigError, ToolError
from research.memory import Entry, Filters
from research.memory.entries import MAX_CHARACTERS, Memory
from research.search import embedders
from research.search.embedders import Embedder
from research.search.library.plane import plane
from tests.memory_stores import PLACES, open_store, places
from tests.word_encoder import WordEncoder

ROOT = Path(__file__).parents[2]
Open = Callable[..., Memory]


@pytest.fixture(scope="session")
def universal() -> Embedder:
    return embedders.create("universal")


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield from places(request, tmp_path)


@pytest.fixture
def memory(place: str) -> Iterator[Open]:
    """Opens the memory of this test, as often as it is called."""
    opened: list[Memory] = []

    def make(embedder: Embedder | None = None, capacity: int = 1_000) -> Memory:
        opened.append(Memory(open_store(place), embedder or WordEncoder(), capacity))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def texts(entries: Sequence[Entry]) -> list[str]:
    return [entry.text for entry in entries]


FACTS = [
    "France's real GDP was $3.732 trillion in 2024.",
    "The staple food of Ethiopia is injera, made from teff flour.",
    "Iceland produces almost all of its electricity from water and heat of the earth.",
    "日本的首都是东京。",
    "长江是中国最长的河流。",
    "Ask the auditor before the report goes out.",
]


@pytest.mark.examples(4)
@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("how large is the French economy", 0),
        ("what do people eat in Addis Ababa", 1),
        ("renewable power in Reykjavik", 2),
        ("日本政府在哪个城市", 3),
        ("最长的河", 4),
        ("auditor", 5),
    ],
)
def test_entries_are_found_by_meaning_and_by_words_in_two_languages(
    memory: Open, universal: Embedder, query: str, best: int
) -> None:
    kept = memory(universal)
    kept.add(Entry(fact) for fact in FACTS)
    found = kept.search(query, limit=3)
    assert found[0].entry.text == FACTS[best]
    assert len(found) == 3
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    vectors = universal.encode([query, *(each.entry.text for each in found)])
    assert [each.cosine for each in found] == pytest.approx((vectors[1:] @ vectors[0]).tolist(), abs=1e-5)
    assert all(each.meaning_rank for each in found)


def test_every_field_of_an_entry_survives_reopening(memory: Open) -> None:
    entry = Entry(
        "Oslo is the capital.", "finding", "mine", "page", "r1", 3, "https://example.org/no", "Norway", "Oslo (capital)",
        12.5, ("north", "资本"), True,
    )  # fmt: skip
    memory().add([entry])
    again = memory()
    assert again.entries() == [entry]
    assert again.get("mine") == entry
    assert [found.entry for found in again.search("Norway")] == [entry]


def test_a_note_gets_an_id_and_a_time(memory: Open) -> None:
    kept = memory()
    (added,) = kept.add([Entry("  remember me ", tags=("  a  b ", "", "a b"))])
    (entry,) = kept.entries()
    assert added.new and entry.id == added.id and entry.time > 0
    assert (entry.text, entry.kind, entry.provenance, entry.tags) == ("remember me", "note", "user", ("a b",))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("France's real GDP was $3.732 trillion in 2024.", "Real GDP of France was $3.732 trillion in 2024."),
        ("The capital of France is Paris.", "the capital of France is Paris"),
        ("法国2024年的实际GDP为3.732万亿美元。", "2024年，法国的实际GDP是3.732万亿美元。"),
    ],
)
def test_entries_with_the_same_meaning_are_stored_once(memory: Open, universal: Embedder, one: str, other: str) -> None:
    kept = memory(universal)
    (first,) = kept.add([Entry(one, tags=("a",))])
    (second, third) = kept.add([Entry(other, tags=("b",)), Entry(other)])
    assert (second.id, second.new, third.id, third.new) == (first.id, False, first.id, False)
    assert texts(kept.entries()) == [one]
    assert kept.get(first.id).tags == ("a", "b")
    assert kept.entries(Filters(tags=("b",))) == kept.entries()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("France's real GDP was $3.732 trillion in 2024.", "France's real GDP was $3.732 trillion in 2023."),
        ("France's real GDP grew by 1.2 percent.", "France's real GDP grew by 1.3 percent."),
        ("Germany exports more than France.", "France exports more than Germany."),
        ("Norway is a member of NATO.", "Norway is not a member of NATO."),
        ("Call Anna about the lease on Monday", "Call Anna about the lease on Tuesday"),
        ("中国的人口比印度多。", "印度的人口比中国多。"),
        ("The rate rose from 5 percent to 7 percent.", "The rate rose from 7 percent to 5 percent."),
        ("writer wrote line 0, part 1", "writer wrote line 1, part 0"),
    ],
)
def test_similar_entries_with_another_meaning_are_stored_separately(
    memory: Open, universal: Embedder, one: str, other: str
) -> None:
    kept = memory(universal)
    assert [added.new for added in kept.add([Entry(one), Entry(other)])] == [True, True]
    assert [added.new for added in kept.add([Entry(other), Entry(one)])] == [False, False]


def test_the_same_text_from_another_source_or_of_another_kind_is_another_entry(memory: Open) -> None:
    kept = memory()
    entries = [
        Entry("Oslo", url="https://a.example/"),
        Entry("Oslo", url="https://b.example/"),
        Entry("Oslo", "report"),
    ]
    assert [added.new for added in kept.add(entries)] == [True, True, True]


def test_the_oldest_unpinned_entry_makes_room(memory: Open) -> None:
    kept = memory(capacity=3)
    first, second, _ = kept.add(Entry(f"entry {word}") for word in ("one", "two", "three"))
    kept.pin([first.id])
    kept.add([Entry("entry two")])  # added again: no longer the oldest
    kept.add([Entry("entry four")])
    assert sorted(texts(kept.entries())) == ["entry four", "entry one", "entry two"]
    assert "entry three" not in texts([found.entry for found in kept.search("entry three")])
    kept.pin([second.id])
    kept.pin([each.id for each in kept.entries()])
    with pytest.raises(ConfigError, match="all of its 3 entries are pinned"):
        kept.add([Entry("entry five")])
    assert kept.count() == kept.count(Filters(pinned=True)) == 3


def test_used_entries_are_evicted_last(memory: Open) -> None:
    kept, elsewhere = memory(capacity=3), memory(capacity=3)
    one, two, _ = (kept.add([Entry(f"entry {word}")])[0] for word in ("one", "two", "three"))
    before = kept.entries()
    kept.search("entry one")
    elsewhere.touch([one.id, "unknown"])
    assert kept.entries() == before, "an entry's own fields changed"
    kept.add([Entry("entry four")])
    assert sorted(texts(kept.entries())) == ["entry four", "entry one", "entry three"]
    elsewhere.touch([])
    kept.forget([one.id])
    elsewhere.touch([one.id])
    assert kept.count() == 2, "a forgotten entry came back"


def test_duplicates_added_together_merge_their_tags_and_pins(memory: Open) -> None:
    kept = memory()
    first, again, third = kept.add(Entry("one thing", tags=(tag,), pinned=tag == "b") for tag in "abc")
    assert (first.new, again.id, third.id) == (True, first.id, first.id)
    assert (kept.get(first.id).tags, kept.get(first.id).pinned) == (("a", "b", "c"), True)
    kept.add(Entry("one thing", tags=(tag,)) for tag in "de")
    assert kept.get(first.id).tags == ("a", "b", "c", "d", "e")


def test_a_forgotten_entry_is_neither_listed_nor_found_until_it_is_restored(memory: Open) -> None:
    kept, elsewhere = memory(), memory()
    one, two = kept.add([Entry("the first thing"), Entry("the second thing")])
    assert len(elsewhere.search("thing")) == 2
    assert kept.forget([one.id]) == 1
    for each in (kept, elsewhere):
        assert texts(each.entries()) == ["the second thing"]
        assert texts([found.entry for found in each.search("first thing")]) == ["the second thing"]
        with pytest.raises(ConfigError, match="unknown entry"):
            each.get(one.id)
    kept.restore([one.id])
    for each in (kept, elsewhere):
        assert each.count() == 2
        found = each.search("first thing")[0]
        assert (found.entry.text, found.word_rank, found.meaning_rank) == ("the first thing", 1, 1)
    kept.forget([one.id])
    assert kept.purge(before=float("inf")) == 1
    kept.restore([one.id])
    assert texts(kept.entries()) == ["the second thing"]
    assert kept.purge(before=float("inf")) == 0, "an entry that was not forgotten was purged"


def test_an_edit_updates_the_search_index_and_the_provenance(memory: Open) -> None:
    kept, elsewhere = memory(), memory()
    (added,) = kept.add([Entry("apples are red", "finding", provenance="model", run="r1")])
    assert elsewhere.search("apples")
    assert kept.edit(added.id, tags=["fruit"]).provenance == "model"
    after = kept.edit(added.id, text="pears are green")
    assert (after.provenance, after.tags, after.run) == ("user", ("fruit",), "r1")
    for each in (kept, elsewhere):
        assert each.entries() == [after]
        (found,) = each.search("pears green")
        assert (found.entry, found.word_rank) == (after, 1)
        assert found.cosine > 0.8
        assert each.search("apples")[0].word_rank == 0
    with pytest.raises(ConfigError, match="has no text"):
        kept.edit(added.id, text="  ")


FILTERED = [
    Entry("note a", id="a", time=10.0, tags=("x",)),
    Entry("finding b", "finding", "b", "model", "run-1", 1, time=20.0, tags=("y",)),
    Entry("passage c", "passage", "c", "page", "run-2", 2, time=30.0, tags=("x", "y"), pinned=True),
]


@pytest.mark.examples(8)
@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        (Filters(), "cba"),
        (Filters(kinds=("note", "passage")), "ca"),
        (Filters(runs=("run-1",)), "b"),
        (Filters(tags=("x",)), "ca"),
        (Filters(tags=("x", "y")), "cba"),
        (Filters(provenance=("page", "model")), "cb"),
        (Filters(since=20.0), "cb"),
        (Filters(until=20.0), "a"),
        (Filters(pinned=True), "c"),
        (Filters(tags=("y",), since=25.0), "c"),
        (Filters(tags=("' OR 1=1 --",)), ""),
    ],
)
def test_filters_apply_to_listing_search_map_and_export_alike(memory: Open, filters: Filters, wanted: str) -> None:
    kept = memory()
    kept.add(FILTERED)
    assert [entry.id for entry in kept.entries(filters)] == list(wanted)
    assert kept.count(filters) == len(wanted)
    assert {found.entry.id for found in kept.search("note finding passage", 10, filters)} == set(wanted)
    assert {placed.entry.id for placed in kept.map_points(filters)} == set(wanted)
    assert len(list(kept.export(filters))) == len(wanted)
    assert kept.tags() == ["x", "y"]
    assert kept.runs() == ["run-2", "run-1"]


def test_pages_cover_all_entries_in_order(memory: Open) -> None:
    kept = memory()
    kept.add(Entry(f"number {n} of many", time=n) for n in range(1, 8))
    pages = [texts(kept.entries(limit=3, offset=offset)) for offset in (0, 3, 6, 9)]
    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert sum(pages, []) == [f"number {n} of many" for n in range(7, 0, -1)]


def test_diversity_prefers_dissimilar_entries(memory: Open) -> None:
    kept = memory()
    kept.add(
        Entry(text, url=str(n))
        for n, text in enumerate(
            [
                "coffee grows in Brazil",
                "coffee grows in Brazil today",
                "much coffee grows in Brazil",
                "coffee is drunk in Finland",
            ]
        )
    )
    alike = [found.entry.url for found in kept.search("coffee grows in Brazil", 2)]
    mixed = [found.entry.url for found in kept.search("coffee grows in Brazil", 2, diversity=0.6)]
    assert alike[0] == mixed[0]
    assert alike[1] != "3" and mixed[1] == "3"


def test_an_empty_memory_loads_no_encoder_and_rejects_a_query_without_words(memory: Open) -> None:
    encoder = WordEncoder()
    kept = memory(encoder)
    assert kept.search("anything") == kept.map_points() == kept.entries() == []
    assert encoder.encoded == 0
    with pytest.raises(ToolError, match="no words"):
        kept.search(" ?! ")


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "NEAR(a b)",
        "text:x",
        "a* OR -b",
        "'; DROP TABLE entries; --",
        "（？）甲",
        "a & !b | (c",
        "\\ \\' ''",
        "x:*A <-> y",
        "%s {s}",
    ],
)
def test_a_query_is_never_interpreted_as_query_syntax(memory: Open, query: str) -> None:
    kept = memory()
    kept.add([Entry("a plain text 甲")])
    assert len(kept.search(query + " plain")) == 1


def test_an_invalid_entry_rejects_the_whole_batch(memory: Open) -> None:
    kept = memory()
    for bad in ("", "  \n", "x" * (MAX_CHARACTERS + 1)):
        with pytest.raises(ConfigError):
            kept.add([Entry("good"), Entry(bad)])
    assert kept.count() == 0
    kept.add([Entry("a lone \ud800 surrogate", tags=("\udfff",))])
    assert kept.search("lone surrogate")[0].entry.tags == ("?",)


ODD = "\1 and \1" + "0 and \\0 and 'it''s' and \x7f\ufdd0 {s} %s"


def test_every_character_is_stored_unchanged(memory: Open) -> None:
    torn = f"\0{ODD}\0\0"
    odd = Entry(torn, "note", ODD, "user", ODD, 0, ODD, torn, torn, 5.0, (ODD, f"二{ODD}"))
    kept = memory()
    kept.add([odd])
    assert memory().entries(Filters(runs=(ODD,), tags=(ODD,))) == [kept.get(ODD)] == [odd]
    assert (kept.tags(), kept.runs()) == (list(odd.tags), [ODD])
    assert kept.add([msgspec.structs.replace(odd, id="other")])[0].id == ODD, "the source was not recognised"
    assert kept.search(ODD)[0].word_rank == 1
    kept.load(kept.export())
    assert kept.forget([f"{ODD}\0", "\ud800"]) == 0
    assert kept.forget([ODD]) == 1


def test_an_id_with_nul_is_rejected_with_the_reason(memory: Open) -> None:
    kept = memory()
    with pytest.raises(ConfigError, match="an entry's id .*contains the character NUL"):
        kept.add([Entry("good"), Entry("bad", id="a\0")])
    assert kept.count() == 0
    kept.add([Entry("good", id="a", run="r", url="u", tags=("a\0b",))])
    kept.add([Entry("other", run="r\0", url="u\0")])
    assert [(entry.run, entry.url) for entry in memory().entries()] == [("r\0", "u\0"), ("r", "u")]
    assert kept.tags() == ["a b"], "NUL in a tag counts as a blank"
    assert [entry.run for entry in kept.entries(Filters(runs=("r\0s", "\ud800")))] == []
    assert kept.forget(["a\0", "a\0b"]) == 0


@pytest.mark.parametrize("word", ["\ud800", "\0", "x" * 3_000, "字" * 3_000])
def test_any_unknown_id_is_reported_as_unknown(memory: Open, word: str) -> None:
    with pytest.raises(ConfigError, match="unknown entry"):
        memory().get(word)


@pytest.mark.slow
def test_the_longest_entry_is_stored_whole_and_found(memory: Open) -> None:
    kept = memory()
    random = np.random.default_rng(1)
    words = " ".join(f"{n:x}" for n in random.integers(2**40, 2**44, 9_000))[:MAX_CHARACTERS]
    signs = "".join(
        map(chr, random.integers(0x12000, 0x12380, MAX_CHARACTERS))
    )  # cuneiform; no three-letter word occurs twice
    texts = ([each[n : n + 3] for n in range(0, MAX_CHARACTERS, 4)] for each in (signs, signs[::-1], signs[1:]))
    hard, harder, hardest = map(" ".join, texts)
    odd = "x" * 5_000 + " " + "y" * 9_000
    entries = [
        Entry(words, "report", words[::-1], "model", words, 1, words[1:], words, words[2:], 5.0, ("okapi",)),
        Entry(hard, "report", "b", url=odd, title=harder, quote=hardest, time=4.0, tags=("quagga",)),
    ]
    kept.add(entries)
    assert memory().entries() == entries
    assert [each.entry.id for each in kept.search(words[:11]) if each.word_rank] == [entries[0].id]
    assert [each.entry.id for each in kept.search("okapi") if each.word_rank] == [entries[0].id]
    assert [each.entry.id for each in kept.search("quagga") if each.word_rank] == ["b"]
    assert entries[1] in [each.entry for each in kept.search(hard[:3]) if each.word_rank]


def test_another_encoder_is_rejected_until_all_entries_are_reembedded(memory: Open) -> None:
    kept = memory(WordEncoder(64))
    kept.add(Entry(f"the text about {word}") for word in ("apples", "pears", "plums"))
    gone = kept.entries()[0]
    kept.forget([gone.id])
    other = memory(WordEncoder(32))
    for refused in (lambda: other.add([Entry("new")]), lambda: other.search("apples"), other.map_points):
        with pytest.raises(ConfigError, match=r"'words:64'.*'words:32'"):
            refused()
    assert other.count() == len(other.entries()) == 2, "listing needs no vectors"
    told: list[tuple[int, int]] = []
    assert other.reembed(lambda done, total: told.append((done, total))) == 2
    assert told[-1] == (2, 2)
    assert other.search("apples")[0].entry.text == "the text about apples"
    with pytest.raises(ConfigError, match=r"'words:32'.*'words:64'"):
        kept.search("apples")
    other.restore([gone.id])
    found = next(each for each in other.search(gone.text) if each.entry.id == gone.id)
    assert found.meaning_rank, "the restored entry has no vector of the new encoder"


def test_an_empty_memory_accepts_any_encoder(memory: Open) -> None:
    kept = memory(WordEncoder(64))
    (added,) = kept.add([Entry("old")])
    kept.forget([added.id])
    kept.purge(float("inf"))
    other = memory(WordEncoder(32))
    other.add([Entry("new")])
    assert other.search("new")


def test_load_inverts_export(memory: Open, tmp_path: Path) -> None:
    kept = memory()
    kept.add([*FILTERED, Entry("一条中文笔记", id="d", time=40.0)])
    lines = list(kept.export())
    assert len(lines) == 4 and "一条中文笔记" in "".join(lines)
    copy = Memory(tmp_path / "copy.sqlite", WordEncoder(32))
    assert (copy.load(lines).added, copy.load(lines).known) == (4, 4)
    assert copy.entries() == kept.entries()
    assert list(copy.export()) == lines
    assert copy.search("中文笔记")[0].entry.id == "d"
    copy.close()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (['{"text": "good"}', "nonsense"], "line 2"),
        (['{"text": "good"}', "", '{"kind": "spell", "text": "x"}'], "line 3.*spell"),
        (['{"text": " "}'], "line 1.*has no text"),
        (["[1]"], "line 1"),
        ([b"\xff\xfe"], "line 1"),
        ([f'{{"text": "entry {n}"}}' for n in range(4)], "room for 3 of 3"),
    ],
)
def test_a_file_is_loaded_completely_or_not_at_all(memory: Open, lines: list[str], said: str) -> None:
    kept = memory(capacity=3)
    with pytest.raises(ConfigError, match=said):
        kept.load(lines)
    assert kept.count() == 0


@pytest.mark.parametrize("field", ['"time":1e300', '"time":-1', '"round":9223372036854775808', '"round":-1'])
def test_an_entry_with_an_impossible_time_or_round_is_rejected(memory: Open, field: str) -> None:
    kept = memory()
    with pytest.raises(ConfigError, match="line 1 .*(not a valid date|round)"):
        kept.load([f'{{"text":"a",{field}}}'])
    assert kept.count() == 0


def test_a_file_that_is_not_a_database_is_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    path.write_bytes(b"precious " * 1_000)
    with pytest.raises(ConfigError, match="it was left unchanged"):
        Memory(path, WordEncoder())
    assert path.read_bytes() == b"precious " * 1_000


def test_threads_can_add_and_search_concurrently(memory: Open) -> None:
    kept = memory()
    wrong: list[BaseException] = []
    workers = ["alpha", "beta", "gamma", "delta"]

    def work(name: int) -> None:
        try:
            for n in range(10):
                (added,) = kept.add([Entry(f"thing {n} of {workers[name]}", url=f"{name}-{n}")])
                assert kept.search(f"thing {n} of {workers[name]}", 1)[0].entry.id == added.id
                if n % 3 == 0:
                    kept.forget([added.id])
        except (AssertionError, ConfigError, IndexError, KeyError) as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert kept.count() == 4 * 6


WRITER = """
import sys
from research.memory import Entry
from research.memory.entries import Memory
from tests.memory_stores import open_store
from tests.word_encoder import WordEncoder
kept = Memory(open_store(sys.argv[1]), WordEncoder(), 100_000)
for n in range(int(sys.argv[3])):
    kept.add([Entry(f"{sys.argv[2]} wrote line {n}", url=f"{sys.argv[2]}/{n}")])
    print(n, flush=True)
"""


def writer(place: str, name: str, lines: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, place, name, str(lines)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.examples(1)
def test_two_processes_add_concurrently_and_a_third_sees_all_entries(memory: Open, place: str) -> None:
    kept = memory(capacity=100_000)
    kept.add([Entry("here before")])
    assert len(kept.search("line")) == 1
    writers = [writer(place, name, 25) for name in ("alpha", "beta")]
    assert [each.wait() for each in writers] == [0, 0]
    for each in writers:
        assert each.stdout is not None
        each.stdout.close()
    assert kept.count() == 51
    for name in ("alpha", "beta"):
        assert kept.search(f"{name} wrote line 24", 1)[0].entry.url == f"{name}/24"


@pytest.mark.examples(1)
def test_a_process_killed_while_adding_loses_at_most_the_entry_in_flight(memory: Open, place: str) -> None:
    process = writer(place, "gamma", 1_000_000)
    assert process.stdout is not None
    acknowledged = 0
    for line in process.stdout:
        acknowledged = int(line) + 1
        if acknowledged == 20:
            process.kill()  # lines still in the pipe were written before the kill
    assert process.wait() == -9
    process.stdout.close()
    kept = memory(capacity=100_000)
    assert acknowledged <= kept.count() <= acknowledged + 1
    found = {each.entry.url for each in kept.search("gamma wrote line", 1_000)}
    assert found == {entry.url for entry in kept.entries(limit=1_000)} >= {f"gamma/{n}" for n in range(acknowledged)}
    assert kept.add([Entry("life goes on")])[0].new


@pytest.mark.examples(1)
def test_the_map_places_similar_entries_together_for_any_number_of_points(memory: Open, universal: Embedder) -> None:
    kept = memory(universal)
    coffee = ["Coffee is roasted.", "Espresso is brewed hot.", "A cappuccino has milk foam."]
    orbits = ["Satellites orbit the Earth.", "A rocket reaches space.", "The probe landed on Mars."]
    for text in [*coffee, *orbits]:
        kept.add([Entry(text)])
        assert all(-1 <= each.x <= 1 and -1 <= each.y <= 1 for each in kept.map_points())
    at = {each.entry.text: each.x for each in kept.map_points()}
    assert max(at[text] for text in coffee) < min(at[text] for text in orbits) or min(
        at[text] for text in coffee
    ) > max(at[text] for text in orbits)
    assert kept.map_points() == kept.map_points()
    assert len(kept.map_points(limit=2)) == 2


@pytest.mark.parametrize("shape", [(0, 8), (1, 8), (2, 8), (5, 8), (5, 1), (300, 16)])
def test_a_plane_is_computed_for_any_matrix(shape: tuple[int, int]) -> None:
    rows = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    placed = plane(rows)
    assert placed.shape == (shape[0], 2)
    assert np.isfinite(placed).all() and (np.abs(placed) <= 1.0001).all()
    if shape[0] > 2 and shape[1] > 1:
        assert abs(float(np.corrcoef(placed.T)[0, 1])) < 1e-3, "principal components must be uncorrelated"
    assert not plane(np.ones(shape, np.float32)).any(), "equal vectors must share one position"
