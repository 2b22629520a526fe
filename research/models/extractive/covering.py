"""Choose lines that together contain the words of a free-form question."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from research.models.extractive.evidence import Evidence, Fact
from research.models.extractive.fitting import NEUTRAL, bare
from research.models.extractive.kinds import kind_of
from research.models.extractive.passages import keys
from research.models.extractive.polarity import agrees
from research.text import content_tokens, tokens

CLOSEST = 3
"""Facts to show where none answers."""


def words_of(text: str) -> list[str]:
    """Return the topic words of a text, without duplicates."""
    return list(dict.fromkeys(content_tokens(text)))


ASKING = frozenset(
    "doe name list say tell find know report country year number value figure time thing kind type call called name".split()
)
"""Words that mark a question without saying what it is about."""


def tokens_of(fact: Fact) -> frozenset[str]:
    """Return the words of a line and of its title."""
    return fact.all_tokens | frozenset(tokens(fact.title))


def names_of(fact: Fact) -> list[str]:
    """Return the runs of capitalised words inside a line, except at the start of a sentence."""
    return re.findall(r"(?<![.!?]\s)(?<!^)\b[A-ZÀ-Þ][\w'’-]+(?:\s+[A-ZÀ-Þ][\w'’-]+)*", fact.line)


def cover(facts: Sequence[Fact], words: Sequence[str]) -> list[Fact]:
    """Choose up to five lines greedily, each adding the most words that the earlier ones lack."""
    chosen: list[Fact] = []
    left = set(words)
    while left and len(chosen) < 5:
        gain: Callable[[Fact], int] = lambda fact: len(tokens_of(fact) & left)  # noqa: E731, B023 - used at once
        best = max((f for f in facts if not f.cut), key=gain, default=None)
        if best is None or gain(best) == 0 or (not chosen and gain(best) < 2):
            break
        chosen.append(best)
        left -= tokens_of(best)
    return chosen


def closest(evidence: Evidence, question: str, subjects: Sequence[str], labels: Sequence[str]) -> tuple[Fact, ...]:
    """Return the latest line with each label, the likeliest labels first; then lines with words of the question."""
    own = [fact for fact in evidence.facts if fact.subject in subjects and fact.label and not fact.cut]
    found: list[Fact] = []
    for label in labels:
        lines = [fact for fact in own if bare(fact.label) == label]
        found += sorted(lines, key=lambda fact: -max(fact.years, default=0))[:1]
    asked = set(words_of(question)) - set(tokens(" ".join(subjects)))
    near = sorted(own, key=lambda fact: -len(asked & fact.label_tokens))
    found += [fact for fact in near if asked & fact.label_tokens and bare(fact.label) not in labels]
    return tuple(dict.fromkeys(found))[:CLOSEST]


def quoted(evidence: Evidence, asked: Sequence[str], names: Sequence[str]) -> tuple[list[Fact], bool]:
    """Return lines that cover the words asked for, and whether they cover enough, with the names, to be the answer."""
    text = evidence.question
    fitting = [f for f in evidence.facts if f.label or kind_of(text) == "whether" or agrees(f.line, text, keys(text))]
    chosen = cover(fitting, asked)
    held = [tokens_of(fact) & set(asked) for fact in chosen]
    covered = frozenset().union(*held)
    enough = len(covered) >= max(2, 0.8 * len(asked)) and max(map(len, held), default=0) >= 0.6 * len(asked)
    subjects = {fact.subject for fact in chosen}  # lines of two things together say nothing of either
    named = set(tokens(" ".join(names)))
    if evidence.own:  # beside own documents, a country that the question does not name is not what it is about
        enough = enough and all(fact.own or set(tokens(fact.subject)) <= named.union(asked) for fact in chosen)
    return chosen, enough and len(subjects) < 2 and named <= covered | NEUTRAL
