"""`almanac` and `almanac-zh`: questions over the articles of an invented country's almanac that take two or three of them.

The articles and the questions were written by hand for this project, in the manner of an encyclopaedia: bridges, ships,
elections, cheeses, with namesakes and near-namesakes among them.  Nothing in them is true, so no model knows an answer
beforehand.  Kinds: `bridge` (what is asked stands in an article that the question does not name), `comparison` of two
that it names, `bridge_comparison`, and `unanswerable` (the articles are silent, or there is no such thing).  `held` is
asked of other gold articles than `dev`, and in other words; both are searched among all articles.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from research.evaluation.datasets import SPLITS, Dataset, load, load_corpus

_FOLDER = Path(__file__).parent


@cache
def dataset(name: str, language: str) -> Dataset:
    """Both splits, `language` being `en` or `zh`; the ids say which.

    The files have the form that `eval` takes from anybody: JSONL of questions, and of `{"id", "title", "text"}`.
    """
    questions = [each for split in SPLITS for each in load(str(_FOLDER / f"{language}.{split}.jsonl")).questions]
    return Dataset(name, tuple(questions), load_corpus(_FOLDER / f"{language}.articles.jsonl"))
