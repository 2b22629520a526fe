"""Answer questions about the land border between countries that the question names: whether there is one, and its length."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.models.extractive.evidence import Fact
from research.models.extractive.finding import Finder
from research.models.extractive.patterns import COMPARATIVE, COUNT, SUM, SUPERLATIVE
from research.models.extractive.places import mentions, usual
from research.models.extractive.question import BORDER
from research.models.extractive.verdict import Finding, Verdict, Worked
from research.models.extractive.whether import asks_whether

_BORDER = re.compile(
    r"\b(?:border(?:s|ing|ed)?|frontiers?|boundar(?:y|ies)|neighbou?r(?:s|ing)?|adjoin(?:s|ing)?|adjacent|next to|next door|"
    r"touch(?:es|ing)?)\b|边界|边境线?|国境线?|接壤|邻国|相邻"
)
_LENGTH = re.compile(
    r"\bhow (?:long|many k\w+)\b|\blengths?\b|\bkm\b|\bkilomet\w+|\btotal\b|多长|长度|多少公里|几公里|总长"
)
_ITEM = re.compile(r"(?P<km>\d[\d,]{0,40}(?:\.\d{1,30})?) km")
_OTHER = re.compile(r"\b(?:sea|maritime|coast\w*|cross\w*|populat\w+|trad\w+|dispute\w*)\b|海")
"""Words of questions about something else at a border."""


def asked(text: str) -> tuple[str, ...]:
    """Return the countries between which a question asks for borders; empty if it asks for something else."""
    lower = text.lower()
    found = mentions(text)
    names = tuple(dict.fromkeys(each.names[0] for each in found if len(each.names) == 1))
    if len(names) < 2 or len(names) < len({each.names for each in found}) or not _BORDER.search(lower):
        return ()
    if SUPERLATIVE.search(lower) or COMPARATIVE.search(lower) or COUNT.search(lower) or _OTHER.search(lower):
        return ()
    if len(names) == 2 and asks_whether(text):
        return names
    return names if _LENGTH.search(lower) else ()


def between(finder: Finder, names: Sequence[str]) -> Verdict | None:
    """Return the borders between two countries, or those of the first country that borders all the others."""
    q = finder.question
    lists = finder.find_each(names, BORDER)
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    known = [each for each in lists if each]
    if len(names) == 2:
        return _pair(finder, names, lists)
    hub = next(
        (each for each in known if all(length(each.fact, name) for name in names if not _same(name, each.subject))),
        None,
    )
    if hub is None:
        return Verdict(q, missing=(*finder.missing, q.text), closest=tuple(each.fact for each in known)[:3])
    others = [name for name in names if not _same(name, hub.subject)]
    lengths = [str(length(hub.fact, name)) for name in others]
    kinds = [
        Worked("borders", (hub,), (hub.subject, *(part for pair in zip(others, lengths, strict=True) for part in pair)))
    ]
    if not SUM.search(q.text.lower()) and not re.search(r"\btotal\b|总长", q.text.lower()):
        return Verdict(q, findings=(hub,), worked=tuple(kinds))
    figures = [each.replace(",", "") for each in lengths]
    computed = finder.compute(f"print(round({' + '.join(figures)}, 3))", "Add up the lengths.")
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    total = (
        f"{sum(map(float, figures)):,.10g}" if any("." in each for each in figures) else f"{sum(map(int, figures)):,}"
    )
    kinds = [Worked("sum_of_borders", (hub,), (hub.subject, total, *kinds[0].values[1:]))]
    return Verdict(q, findings=(hub,), computed=computed, worked=tuple(kinds))


def _pair(finder: Finder, names: Sequence[str], lists: Sequence[Finding | None]) -> Verdict:
    """Return the length of a border as the lists of the two countries give it, or that there is no border."""
    q = finder.question
    said = [
        (each, other, km)
        for each, other in zip(lists, names[::-1], strict=True)
        if each and (km := length(each.fact, other))
    ]
    if said:
        first, other, km = said[0]
        found = [Worked("border", (first,), (first.subject, other, km))]
        if len(said) > 1 and said[1][2] != km:
            found.append(Worked("border", (said[1][0],), (said[1][0].subject, said[1][1], said[1][2])))
        return Verdict(q, findings=tuple(each.findings[0] for each in found), worked=tuple(found))
    whole = [(each, other) for each, other in zip(lists, names[::-1], strict=True) if each and not each.fact.cut]
    if not whole or None in lists:
        return Verdict(q, missing=(*finder.missing, q.text))
    worked = tuple(Worked("no_border", (each,), (each.subject, other)) for each, other in whole)
    return Verdict(q, findings=tuple(each for each, _ in whole), worked=worked)


def length(fact: Fact, name: str) -> str:
    """Return the length of the border with a country, as written; empty if the list does not have it.

    Several stretches with one country are added up: `China (southeast) 4,133 km and China (south) 46 km`.
    """
    for item in fact.value.split(";"):
        head = re.split(r"\s{0,9}[(\d]", item.strip(), maxsplit=1)[0]
        found = _ITEM.findall(item)
        if found and _same(head, name):
            figures = [each.replace(",", "") for each in found]
            return str(found[0]) if len(found) == 1 else f"{sum(map(int, figures)):,}"
    return ""


def _same(one: str, two: str) -> bool:
    return (usual(one) or one) == (usual(two) or two)
