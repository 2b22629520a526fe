"""Rough stems of words, and words of reports that say nothing of what they report."""

from __future__ import annotations

import re
from functools import lru_cache

WEAK = frozenset(
    "about around approximately roughly nearly almost some according report reported reports say says said estimate "
    "estimated est figure figures data number total totaled totalled amount amounted stand stood reach reached record "
    "recorded account accounted come came level country countries year years percent per cent one two its their "
    "million billion trillion thousand source note also over under more than up down between during while both "
    "which that this these compared comparison live lives lived those there here such only just still however whereas "
    "respectively show shows shown put "
    "because since until after before being made make makes now then most other another each same every main "
    "数据 显示 报告 表示 达到 达 为 约 大约 超过 根据 共 其中 同时 目前 此外 另外 "
    "该国 国家 全国 公司 项目 已经 已 将 由于 使 进行 可以 个 位 名 只 座 台".split()
)
"""Reporting words, which are ignored when a claim is compared with a source."""


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the rough stem of a word: at most six letters, without a common ending."""
    if not word.isascii() or any(c.isdigit() for c in word):
        return word
    return (re.sub(r"(?<=\w{4})(?:ations?|ings?|ments?|ions?|ness|ly|ed|ers?|es|al|th|e|s)$", "", word) or word)[:6]
