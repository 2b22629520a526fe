"""Read heads of tables that are in another language than the question, by the encoder that the workbench comes with."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from msgspec.structs import replace

from research.models.extractive.similarity import cosine
from research.models.extractive.spelling import is_english
from research.models.extractive.table_columns import GENERIC, same, words_of
from research.models.extractive.table_degrees import is_degree
from research.models.extractive.table_reading import PColumn, PTable
from research.models.extractive.table_synonyms import SYNONYMS
from research.models.extractive.table_words import calculates
from research.text import has_cjk

_TRANSLATES = 0.7
"""Least cosine of a word and a head that translates it; other heads reach .63, of 75 pairs, but `ships` and 船长 .74."""
_AHEAD = 0.15
"""Least difference to the next head; 61 of the 75 have both, and no wrong one."""


@lru_cache(maxsize=128)
def translated(question: str, table: PTable) -> PTable:
    """Return a table whose heads in another language than the question have its words for them, too."""
    own = [word for column in table.columns for word in column.words]
    asked = [
        word
        for word in dict.fromkeys(words_of(question))
        if not (word in GENERIC or calculates(word) or is_degree(word) or any(same(word, each) for each in own))
    ]
    also: dict[PColumn, list[str]] = {}
    written = [match.group() for match in re.finditer(r"[^\W\d_]+", question)]
    phrases = {" ".join(pair): words_of(" ".join(pair)) for pair in pairwise(written)}
    pairs = {phrase: words for phrase, words in phrases.items() if len(words) == 2 and set(words) <= set(asked)}
    for phrase, words in {**pairs, **{word: [word] for word in asked}}.items():
        known = any(word in own for own in also.values() for word in words)
        if not known and (column := _meant(phrase, table)):
            also.setdefault(column, []).extend(words)
    columns = tuple(replace(each, also=tuple(also.get(each, ()))) for each in table.columns)
    return replace(table, columns=columns) if also else table


def _meant(phrase: str, table: PTable) -> PColumn | None:
    """Return the column that a phrase means which is in another language than its head."""
    if not any(_foreign(phrase, each) for each in table.columns):
        return None
    near = sorted(((_alike(phrase, each), i) for i, each in enumerate(table.columns)), reverse=True)
    column, ahead = table.columns[near[0][1]], near[0][0] - (near[1][0] if near[1:] else 0.0)
    return column if near[0][0] >= _TRANSLATES and ahead >= _AHEAD and _foreign(phrase, column) else None


def _foreign(phrase: str, column: PColumn) -> bool:
    """Return whether a head is in another script than a phrase, or in the same script and not English."""
    if has_cjk(phrase) != has_cjk(column.name):
        return True
    return not has_cjk(column.name) and not all(map(is_english, re.findall(r"[^\W\d_]{4,}", column.said.lower())))


def _alike(word: str, column: PColumn) -> float:
    """Return the likeness of a word, or one that names the same, and a head; German nouns mean little without a capital."""
    words = {word}.union(*(group for group in SYNONYMS if word in group and not has_cjk(word)))
    name = re.sub(r"(?:19|20)\d\d\s?年?", "", column.said).strip()
    return max(
        cosine(each, head) for each in words if has_cjk(each) == has_cjk(word) for head in {name, name.capitalize()}
    )
