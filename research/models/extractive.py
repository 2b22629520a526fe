"""`extractive`: the offline default.  Not a language model; see `research.extractive`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from research.extractive.evidence import Evidence
from research.extractive.solve import Solver
from research.extractive.write import answer
from research.protocols.tagged import write_call
from research.registry import provider
from research.text import estimate_tokens, language_of
from research.types import Completion, Delta, Model, Request, Usage

if TYPE_CHECKING:
    from research.workbench import Workbench


class ExtractiveModel:
    """Plans queries from the question, reads what comes back, calculates with the python tool, and quotes."""

    name = "extractive"
    native = False

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        text = ""
        for piece in self._pieces(request):
            text += piece
            yield Delta(piece)
        prompt = sum(estimate_tokens(message.content) for message in request.messages)
        usage = Usage(prompt, estimate_tokens(text), estimated=True, cost_usd=0.0)
        yield Completion(text, usage=usage)

    def _pieces(self, request: Request) -> Iterator[str]:
        evidence = Evidence(request.messages)
        verdict = Solver(evidence).verdict()
        if verdict.actions and request.purpose == "act":
            thoughts = " ".join(dict.fromkeys(action.thought for action in verdict.actions))
            yield f"<think>{thoughts}</think>\n"
            for action in verdict.actions:
                yield write_call(action.name, **action.arguments) + "\n"
            return
        visits = (step for step in evidence.steps if step.name == "visit" and step.facts)
        pages = list(dict.fromkeys(step.facts[0].title for step in visits))
        queries = [str(step.arguments.get("query")) for step in evidence.steps if step.name == "search"]
        yield "<think>Nothing more to look up: write what the sources say.</think>\n<answer>"
        yield from answer(verdict, language_of(evidence.question), queries, pages).splitlines(keepends=True)
        yield "</answer>"


@provider("Extractive (offline)")
def extractive(name: str, workbench: Workbench) -> Model:
    """Finds, calculates and quotes without a language model, a key or a network."""
    return ExtractiveModel()
