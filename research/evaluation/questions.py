"""The values that every dataset consists of."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec
from msgspec import Struct

from research.search.library.factbook import Document
from research.text import has_cjk

SPLITS: Final = ("dev", "held")
"""Splits of every built-in dataset.  The ids of its questions begin with the name of their split."""

NO_TOLERANCE: Final = 0.0
"""Default of `Question.tolerance`.  msgspec omits a default only if it is this very object, and `digest` depends on that."""


class Question(Struct, frozen=True, omit_defaults=True):
    """A question and its gold answer."""

    id: str
    question: str
    answers: tuple[str, ...] = ()
    """Accepted answers; any one of them is right.  Empty for questions whose report only a judge can score."""
    gold: tuple[str, ...] = ()
    """Ids of the documents that a right answer needs."""
    kind: str = ""
    answerable: bool = True
    """False when the documents do not contain the answer; a right answer says so."""
    value: float | None = None
    """The answer as a number, if it is computed; any number within `tolerance` of it is right, too."""
    tolerance: float = NO_TOLERANCE
    unit: str = ""
    """`%` if the number must be followed by a percent sign."""
    over: tuple[str, ...] = ()
    """The candidates that lose a comparison.  An answer that names one of them first is wrong."""
    reference: str = ""
    """A report to judge other reports against."""
    rubric: str = ""
    """What a good report states, one line each after its weight, as in DRACO; exported, not scored."""
    canary: str = ""
    """A text that marks the dataset; a source that contains it is a copy of the dataset."""

    @property
    def language(self) -> str:
        """`zh` or `en`; selects the rules that compare answers."""
        return "zh" if has_cjk(self.question) else "en"

    @property
    def has_gold(self) -> bool:
        """Whether an answer can be right or wrong."""
        return bool(self.answers) or self.value is not None or not self.answerable

    @property
    def digest(self) -> str:
        """Twelve hex digits that change with any field of the question."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:12]


class Dataset(Struct, frozen=True):
    """Questions and the documents that come with them."""

    name: str
    questions: tuple[Question, ...]
    documents: tuple[Document, ...] | None = None
    """`Document.url` holds the document's id.  None if the dataset has no documents of its own."""
    notes: tuple[str, ...] = ()
    """Records of its file left out, and why."""
