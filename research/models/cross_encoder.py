"""Cross-encoders of the sentence-transformers library, as verifiers: a local folder or a model of the Hugging Face hub."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research._util import extras
from research._util.paths import folder_named
from research.citations.verification import CROSS_ENCODER, CrossEncoderVerifier
from research.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 16
"""Passages that are scored at once."""
_NEGATIVE = re.compile(r"^(?:not?[-_ ]|non|un|in|dis)|contra|refut|neutral|false|halluc|other|^no$", re.I)
_POSITIVE = re.compile(r"entail|support|consistent|factual|faithful|ground|attribut|^true$|^yes$", re.I)
_CONTRADICTS = re.compile(r"contradict|refut", re.I)


def open_verifier(name: str) -> CrossEncoderVerifier:
    """Return the verifier `cross-encoder:NAME`; its weights are loaded with the first claim.  `name` is without the kind."""
    # Resolve now: the working directory may have changed when the first claim arrives.
    source = str(folder_named(name) or name)
    return CrossEncoderVerifier(name, lambda pairs: _loaded(source)(pairs))


@lru_cache(maxsize=2)
def _loaded(source: str) -> Callable[[Sequence[tuple[str, str]]], list[tuple[float, float]]]:
    """Load a model; loading takes seconds and memory, so this process keeps the last two."""
    what = f"verifier '{CROSS_ENCODER}{source}'"
    extras.need("local", what, "torch", "sentence_transformers")
    if Path(source).is_dir() and not list(Path(source).rglob("*.safetensors")):
        raise ConfigError(f"{what}: the folder has no weights in safetensors; pickled weights can execute code")
    from safetensors import SafetensorError
    from sentence_transformers import CrossEncoder

    try:
        model = CrossEncoder(
            source,
            trust_remote_code=False,
            local_files_only=Path(source).is_dir(),
            # Weights in the older format are pickles, which can execute code.
            model_kwargs={"use_safetensors": True},
        )
    except (OSError, ValueError, KeyError, ImportError, SafetensorError) as error:
        raise ConfigError(
            f"{what} cannot be loaded: {error}; accepted: a folder with a sequence classifier in safetensors, or the id of "
            "one on the Hugging Face hub, without code of its own"
        ) from error
    supports, contradicts = outputs(what, model.config.id2label)
    busy = threading.Lock()

    def predict(pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float]]:
        clean = [tuple(text.encode("utf-8", "replace").decode("utf-8") for text in pair) for pair in pairs]
        with busy:
            rows = _probabilities(model, clean)
        return [(float(row[supports]), 0.0 if contradicts is None else float(row[contradicts])) for row in rows]

    return predict


def _probabilities(model: Any, pairs: Sequence[Any]) -> NDArray[np.float32]:
    import torch

    found: NDArray[np.float32] = model.predict(
        pairs,
        batch_size=BATCH,
        show_progress_bar=False,
        # The model's configured activation may already be a sigmoid.
        activation_fn=torch.nn.Identity(),
        apply_softmax=True,
    )
    return found


def outputs(what: str, labels: Mapping[int, str]) -> tuple[int, int | None]:
    """Return the indices of the outputs for a supported and a contradicted claim, by the labels of a classifier.

    Of two unnamed outputs, the second is `supported`, as in MiniCheck (Tang et al. 2024).  Raises `ConfigError`.
    """
    names = {int(index): str(label) for index, label in labels.items()}
    if len(names) < 2:
        raise ConfigError(f"{what} has one output, as rerankers do: it says what is relevant, not what is supported")
    if all(re.fullmatch(r"(?:LABEL_)?\d", label) for label in names.values()) and len(names) == 2:
        return 1, None
    positive = [i for i, label in names.items() if _POSITIVE.search(label) and not _NEGATIVE.search(label)]
    negative = [i for i, label in names.items() if _CONTRADICTS.search(label)]
    if len(positive) != 1 or len(negative) > 1:
        known = ", ".join(names.values())
        raise ConfigError(f"{what} has the labels {known}; one that means `entailment` or `supported` is needed")
    return positive[0], negative[0] if negative else None
