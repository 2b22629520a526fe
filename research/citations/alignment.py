"""Align the words of a claim with those of one sentence of the source, in order.

A claim that a sentence states with words left out, and nothing added, moved or exchanged, is stated by it.  The alignment
finds the longest common sequence of words, and what is left over on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from research.citations.lexicon import same_word, word_form
from research.citations.measures import Quantity
from research.citations.quantities import quantities
from research.text import has_cjk, without_accents

LIGHT = frozenset(
    "a an the and of in on at for with to as is are was were be been being has have had having do does did it its he she "
    "they them their his her him this that these those there which who whom whose where when also both s so then i e "
    "into onto upon within per 's".split()
)
"""English words that carry no content of their own."""
_LIGHT_ZH = frozenset("的了在是于有为和与及及其以而也则并且中地得之该这那其个由从到至被把将对就还又都着过所")
_WORD = re.compile(r"[^\W\d_](?:[\w]|[’'\-.&](?=\w))*")
_CHARACTER = re.compile(r"[\u3400-\u9fff]|[A-Za-z][A-Za-z\-]*")
_JOIN = re.compile(
    r"[;；。!！?？:：—]|\s[-–]\s|[,，](?!\d)|\b(?:and|but|while|whereas|although|though|because|after|before|when|who|which)\b|而|但|并|且"
)


class Token(Struct, frozen=True):
    """A word or figure of a sentence."""

    text: str
    form: str
    start: int
    name: bool = False
    quantity: Quantity | None = None


class Alignment(Struct, frozen=True):
    """What a claim and a sentence of its source have in common, in order."""

    pairs: tuple[tuple[Token, Token], ...]
    extra: tuple[Token, ...]
    """Tokens of the claim without a partner, in order."""
    skipped: tuple[Token, ...]
    """Tokens of the sentence between the first and the last partner that have none."""
    size: int
    """Number of tokens of the claim."""
    exact: int
    """Pairs whose words are the same, rather than synonyms."""

    @property
    def share(self) -> float:
        return len(self.pairs) / max(self.size, 1)


@lru_cache(maxsize=16_384)
def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the words that carry content and the figures, in order; characters instead of words for Chinese."""
    found = []
    rest = text
    for q in quantities(text):
        found.append(Token(q.written.lower(), "#", q.start, quantity=q))
        rest = rest[: q.start] + " " * (q.end - q.start) + rest[q.end :]
    if has_cjk(text):
        for match in _CHARACTER.finditer(rest):
            if match.group() not in _LIGHT_ZH:
                found.append(Token(match.group(), match.group().lower(), match.start()))
    else:
        for match in _WORD.finditer(rest):
            word = re.sub(r"['’]s?$", "", match.group())
            lower = word.lower()
            if lower not in LIGHT and lower:
                found.append(
                    Token(
                        lower, word_form(without_accents(lower)), match.start(), word[0].isupper() and match.start() > 0
                    )
                )
    return tuple(sorted(found, key=lambda token: token.start))


def agrees(mine: Token, theirs: Token) -> float:
    """Return 1 for the same word or figure, less for a synonym, and 0 otherwise."""
    if mine.quantity or theirs.quantity:
        return float(bool(mine.quantity and theirs.quantity and mine.quantity.states(theirs.quantity)))
    if mine.form == theirs.form:
        return 1.0
    return 0.8 * same_word(mine.text, theirs.text)


@lru_cache(maxsize=16_384)
def aligned(claim: str, sentence: str) -> Alignment:
    """Return the best alignment in order."""
    mine, theirs = tokens_of(claim), tokens_of(sentence)
    n, m = len(mine), len(theirs)
    table = [[0.0] * (m + 1) for _ in range(n + 1)]
    same = [[agrees(a, b) for b in theirs] for a in mine]
    for i in range(n - 1, -1, -1):
        row, below, agreement = table[i], table[i + 1], same[i]
        for j in range(m - 1, -1, -1):
            best = below[j] if below[j] >= row[j + 1] else row[j + 1]
            if agreement[j] and agreement[j] + below[j + 1] > best:
                best = agreement[j] + below[j + 1]
            row[j] = best
    return _traced(mine, theirs, table, same)


def _traced(
    mine: Sequence[Token], theirs: Sequence[Token], table: list[list[float]], same: list[list[float]]
) -> Alignment:
    pairs: list[tuple[Token, Token]] = []
    extra: list[Token] = []
    used: list[int] = []
    i = j = exact = 0
    while i < len(mine) and j < len(theirs):
        if same[i][j] and table[i][j] == same[i][j] + table[i + 1][j + 1]:
            pairs.append((mine[i], theirs[j]))
            exact += same[i][j] == 1.0
            used.append(j)
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            extra.append(mine[i])
            i += 1
        else:
            j += 1
    extra += mine[i:]
    inside = range(used[0], used[-1]) if used else range(0)
    skipped = tuple(theirs[k] for k in inside if k not in set(used))
    return Alignment(tuple(pairs), tuple(extra), skipped, len(mine), exact)
