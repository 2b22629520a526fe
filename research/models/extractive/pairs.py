"""Compare two parts of one country by the same measure: women with men, towns with the countryside."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from research._util.amounts import code, written
from research.models.extractive.arithmetic import amounts_of, hindrance
from research.models.extractive.claims import clause
from research.models.extractive.finding import Finder
from research.models.extractive.grounding import subjects
from research.models.extractive.meaning import labels, masked, probabilities
from research.models.extractive.patterns import COMPARATIVE
from research.models.extractive.question import Target
from research.models.extractive.verdict import Derived, Verdict

LEAST = 0.5
"""Least probability of the labels of one measure, added up."""
FAIR = 0.15
"""The same if no other label is half as likely."""
_MORE_OF = re.compile(
    r"^(?:are|is) there (?:more|fewer) (?:wom[ae]n|m[ae]n|males|females) than (?:wom[ae]n|m[ae]n|males|females) in \{c\}\W*$|"
    r"^do (?:wom[ae]n|m[ae]n|males|females) outnumber (?:wom[ae]n|m[ae]n|males|females) in \{c\}\W*$"
)
_PARTS = (
    (
        (", female", r"\b(?:wom[ae]n|females?|girls?|lad(?:y|ies)|wi(?:fe|ves))\b|女"),
        (", male", r"\b(?:m[ae]n|males?|boys?|gentlem[ae]n|husbands?)\b|男"),
    ),
    (
        (r"(?:, | - )urban(?: areas)?", r"\b(?:urban|cit(?:y|ies)|towns?|town\w+)\b|城"),
        (r"(?:, | - )rural(?: areas)?", r"\b(?:rural|countryside|villages?|country ?folk)\b|农村|乡"),
    ),
)
_APART = re.compile(
    r"\b(?:gap|difference|differ|compare[ds]?|versus|vs)\b|\bthan\b|\boutliv\w+|\boutnumber\w*|\bor\b|\bby how\b|差|比|还是"
)


class Pair(Struct, frozen=True):
    """Two labels of one measure, in the order in which the question names their parts."""

    subject: str
    one: str
    two: str
    words: tuple[str, str]
    """What the question calls the parts."""


def pair(text: str) -> Pair | None:
    """Return the two parts of one country that a question compares; None if it compares something else."""
    lower = masked(text).lower()
    named = list(dict.fromkeys(name for mention in subjects(text) for name in mention.names))
    if len(named) != 1 or not _APART.search(lower) or "sex ratio" in lower:
        return None
    for parts in _PARTS:
        said = [re.search(words, lower) for _, words in parts]
        if said[0] and said[1]:
            shares = probabilities(masked(text))
            found = {
                base: sum(shares.get(label, 0.0) for label in (*both, *(f"{base}{rest}" for rest in _WHOLE)))
                for base, both in _families(parts[0][0], parts[1][0]).items()
            }
            if _MORE_OF.search(lower):
                found = {"Population": 1.0}
            base = max(found, key=found.__getitem__)
            others = [
                share
                for label, share in shares.items()
                if not re.search(r"fe?male|wom[ae]n|urban|rural|^Sex ratio|, total", label)
            ]
            if found[base] < LEAST and not (found[base] >= FAIR and found[base] >= 2 * max(others)):
                return None
            both = _families(parts[0][0], parts[1][0])[base]
            order = (0, 1) if said[0].start() < said[1].start() else (1, 0)
            words = [each.group() for each in said if each]
            return Pair(named[0], both[order[0]], both[order[1]], (words[order[0]], words[order[1]]))
    return None


_WHOLE = ("", ", total", ", total population", " - total population")


@cache
def _families(one: str, two: str) -> dict[str, tuple[str, str]]:
    """Return the pairs of labels that differ only in the part, by the text that they share."""
    found: dict[str, dict[int, str]] = {}
    for label in labels():
        for at, part in enumerate((one, two)):
            base = re.sub(f"{part}$", "", label)
            if base != label:
                found.setdefault(base, {})[at] = label
    return {base: (both[0], both[1]) for base, both in found.items() if len(both) == 2}


def paired(finder: Finder, text: str) -> Verdict | None:
    """Return the next step or the comparison of two parts of one country; None if the question does not ask for one."""
    asked = pair(text)
    if asked is None:
        return None
    q = finder.question
    year = q.years[0] if q.years else None
    found = [
        finder.find(asked.subject, Target(label, exact=True), year, numeric=True) for label in (asked.one, asked.two)
    ]
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    one, two = found
    if not one or not two or hindrance((one.fact, two.fact), measures=False):
        return None
    amounts = amounts_of([one.fact, two.fact])
    first, second = (each.value for each in amounts)
    gap = written(abs(first - second), amounts, points=True)
    computed = finder.compute(
        f"print(round({code(max(first, second))} - {code(min(first, second))}, 6))", "Compare the figures."
    )
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    lower = text.lower()
    decided = None
    if clause(text):
        weighs = COMPARATIVE.search(lower)
        if weighs is None:
            return Verdict(q, missing=(text,), closest=(one.fact, two.fact))
        decided = first != second and (first > second) == (weighs.group("most") is not None)
    return Verdict(q, findings=(one, two), computed=computed, derived=Derived("gap", gap), decided=decided)
