"""Answer how many hours the clocks of two capitals are apart, from the offset of each from UTC."""

from __future__ import annotations

import re
from decimal import Decimal

from research.models.extractive.evidence import Fact
from research.models.extractive.finding import Finder
from research.models.extractive.leading import capital_of
from research.models.extractive.patterns import NAME
from research.models.extractive.places import mentions
from research.models.extractive.question import Target
from research.models.extractive.verdict import Verdict, Worked

OFFSET = Target("Capital, time difference", exact=True)
_ASKS = re.compile(
    r"\btime (?:difference|zones?)\b|\bhours? (?:ahead|behind|apart|earlier|later|difference|between)\b|\bhow many hours\b.{0,40}"
    r"\b(?:ahead|behind|apart|between|difference|earlier|later)\b|\bhow far (?:ahead|behind)\b.{0,30}\bclocks?\b|"
    r"时差|(?:早|晚|差)(?:几|多少)个?小时"
)
_NO_PLACE = re.compile(r"(?:UTC|GMT|How|What|Which|Is|Are|The|By|Does|Do|In|When|Clocks?|Time)\b.*", re.I)
_UTC = re.compile(r"UTC(?:\s?(?P<sign>[+\-−])\s?(?P<hours>\d{1,2})(?:[:.](?P<rest>\d{1,2}))?)?")


def asked(text: str) -> tuple[str, ...]:
    """Return the two countries or capitals whose clocks a question compares; empty if it asks for something else."""
    if not _ASKS.search(text.lower()):
        return ()
    found = mentions(text)
    names = {each.place[0]: each.names[0] for each in found if len(each.names) == 1}
    inside = [each.place for each in found]
    for match in NAME.finditer(text):
        name = re.sub(r"['’]s?$", "", match.group()).rstrip(".")
        if not _NO_PLACE.fullmatch(name) and not any(a <= match.start() < b for a, b in inside):
            names[match.start()] = name
    places = tuple(dict.fromkeys(names[at] for at in sorted(names)))
    return places if len(places) == 2 and not re.search(r"\b(?:UTC|GMT|Greenwich)\b", text) else ()


def apart(finder: Finder, names: tuple[str, ...]) -> Verdict | None:
    """Return how many hours the clocks of two capitals are apart."""
    q = finder.question
    subjects = [name if mentions(name) else capital_of(finder, name) for name in names]
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    if not all(subjects):
        return Verdict(q, missing=tuple(name for name, subject in zip(names, subjects, strict=True) if not subject))
    found = finder.find_each([str(subject) for subject in subjects], OFFSET)
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    dated = [(each, offset) for each in found if each and (offset := offset_of(each.fact)) is not None]
    if len(dated) < 2 or dated[0][0].subject == dated[1][0].subject:
        return Verdict(q, missing=(q.text,), closest=tuple(each.fact for each, _ in dated))
    (ahead, more), (behind, less) = sorted(dated, key=lambda pair: -pair[1])
    computed = finder.compute(f"print({more} - ({less}))", "Subtract the offsets.")
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    worked = Worked("clock", (ahead, behind), (f"{(more - less).normalize():f}",))
    return Verdict(q, findings=(ahead, behind), computed=computed, worked=(worked,))


def offset_of(fact: Fact) -> Decimal | None:
    """Return the hours from UTC that a line gives first; None if it gives none."""
    match = _UTC.match(fact.value)
    if match is None:
        return None
    rest = match["rest"] or "0"
    minutes = Decimal(f"0.{rest}") if f".{rest}" in match.group() else Decimal(rest) / 60
    hours = Decimal(match["hours"] or 0) + minutes
    return -hours if match["sign"] in ("-", "−") else hours
