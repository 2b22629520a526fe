"""Answer how many years are between two dates in lines, or between such a date and a year in the question."""

from __future__ import annotations

import re

from research.models.extractive.evidence import Fact
from research.models.extractive.finding import Finder
from research.models.extractive.places import mentions
from research.models.extractive.question import Target
from research.models.extractive.verdict import Finding, Verdict, Worked

INDEPENDENCE = Target("Independence", exact=True)
_FREE = re.compile(r"\bindependen(?:t|ce)\b|独立")
_APART = re.compile(
    r"\b(?:how many|by how many|number of) years\b|\byears\b.{0,20}\b(?:between|apart|separate)|"
    r"\bhow (?:long|much|far) "
    r"(?:after|before|earlier|later|older|younger|apart|ahead)|\bhow (?:old|long)\b|"
    r"\bhow much (?:older|younger|earlier|later|longer)\b|"
    r"\bwhat(?:'s| is) the (?:gap|difference|time)\b|多少年|几年|早多少|晚多少|相差|相隔"
)
_MONTHS = {
    name: n
    for n, name in enumerate(
        "january february march april may june july august september october november december".split(), 1
    )
}
_DATE = re.compile(
    rf"(?:(?P<day>\d{{1,2}}) )?(?:(?P<month>{'|'.join(_MONTHS)}) )?(?P<year>1[0-9]\d\d|20\d\d)(?!\d)", re.I
)
_AS_OF = re.compile(
    r"\b(?:as of|by|in|until|up to|to|end of)\s+(?:the year )?(?P<year>20\d\d)\b|截至(?P<zh>20\d\d)|到(?P<to>20\d\d)"
)


def asked(text: str) -> tuple[str, ...]:
    """Return the countries if a question asks for the years between their dates of independence; else empty."""
    lower = text.lower()
    names = tuple(dict.fromkeys(name for each in mentions(text) if len(each.names) == 1 for name in each.names))
    if not (_FREE.search(lower) and _APART.search(lower)):
        return ()
    return names if len(names) == 2 or (len(names) == 1 and _until(text)) else ()


def _until(text: str) -> int:
    match = _AS_OF.search(text)
    return int(next(filter(None, match.groups()))) if match else 0


def between(finder: Finder, names: tuple[str, ...]) -> Verdict | None:
    """Return the years between the dates of two countries, or from one to the year in the question."""
    q = finder.question
    found = finder.find_each(names, INDEPENDENCE)
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    dated = [(each, date) for each in found if each and (date := date_of(each.fact))]
    if len(dated) < len(names):
        lines = tuple(each.fact for each in found if each)
        return Verdict(q, missing=(*finder.missing, q.text), closest=lines)
    if len(dated) == 1:
        (one, (year, _, _)), until = dated[0], _until(q.text)
        years = until - year
        if years <= 0:
            return Verdict(q, missing=(q.text,), closest=(one.fact,))
        worked = Worked("years_since", (one,), (str(years), str(until), str(year)))
        return _computed(finder, (one,), worked)
    (one, first), (two, last) = sorted(dated, key=lambda pair: pair[1])
    years = last[0] - first[0]
    full = years - (bool(first[2] and last[2]) and first[1:] > last[1:])
    values = (str(years), str(last[0]), str(first[0]), str(full) if full != years else "")
    return _computed(finder, (one, two), Worked("years_between", (one, two), values))


def _computed(finder: Finder, found: tuple[Finding, ...], worked: Worked) -> Verdict:
    computed = finder.compute(f"print({worked.values[1]} - {worked.values[2]})", "Subtract the years.")
    if finder.actions:
        return Verdict(finder.question, actions=tuple(finder.actions))
    return Verdict(finder.question, findings=found, computed=computed, worked=(worked,))


def date_of(fact: Fact) -> tuple[int, int, int] | None:
    """Return year, month and day of the date of a line; None if it has none, or several years.

    The month and day are 0 if they are not given, or if there are several of that year.
    """
    found = list(_DATE.finditer(fact.value))
    if len({match["year"] for match in found}) != 1:
        return None
    match = found[0]
    if len(found) > 1 or not match["month"]:
        return int(match["year"]), 0, 0
    return int(match["year"]), _MONTHS[match["month"].lower()], int(match["day"] or 0)
