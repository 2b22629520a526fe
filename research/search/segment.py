"""Spaces between Chinese words: an index that splits text at spaces then finds them."""

from __future__ import annotations

import re

_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")


def segment(text: str) -> str:
    """The text with its Chinese (and kana) cut into words, long ones after the words in them; the rest as it is."""
    if _RUN.search(text) is None:
        return text
    import rjieba

    return _RUN.sub(lambda run: f" {' '.join(rjieba.cut_for_search(run.group()))} ", text)
