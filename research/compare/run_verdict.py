"""The verdict on compared runs: whether their answers agree, and which of them took less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from research.compare.agreement import Compared, agreement
from research.compare.numbers import Figures, figures
from research.events.view import RunView
from research.text import numbers

CLEAR: Final = 0.1
"""Runs whose tokens or costs differ by a smaller share took about the same."""
CLEAR_S: Final = 0.25
"""The same for seconds, which vary from run to run of one recipe."""
MOST: Final = 10
"""Maximum number of disputed statements named."""


class Dispute(Struct, frozen=True):
    """A statement of one run, and another run's words that contradict it."""

    run: int
    """Index of the run that states it."""
    text: str
    other: int
    quote: str


class Less(Struct, frozen=True):
    """Of the runs that answered in full, the one that took least of something, and its lead."""

    run: int
    next: int
    """The run that took least of those that took clearly more."""
    share: float
    """From 0 to 1."""
    amount: float


Kind = Literal["same", "disagree", "differ", "compatible", "one", "none"]


class Verdict(Struct, frozen=True):
    """What a comparison shows."""

    kind: Kind
    """`differ`: other short answers without a contradiction; `compatible`: other words without one; `one` and `none`:
    that many answered in full, so there is nothing to compare."""
    full: tuple[int, ...]
    """Indexes of the runs that answered in full."""
    disputes: tuple[Dispute, ...] = ()
    shared: int = 0
    """How many of `statements` are in every full answer."""
    statements: int = 0
    tokens: Less | None = None
    """None if all took about the same, or there are fewer than two."""
    seconds: Less | None = None
    cost: Less | None = None
    """None, too, if a price is unknown."""
    alike: bool = False
    """Whether all full answers took about the same tokens and time."""


def verdict(views: Sequence[RunView]) -> Verdict:
    """Return the verdict on ended runs of one question."""
    full = tuple(place for place, view in enumerate(views) if view.outcome == "answered" and view.report.strip())
    if len(full) < 2:
        return Verdict("one" if full else "none", full)
    found = [figures(views[place]) for place in full]
    stated = agreement({str(place): views[place].report for place in full})
    disputes = _disputes(stated)
    shared = sum(each.shared for each in stated)
    tokens, seconds = [each.tokens for each in found], [round(each.seconds, 1) for each in found]
    return Verdict(
        "disagree" if disputes else _alike(found) if all(each.short for each in found) else _close(shared, stated),
        full,
        disputes,
        shared,
        len(stated),
        _least(full, tokens),
        _least(full, seconds, CLEAR_S),
        _least(full, [each.cost_usd for each in found]),
        not any(clearly_more(max(each), min(each), clear) for each, clear in ((tokens, CLEAR), (seconds, CLEAR_S))),
    )


def _alike(found: Sequence[Figures]) -> Kind:
    """Return whether the short answers are the same words, or state the same figures."""
    words = {" ".join(each.short.casefold().split()) for each in found}
    stated = {tuple(sorted(numbers(each.short))) for each in found}
    return "same" if len(words) == 1 or (len(stated) == 1 and () not in stated) else "differ"


def _close(shared: int, stated: Sequence[Compared]) -> Kind:
    return "same" if stated and shared == len(stated) else "compatible"


def _disputes(stated: Sequence[Compared]) -> tuple[Dispute, ...]:
    """Return the statements of one report that another one contradicts."""
    found: list[Dispute] = []
    for each in stated:
        if not each.disputed:
            continue
        own = next(name for name, stance in each.stances.items() if stance.says == "same" and stance.quote == each.text)
        other, against = next((name, stance) for name, stance in each.stances.items() if stance.says == "other")
        found.append(Dispute(int(own), each.text, int(other), against.quote))
    return tuple(found[:MOST])


def clearly_more(amount: float, least: float, clear: float = CLEAR) -> bool:
    """Return whether an amount is above the least one by this share of it; 0: by anything."""
    return amount > least and amount - least >= clear * amount


def _least(runs: Sequence[int], amounts: Sequence[float | None], clear: float = CLEAR) -> Less | None:
    known = [each for each in amounts if each is not None]
    if len(known) < len(amounts):
        return None
    (least, place), *others = sorted(zip(known, runs, strict=True))
    behind = ((more, other) for more, other in others if clearly_more(more, least, clear))
    return next((Less(place, other, (more - least) / more, more - least) for more, other in behind), None)
