"""Small, language-aware text functions for parsing, search and citation checks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?(?:[.,]\d+)*")
_NUMBER = re.compile(r"(?<![\w.])[-−]?\$?\d[\d,]*(?:\.\d+)?")

STOP_WORDS = frozenset(
    "a an and are as at be been by can could did do does for from get give had has have how i in into is it its me "
    "much many of on or please s so tell than that the their them there these they this those to us was we were what "
    "when where which who whom whose why will with would you your about also any all if not no then".split()
) | frozenset(
    "的 了 在 是 和 与 及 或 有 "
    "年 比 实际 中 里 上 几 多 大 它 该 以 而 之 并 都 也 就 又 还 约 共 达 个 名 各 每 "
    "多少 什么 哪 哪个 哪些 请 吗 呢 为 对 把 被 从 到 其 这 那 一个 是否 由 所".split()
)
"""English and Chinese words that carry no topic."""


def has_cjk(text: str) -> bool:
    return _CJK.search(text) is not None


def segment(text: str) -> str:
    """Return the text with spaces between Chinese and kana words; a compound follows the words it contains."""
    if _CJK_RUN.search(text) is None:
        return text
    import rjieba

    return _CJK_RUN.sub(lambda run: f" {' '.join(rjieba.cut_for_search(run.group()))} ", text)


def is_word(text: str) -> bool:
    """Return whether a Chinese text is in the dictionary and not a person's name."""
    import rjieba

    return rjieba.has_word(text) and not rjieba.tag(text)[0][1].startswith("nr")


@lru_cache(maxsize=65_536)
def tokens(text: str) -> tuple[str, ...]:
    """Return lower-case words without accents, plurals as singulars; Chinese is split into words."""
    text = segment(text)
    plain = without_accents(text.lower())
    return tuple(_fold(match.group().replace("’", "'").removesuffix("'s")) for match in _WORD.finditer(plain))


def without_accents(text: str) -> str:
    """Return a text without accents: `Noel` for `Noël`."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def words_alone(text: str) -> str:
    """Return a text without case and punctuation, to compare titles and questions."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def content_tokens(text: str) -> tuple[str, ...]:
    """Return the tokens that are not stop words."""
    return tuple(token for token in tokens(text) if token not in STOP_WORDS)


@lru_cache(maxsize=8_192)
def line_tokens(line: str) -> frozenset[str]:
    """Return the tokens of a line that are not stop words; cached: a library's lines recur in every query."""
    return frozenset(content_tokens(line))


def _fold(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def numbers(text: str) -> list[str]:
    """Return the numbers in a text, without currency signs and thousands separators."""
    return [match.group().replace(",", "").replace("$", "").replace("−", "-") for match in _NUMBER.finditer(text)]


def clip(text: str, limit: int) -> str:
    """Return at most `limit` characters, cut at a word, with an ellipsis."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    return head[: head.rfind(" ")] + "…" if " " in head[limit // 2 :] else head + "…"


def storable(text: str) -> str:
    """Replace lone surrogates, which come from undecodable bytes; JSON, databases and tokenizers reject them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def table_row(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table; a cell cannot contain the sign that ends it."""
    return f"| {' | '.join(cell.replace('|', '¦') for cell in cells)} |"


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table, whose first row is the head."""
    lines = list(map(table_row, rows))
    return [*lines[:1], "|" + " --- |" * len(rows[0]), *lines[1:]] if rows else []


def one_line(text: str) -> str:
    """Return the text with each stretch of white space as one space."""
    return " ".join(text.split())


def cell(text: str) -> str:
    """Return a text for a cell of a table: one that a spreadsheet would read as a formula gets an apostrophe.

    Spreadsheets ignore white space before a formula, and some read full-width characters.

    >>> cell(" ＝1+1")
    "' ＝1+1"
    """
    first = next((c for c in text if not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf")), "")
    formula = first and unicodedata.normalize("NFKC", first)[0] in "=+-@"
    return f"'{text}" if formula or text.startswith(("\t", "\r", "\n")) else text


def width(text: str) -> int:
    """Return how wide a text is, in letters: an ideograph is as wide as two."""
    return len(text) + sum(character >= "\u2e80" for character in text)


def language_of(text: str) -> str:
    """Return `zh` if at least a third of the letters are Chinese, else `en`."""
    return "zh" if len(_CJK.findall(text)) * 3 >= len(re.findall(r"\w", text)) and has_cjk(text) else "en"


def estimate_tokens(text: str) -> int:
    """Estimate the tokens without a tokenizer: about 4 characters of Latin text or 1.5 of Chinese per token."""
    cjk = len(_CJK.findall(text))
    return round((len(text) - cjk) / 4 + cjk / 1.5)
