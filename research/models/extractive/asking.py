"""Whether a question asks for a labelled line, by the offline model's reading of the question."""

from __future__ import annotations

from functools import lru_cache

from research.models.extractive.evidence import Fact
from research.models.extractive.fitting import MATCH, fit
from research.models.extractive.question import parse


@lru_cache(maxsize=4096)
def asks_for(question: str, line: str) -> bool:
    """Return whether a question asks for what a line such as `Median age, total: 42.7 years` states."""
    fact = Fact(0, "", "", line)
    return bool(fact.label) and any(fit(fact, target) >= MATCH for target in parse(question).targets if target.label)
