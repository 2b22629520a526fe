"""Figures, years and dates in English and Chinese text, with their unit and precision.

Used to check citations, and to find and compare figures anywhere else.  May import `text`."""

from __future__ import annotations

from research.quantities.extraction import hedged, quantities, zh_value
from research.quantities.quantity import Quantity
from research.quantities.units import CURRENCIES

__all__ = ["CURRENCIES", "Quantity", "hedged", "quantities", "zh_value"]
