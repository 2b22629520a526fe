"""Load a dataset by name: one of the built-in ones, or the file at a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from research.errors import ConfigError
from research.evaluation import factbook_en, factbook_zh
from research.evaluation.question_files import read_documents, read_questions
from research.evaluation.questions import SPLITS, Dataset
from research.evaluation.sets import Sets

_FOLDER = Path(__file__).with_name("almanac")


@cache
def almanac(name: str, language: str) -> Dataset:
    """Return both splits of the almanac in a language, `en` or `zh`: questions that take two or three articles.

    The articles and questions in `almanac/` were written by hand for this project, about an invented country: bridges, ships,
    elections, cheeses, with namesakes and near-namesakes.  Nothing in them is true, so no model knows an answer beforehand.

    Kinds of question: `bridge` (the answer is in an article that the question does not name), `comparison` (of two articles
    that it names), `bridge_comparison`, and `unanswerable` (the articles do not say, or the thing does not exist).  The splits
    `dev` and `held` share all articles to search, but neither gold articles nor wordings.
    """
    questions = [each for split in SPLITS for each in read_questions(_FOLDER / f"{language}.{split}.jsonl").questions]
    return Dataset(name, tuple(questions), read_documents(_FOLDER / f"{language}.articles.jsonl"))


_MAKERS: Final[Mapping[str, Callable[[], Dataset]]] = MappingProxyType(
    {
        "factbook": factbook_en.dataset,
        "factbook-zh": factbook_zh.dataset,
        "almanac": lambda: almanac("almanac", "en"),
        "almanac-zh": lambda: almanac("almanac-zh", "zh"),
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
