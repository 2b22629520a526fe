"""Exact match and F1 of an answer, as the official evaluation scripts define them.

- HotpotQA: `hotpot_evaluate_v1.py` of hotpotqa/hotpot (Yang et al. 2018, arXiv:1809.09600).
- CMRC 2018: `cmrc2018_evaluate.py` of ymcui/cmrc2018, version 6 (Cui et al. 2019, arXiv:1810.07366).

One difference from the latter: the official script first splits each Latin stretch into sentences with NLTK's Punkt model,
which has to be downloaded.  Here a stretch is one sentence; the words are the same unless it contains a full stop.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_VERDICTS: Final = ("yes", "no", "noanswer")
_HAN = re.compile(r"[\u4e00-\u9fa5]")
_MARKS: Final = frozenset("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
"""Punctuation of the CMRC script, without `……`: the script compares single characters, so it never matches."""


def hotpot(answer: str, golds: Sequence[str]) -> tuple[float, float]:
    """Return exact match and F1, each from 0 to 1, for the best of the gold answers."""
    return (
        max(float(_normal(answer) == _normal(gold)) for gold in golds),
        max(_word_f1(_normal(answer), _normal(gold)) for gold in golds),
    )


def cmrc(answer: str, golds: Sequence[str]) -> tuple[float, float]:
    """Return exact match and F1, each from 0 to 1, for the best of the gold answers."""
    said = _cut(answer)
    return (
        max(float(_bare(answer) == _bare(gold)) for gold in golds),
        max(_run_f1(said, _cut(gold)) for gold in golds),
    )


def _normal(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _word_f1(answer: str, gold: str) -> float:
    if answer != gold and (answer in _VERDICTS or gold in _VERDICTS):
        return 0.0
    said, wanted = answer.split(), gold.split()
    return _f1((Counter(said) & Counter(wanted)).total(), len(said), len(wanted))


def _bare(text: str) -> str:
    return "".join(char for char in text.lower().strip() if char not in _MARKS)


def _cut(text: str) -> list[str]:
    """Split a text into single Chinese characters and other words, without the script's punctuation."""
    from nltk.tokenize import NLTKWordTokenizer

    pieces: list[str] = []
    words = NLTKWordTokenizer()
    for piece in re.split(f"({_HAN.pattern})", _bare(text)):
        pieces += [piece] if _HAN.fullmatch(piece) else words.tokenize(piece)
    return pieces


def _run_f1(said: Sequence[str], wanted: Sequence[str]) -> float:
    """Return F1 by the longest common run of pieces."""
    longest = SequenceMatcher(None, said, wanted, autojunk=False).find_longest_match()
    return _f1(longest.size, len(said), len(wanted))


def _f1(same: int, said: int, wanted: int) -> float:
    if not same:
        return 0.0
    precision, recall = same / said, same / wanted
    return 2 * precision * recall / (precision + recall)
