"""A figure, a year or a date, and whether two agree within their written precision."""

from __future__ import annotations

import re

from msgspec import Struct

_SIDES = {"over": 1, "least": 1, "under": -1, "most": -1}
"""The hedges that make a figure a limit, and the side they allow."""


class Quantity(Struct, frozen=True):
    """A figure, a year or a date in a text."""

    kind: str
    """`number`, `year`, `date` or `ordinal`."""
    written: str
    value: float
    """Value in the base unit of its dimension; for a date its year, or 0."""
    half: float
    """Half a unit of the last written digit: the largest rounding error."""
    unit: str
    start: int
    end: int
    hedge: str = ""
    """`about`, `nearly`, `past`, `over`, `under`, `least` or `most`, from the words around it; else empty."""
    date: tuple[int, int, int] = (0, 0, 0)
    """Year, month and day; 0 if not given."""
    weak: bool = False
    """A small number in words, which often only refers to something (`the two countries`)."""

    @property
    def limit(self) -> bool:
        """Whether it is only a limit that a figure is above or below."""
        return self.hedge in _SIDES

    def states(self, seen: Quantity) -> bool:
        """Return whether `seen` in a source supports this figure, within its written precision."""
        if "date" in (self.kind, seen.kind):
            return _same_date(self, seen)
        if (
            "ordinal" in (self.kind, seen.kind)
            and self.kind != seen.kind
            and not (self.unit and self.unit == seen.unit)
        ):
            # round four is the fourth round, but the 17th place is not 17
            return bool(self.value == seen.value and self.weak and seen.weak and not (self.unit or seen.unit))
        if not fits(self.unit, seen.unit):
            return False
        if self.kind == "year" and self.written.endswith(("s", "年代")):
            return bool(self.value <= seen.value < self.value + 10)
        difference: float = abs(seen.value) - abs(self.value)
        step: float = 2 * self.half * 10 ** _trailing_zeros(self.written)
        slack = 1e-9 * max(1.0, abs(self.value))
        match self.hedge:
            case "about":
                return abs(difference) <= max(step / 2, 2 * self.half) + slack
            case "over" | "least" | "past":
                return -self.half - slack <= difference <= step + slack
            case "under" | "most" | "nearly":
                return -step - slack <= difference <= self.half + slack
        zeros = _trailing_zeros(self.written)
        if zeros >= 2 and zeros > _trailing_zeros(seen.written) and _significant(self.written) >= 2 and not seen.hedge:
            return bool(abs(difference) <= self.half * 10**zeros + slack)  # 27,800 for 27,816
        # a value in a converted unit is rounded twice
        converted = (
            self.unit and self.half and abs(difference) <= 1.2 * self.half and self.written[-1:] != seen.written[-1:]
        )
        return abs(difference) <= self.half + slack or bool(converted)

    def rounds(self, seen: Quantity) -> bool:
        """Return whether this may be `seen` rounded to the last of its digits that is not zero: 550万 for 5,509,733."""
        half: float = self.half * 10 ** _trailing_zeros(self.written)
        return _significant(self.written) > 1 and abs(seen.value - self.value) <= half

    def bounds(self, seen: Quantity) -> bool | None:
        """Return whether `seen` is on the hedge's side of this limit; None if this is not a limit, or both are too close.

        Neither may be negative: a deficit of more than 3% is one of -4%.
        """
        side = _SIDES.get(self.hedge, 0) * (seen.value - self.value)
        if not self.limit or seen.hedge or min(self.value, seen.value) < 0:
            return None
        if abs(side) <= seen.half:
            return True if not side and self.hedge in ("least", "most") else None
        return side > 0


def fits(claimed: str, seen: str) -> bool:
    """Return whether two dimensions can be the same.  A figure without a unit fits any."""
    return claimed == seen or not claimed or not seen or {claimed, seen} == {"cny", "jpy"}


def _trailing_zeros(written: str) -> int:
    digits = re.sub(r"\D", "", (re.search(r"\d[\d,.]*", written) or [""])[0].partition(".")[0])
    return len(digits) - len(digits.rstrip("0")) if "." not in written else 0


def _significant(written: str) -> int:
    return len(re.sub(r"\D", "", (re.search(r"\d[\d,.]*", written) or [""])[0]).strip("0"))


def _same_date(claimed: Quantity, seen: Quantity) -> bool:
    if claimed.kind == "date" and seen.kind == "date":
        return all(not a or not b or a == b for a, b in zip(claimed.date, seen.date, strict=True)) and not (
            claimed.date[2] and not seen.date[2] and seen.date[0] != claimed.date[0]
        )
    if claimed.kind == "year":
        return claimed.value == seen.date[0]
    return False
