"""Say whether cells of a table are what a question asks for, as the judge of answers wants to know it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.models.extractive.table_columns import GENERIC, apart, likeness, same, words_of
from research.models.extractive.table_cover import says_how
from research.models.extractive.table_reading import PColumn
from research.models.extractive.table_synonyms import synonymous
from research.text import has_cjk

_CAPITALS = re.compile(r"(?<!^)(?<![.?!] )\b[A-Z][\w'’-]*")


def covers(question: str, heads: Sequence[str], file: str) -> bool:
    """Return whether a question asks for what is in columns with these heads, by its words and by meaning."""
    columns = [PColumn("", re.sub(r" ?\([^()]*\)$", "", head), "text") for head in heads]
    if any(all(apart(word, column.name) for column in columns) for word in words_of(question)):
        return False
    own = words_of(file)
    names = words_of(" ".join(_CAPITALS.findall(question)))  # values, which the gate looks for itself
    words = [word for word in words_of(question) if not (word in GENERIC or word in names or says_how(word))]
    if has_cjk(question) and any(column.name in question for column in columns if has_cjk(column.name)):
        return True
    matched = [word for word in words if any(same(word, each) for each in own) or _names_one(word, columns)]
    return not words or bool(matched) and len(matched) >= 0.4 * len(words)


def _names_one(word: str, columns: Sequence[PColumn]) -> bool:
    return any(likeness(word, column) or any(synonymous(word, own) for own in column.words) for column in columns)
