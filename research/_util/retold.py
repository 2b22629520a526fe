"""The notes of readers in Chinese: the sandboxed readers write them in English, and they are saved so.

The quotes of queries and tables, which are saved as the model reads them, are said in words.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_TABLE = re.compile(r"Table of (?P<rows>[\d,]+) rows with the columns .+")
_DIVIDED = re.compile(r"(?<![\w.,])\d[\d,]{0,20}\.\d{10,20}(?![\w.])")
"""A figure with as many decimals as only a computer writes."""
_ROWS_USED = re.compile(r"Rows used: (?P<where>.+?)(?: \((?P<rows>[\d,]+) rows?\)| \(any of these rows\))?")


def said_lines(quote: str, language: str) -> list[str]:
    """Return the lines of a quote as people read them: which rows a query took, and not its SQL; of a table no types; the
    figures of a division rounded.

    >>> said_lines("Result of SELECT 1\\nRegion: North\\nRows used: a.csv › A2:B5 (4 rows)", "en")
    ['Region: North', 'From 4 rows of a.csv › A2:B5']
    >>> said_lines("share: 46.4995963895208; rate: 0.00123456789012", "en")
    ['share: 46.5; rate: 0.001235']
    """
    lines = (line.strip() for line in quote.splitlines())
    said = [said_line(line, language) for line in lines if line and not line.startswith("Result of SELECT ")]
    return [_DIVIDED.sub(_rounded, line) for line in said]


def _rounded(found: re.Match[str]) -> str:
    """Return a figure with two decimals, or as many as four digits need."""
    figure = float(found[0].replace(",", ""))
    decimals = max(2, 3 - math.floor(math.log10(abs(figure)))) if figure else 2
    return f"{figure:,.{decimals}f}".rstrip("0").rstrip(".")


def said_line(line: str, language: str) -> str:
    """Return a line of a quote or a document as people read it.

    >>> said_line("Table of 5 rows with the columns city (text), year (year)", "en"), said_line("row: 3; city: 卑尔根", "zh")
    ('Table of 5 rows', '第 3 行; city: 卑尔根')
    """
    if table := _TABLE.fullmatch(line):
        return f"{table['rows']} 行的表格" if language == "zh" else f"Table of {table['rows']} rows"
    found = _ROWS_USED.fullmatch(line)
    if found is None and language == "zh":
        return re.sub(r"\Arow: ([\d,]+)(?=; |\Z)", r"第 \1 行", re.sub(r"\A\| row \|", "| 行 |", line))
    if found is None:
        return line
    where, rows = found["where"], found["rows"]
    if language == "zh":
        return f"取自 {where}{f' 的 {rows} 行' if rows else ''}"
    return f"From {f'{rows} row' + 's' * (rows != '1') if rows else 'rows'} of {where}"


def retold(text: str, language: str) -> str:
    """Translate a reader's English note into that language; a note that is not ours is unchanged.

    >>> retold("its encoding is not declared and was read as cp1252; if letters are wrong, save it as UTF-8", "en")[:32]
    'its encoding is not declared and'
    """
    for pattern, chinese in _notes() if language == "zh" else ():
        if found := pattern.fullmatch(text):
            return chinese.format(**{slot: _listed(value) for slot, value in found.groupdict().items()})
    return text


def _listed(values: str) -> str:
    """Return the Chinese of `1 comment, 2 pictures`; anything that is not our list is unchanged."""
    found = [re.fullmatch(r"([\d,]+) (.+?)s?", each) for each in values.split(", ")]
    kinds = _tables()["kinds"]
    if not all(each and each[2] in kinds for each in found):
        return values
    return "、".join(f"{each[1]} {kinds[each[2]]}" for each in found if each)


@cache
def _notes() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the notes of readers as patterns, with their Chinese."""
    return tuple(
        (re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(english)), re.S), chinese)
        for english, chinese in _tables()["notes"].items()
    )


@cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    """Return the Chinese of readers' notes, and of the kinds of things that they count."""
    return tomllib.loads(Path(__file__).with_name("notes_zh.toml").read_text("utf-8"))
