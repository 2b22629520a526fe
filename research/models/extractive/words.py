"""Questions as rules read them, their words that say nothing about what is asked, and why a part counts as not found."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from research.models.extractive.stems import stem
from research.quantities import zh_value
from research.text import STOP_WORDS, has_cjk, tokens

_MOST_OF_A_QUESTION = 4_000
_RUN = re.compile(r"([^\w\n]|_)\1{8,}")
_NUMERAL = re.compile(r"[一二两三四五六七八九十百千零〇]{1,20}(?=[万亿])")


@cache
def common() -> frozenset[str]:
    """Return the fillers that also say nothing about which fact is meant."""
    return frozenset(_data()["common"].split())


@cache
def filler() -> frozenset[str]:
    """Return the tokens that ask, count or fill a sentence."""
    words = f"{_data()['filler']}\n{_data()['common']}"
    return frozenset(tokens(words)) | frozenset(words.split()) | frozenset(tokens(" ".join(STOP_WORDS))) | STOP_WORDS


def directions(text: str) -> set[str]:
    """Return which words of change a text has: of `rise`, of `fall`."""
    said = {stem(word) for word in re.findall(r"up to|[a-z]+", text.lower())}  # `up to` is a limit
    return {
        way
        for way in ("rise", "fall")
        if any(stem(word) in said if word.isascii() else word in text for word in _data()[way].split())
    }


def reason(question: str, template: str, **values: object) -> str:
    """Return why a part counts as not found, in the language of its question."""
    if has_cjk(question):
        chinese: dict[str, str] = _data()["reason"]
        template = chinese.get(template, template)
        values = {name: chinese.get(str(value), value) for name, value in values.items()}
    return template.format(**values)


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


def readable(text: str) -> str:
    """Return the text as rules read it: its first 4,000 characters, with at most eight equal marks or spaces in a row.

    Large Chinese numerals have digits: `5000万` for `五千万`.

    Rules search a question many times.  A model still receives all of it.
    """
    text = _RUN.sub(lambda run: run.group()[:8], text[:_MOST_OF_A_QUESTION])
    return _NUMERAL.sub(lambda numeral: f"{zh_value(numeral[0]):.0f}", text)
