"""A model: it throws the die, then answers."""

from __future__ import annotations

from collections.abc import Iterator

from research.models.host import Host
from research.plugins import provider
from research.types import Completion, Delta, Model, Request, Usage


class Parrot:
    """Calls `dice` once, then says what it saw."""

    native = False

    def __init__(self, name: str) -> None:
        self.name = f"parrot:{name}"

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        seen = any("tool_response" in message.content for message in request.messages[1:])
        text = (
            "<answer>The die shows 4 [1].</answer>"
            if seen
            else '<tool_call>{"name": "dice", "arguments": {}}</tool_call>'
        )
        yield Delta(text)
        yield Completion(text, usage=Usage(10, 5, cost_usd=0.0))

    def price(self, usage: Usage) -> float:
        return 0.0


@provider("Parrot", local=True, written_by="script")
def parrot(name: str, host: Host) -> Model:
    """Throws a die and says what it shows."""
    return Parrot(name)
