"""The datasets `almanac` and `almanac-zh`: questions that take two or three articles of an encyclopaedia.

The articles and questions in `almanac/` were written by hand for this project, about an invented country: bridges, ships,
elections, cheeses, with namesakes and near-namesakes.  Nothing in them is true, so no model knows an answer beforehand.

Kinds of question: `bridge` (the answer is in an article that the question does not name), `comparison` (of two articles
that it names), `bridge_comparison`, and `unanswerable` (the articles do not say, or the thing does not exist).  The splits
`dev` and `held` share all articles to search, but neither gold articles nor wordings.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from research.evaluation.question_files import read_documents, read_questions
from research.evaluation.questions import SPLITS, Dataset

_FOLDER = Path(__file__).with_name("almanac")


@cache
def dataset(name: str, language: str) -> Dataset:
    """Return both splits of the almanac in a language, `en` or `zh`."""
    questions = [each for split in SPLITS for each in read_questions(_FOLDER / f"{language}.{split}.jsonl").questions]
    return Dataset(name, tuple(questions), read_documents(_FOLDER / f"{language}.articles.jsonl"))
