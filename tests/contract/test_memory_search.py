"""Details of memory search: many entries, common words, long texts, and fusing two rankings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from research.memory import Entry, Filters
from research.memory.entries import Memory
from research.memory.matrix import Matrix
from research.memory.rank_fusion import diversify, fuse, query_words_in
from research.store.database import close_pool
from research.text import content_tokens
from tests.memory_stores import PLACES, open_store
from tests.word_encoder import WordEncoder

COMMON = 1_200


@pytest.fixture(scope="module", params=PLACES)
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A memory of many entries with two common words, some with a rarer one, and one with all three."""
    path = tmp_path_factory.mktemp("memory") / "memory.sqlite"
    place = str(path) if request.param == "file" else request.getfixturevalue("postgres_url")
    memory = Memory(open_store(place, "test_memory_search"), WordEncoder(16), 10_000)
    texts = [f"harvest yield field{n}" for n in range(COMMON)]
    texts += [f"zebra grass plain{n}" for n in range(60)]
    memory.add(Entry(text, run="r", url=str(n)) for n, text in enumerate([*texts, "zebra harvest yield", "okapi"]))
    yield memory
    memory.close()
    close_pool(place)


@pytest.mark.parametrize("filters", [Filters(), Filters(runs=("r",))])
def test_common_words_rank_the_entries_that_contain_a_rare_word(large: Memory, filters: Filters) -> None:
    (best,) = [each for each in large.search("zebra harvest yield", 5, filters) if each.word_rank == 1]
    assert best.entry.text == "zebra harvest yield"


def test_a_query_of_common_words_only_finds_entries(large: Memory) -> None:
    found = {each.word_rank: each.entry.text for each in large.search("yield harvest", 100)}
    assert len(found) > 10 and all("harvest" in found[rank] for rank in found if rank)


def test_an_unknown_word_in_a_query_hides_no_entry(large: Memory) -> None:
    assert large.search("quagga okapi", 5)[0].entry.text == "okapi"
    assert [each for each in large.search("quagga harvest", large.count()) if each.word_rank == 1]


@pytest.mark.parametrize("count", [1, 5, 100, 999, 20_000])
@pytest.mark.parametrize("share", [None, 0.1, 0.9])
@pytest.mark.slow
def test_nearest_returns_the_same_as_an_exhaustive_search(count: int, share: float | None) -> None:
    random = np.random.default_rng(count)
    vectors = random.standard_normal((count, 8), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    matrix = Matrix(8, count)
    matrix.put(range(7, count + 7), vectors)
    scope = None if share is None else [n + 7 for n in range(count) if random.random() < share]
    inside = [n for n in range(count) if scope is None or n + 7 in scope]
    scores = vectors @ vectors[0]
    for limit in (1, 5, 30, 2_000):
        expected = sorted(inside, key=lambda n: -scores[n])[:limit]
        found = [n - 7 for n in matrix.nearest(vectors[0], limit, scope)]
        assert len(found) == len(set(found)) == len(expected)
        assert set(found) <= set(inside)
        np.testing.assert_allclose(scores[found], scores[expected], atol=1e-6)


TEXTS = [
    "The countries' economies grew; Côte d'Ivoire's too.",
    "GDP was 1,234.5 in 2024.Then it fell to 3.7",
    "a.b oslo,bergen o'clock rocket_science U.S.",
    "使用Adobe软件的用户数量在2024年增长了12%",
    "长江是中国最长的河流，ソニーのカメラ",
    "boxes churches glasses buses analysis ЖЁЛТЫЕ дома",
    "",
]
QUERIES = [
    "which country has the best economy, Cote d'Ivoire?",
    "GDP 2024 7 37 3.7 234 1,234.5",
    "Oslo Bergen clock science rocket",
    "Adobe 软件 用户 增长 2024",
    "中国 最长 河流 カメラ",
    "box church glass bus analyses желтые art y",
    "的",
]


@pytest.mark.parametrize("query", QUERIES)
def test_query_words_found_in_an_entry_match_its_tokens(query: str) -> None:
    entries = [Entry(f"{first}\n{second}", tags=("boxes",)) for first in TEXTS for second in TEXTS]
    wanted = set(content_tokens(query))
    for entry, found in zip(entries, query_words_in(query, entries), strict=True):
        tokens = {token for text in (*entry.text.split("\n"), *entry.tags) for token in content_tokens(text)}
        assert set(found.split()) == wanted & tokens


def test_one_shared_word_of_many_does_not_outrank_a_similar_meaning() -> None:
    entries = {1: Entry("people live longer now"), 2: Entry("birds of the far south that cannot fly"), 3: Entry("x")}
    cosines = {1: 0.2, 2: 0.6, 3: 0.0}
    order = list(fuse("where in Antarctica do emperor penguins live in winter", entries, [1], cosines))
    assert order == [2, 1, 3]


def test_an_entry_found_by_both_searches_ranks_first() -> None:
    entries = {n: Entry(text) for n, text in enumerate(["penguins eat krill", "penguins eat fish", "whales eat krill"])}
    order = list(fuse("penguins krill", entries, [0, 1, 2], {0: 0.5, 1: 0.5, 2: 0.6}))
    assert order[0] == 0


def test_dissimilar_entries_without_shared_words_score_zero() -> None:
    assert fuse("zebra", {1: Entry("a b"), 2: Entry("c d")}, [], {1: -0.5, 2: -0.6}) == {1: 0.0, 2: 0.0}


def test_diversity_handles_zero_similarity() -> None:
    rows = dict(enumerate(np.eye(3, dtype=np.float32)))
    with np.errstate(all="raise"):
        assert sorted(diversify({0: 0.0, 1: 0.0, 2: 0.0}, rows, 2, 0.5)) == [0, 1]
