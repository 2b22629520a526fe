"""Load a dataset by name: one of the built-in ones, or the file at a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from research.errors import ConfigError
from research.evaluation import almanac, factbook_en, factbook_zh
from research.evaluation.question_files import read_questions
from research.evaluation.questions import SPLITS, Dataset
from research.evaluation.sets import Sets

_MAKERS: Final[Mapping[str, Callable[[], Dataset]]] = MappingProxyType(
    {
        "factbook": factbook_en.dataset,
        "factbook-zh": factbook_zh.dataset,
        "almanac": lambda: almanac.dataset("almanac", "en"),
        "almanac-zh": lambda: almanac.dataset("almanac-zh", "zh"),
    }
)

BUILT_IN: Final = tuple(_MAKERS)
"""Names of the datasets that need no file."""


def load(name: str, split: str = "dev", sets: Sets | None = None) -> Dataset:
    """Return one split of a built-in dataset, all of the dataset file at the path `name`, or a saved one of `sets`.

    Raises `ConfigError` for an unknown split, and for a file that cannot be read or is malformed.
    """
    if name not in _MAKERS:
        path = Path(name)
        if not path.exists():
            saved = {each.name for each in sets.latest()} if sets else set()
            if sets and " ".join(name.partition("@")[0].split()) in saved:
                return sets.load(name)
            known = ", ".join((*BUILT_IN, *sorted(saved)))
            raise ConfigError(f"dataset {path} cannot be read: no such file; give a path, or one of {known}")
        return read_questions(path)
    if split not in SPLITS:
        raise ConfigError(f"unknown split {split!r}; choose one of {', '.join(SPLITS)}")
    made = _MAKERS[name]()
    return replace(made, questions=tuple(each for each in made.questions if each.id.startswith(f"{split}-")))
