"""The offline model `extractive`: not a language model, but rules that plan, search, calculate and quote.

Its only state is the messages.  May import `protocols`, `citations`, `models`, `plugins` and what is below them."""

from __future__ import annotations

from collections.abc import Iterator

from research.models.extractive.knowing import Knowing
from research.models.host import Host
from research.plugins import provider
from research.text import estimate_tokens
from research.types import Completion, Delta, Model, Request, Usage


class ExtractiveModel(Knowing):
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

    def price(self, usage: Usage) -> float:
        """Return 0: it runs on this machine."""
        return 0.0


@provider("Offline model", local=True, written_by="rules")
def extractive(name: str, host: Host) -> Model:
    """Finds, calculates and quotes without a language model, a key or a network."""
    return ExtractiveModel()
