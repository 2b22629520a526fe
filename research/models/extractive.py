"""`extractive`: the offline default.  Not a language model; see `research.extractive`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from research.extractive.roles import reply
from research.registry import provider
from research.text import estimate_tokens
from research.types import Completion, Delta, Model, Request, Usage

if TYPE_CHECKING:
    from research.workbench import Workbench


class ExtractiveModel:
    """Plans queries from the question, reads what comes back, calculates with the python tool, and quotes."""

    name = "extractive"
    native = False

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        text = ""
        for piece in reply(request):
            text += piece
            yield Delta(piece)
        prompt = sum(estimate_tokens(message.content) for message in request.messages)
        yield Completion(text, usage=Usage(prompt, estimate_tokens(text), estimated=True, cost_usd=0.0))

    def price(self, usage: Usage) -> float:
        """Nothing: it runs here."""
        return 0.0


@provider("Extractive (offline)")
def extractive(name: str, workbench: Workbench) -> Model:
    """Finds, calculates and quotes without a language model, a key or a network."""
    return ExtractiveModel()
