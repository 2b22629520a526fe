"""What the offline model knows of measures and tables, for the checker of citations (`citations.checking.KnowsMeasures`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from research.types import Source

if TYPE_CHECKING:
    from research.citations.checking import TableFinding
    from research.citations.labelled import Cell, Told
    from research.quantities import Quantity


class Knowing:
    """Reads statements in other words than those of the labels; its rules are loaded when they are used."""

    def meant(self, claim: str, said: Told, cells: Sequence[Cell]) -> tuple[Cell, bool] | None:
        """Return the labelled figure that a claim in other words is about, and whether it is the claim's; None if unclear."""
        from research.models.extractive.claimed import meant

        return meant(claim, said, cells)

    def compared(self, claim: str, said: Told, cells: Sequence[Cell]) -> list[tuple[Cell, Quantity | None]]:
        """Return the figures that a claim compares, that of its subject first, each with what it says of it; empty if unclear."""
        from research.models.extractive.compared import compared

        return compared(claim, said, cells)

    def places(self, text: str) -> list[str]:
        """Return the English names of the countries that a sentence names, by whatever name, in its order."""
        from research.models.extractive.claimed import places

        return places(text)

    def measure_of(self, text: str) -> str:
        """Return the label of the measure that a sentence is most likely about; empty if none is likely."""
        from research.models.extractive.claimed import measure_of

        return measure_of(text)

    def queries(self, claim: str, described: str, results: Mapping[str, Source | None]) -> list[str]:
        """Return the SQL, not in `results` yet, that finds what a claim says in the tables that are described."""
        from research.models.extractive.table_claims import queries

        return queries(claim, described, results)

    def tabled(self, claim: str, described: str, results: Mapping[str, Source | None]) -> TableFinding | None:
        """Return what these results say of a claim; None if it is unclear."""
        from research.models.extractive.table_claims import tabled

        return tabled(claim, described, results)
