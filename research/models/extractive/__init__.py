"""The offline model `extractive`: not a language model, but rules that plan, search, calculate and quote.

Its only state is the messages.  May import `protocols`, `citations`, `models`, `plugins` and what is below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from research.models.host import Host
from research.plugins import provider
from research.text import estimate_tokens
from research.types import Completion, Delta, Model, Request, Source, Usage

if TYPE_CHECKING:
    from research.citations.checking import TableFinding
    from research.citations.labelled import Cell, Told
    from research.quantities import Quantity


class ExtractiveModel:
    """Derives queries from the question, reads the results, calculates with the python tool, and quotes."""

    name = "extractive"
    native = False
    verbatim = True

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        """Yield the reply as deltas, then its completion."""
        from research.models.extractive.roles import reply  # here: a list of the models does without the rules

        text = ""
        for piece in reply(request):
            text += piece
            yield Delta(piece)
        prompt = sum(estimate_tokens(message.content) for message in request.messages)
        yield Completion(text, usage=Usage(prompt, estimate_tokens(text), estimated=True, cost_usd=0.0))

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

    def price(self, usage: Usage) -> float:
        """Return 0: it runs on this machine."""
        return 0.0


@provider("Offline model", local=True, written_by="rules")
def extractive(name: str, host: Host) -> Model:
    """Finds, calculates and quotes without a language model, a key or a network."""
    return ExtractiveModel()
