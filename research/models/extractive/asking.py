"""Whether a question asks for a labelled line, by the offline model's reading of the question."""

from __future__ import annotations

from functools import lru_cache

from research.models.extractive.described import beyond
from research.models.extractive.evidence import Fact
from research.models.extractive.fitting import MATCH, bare_label, fit
from research.models.extractive.grounding import answers
from research.models.extractive.question import parse
from research.models.extractive.rankings import TITLE
from research.models.extractive.rankings import asked as ranked


@lru_cache(maxsize=4096)
def asks_for(question: str, line: str) -> bool:
    """Return whether a question asks for what a line such as `Median age, total: 42.7 years` states."""
    if line.startswith(TITLE):
        ranking = ranked(parse(question))
        return ranking is not None and line.removeprefix(TITLE).partition(", ")[0] == ranking.label.partition(", ")[0]
    question = beyond(question)
    fact = Fact(0, "", "", line)
    if not fact.label:
        return False
    targets = [target for target in parse(question).targets if target.label]
    return any(fit(fact, target) >= MATCH for target in targets) or answers(question, bare_label(fact.label))
