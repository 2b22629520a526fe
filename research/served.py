"""What every client of a model service does alike: ask, leave out what is refused, ask again, and tell the price."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from research import wire
from research.types import Completion, Delta, Request, Usage


class ServedModel(ABC):
    """One model of one server.

    Safe to share between threads.  Closing the iterator that `stream` returns hangs up.
    """

    def __init__(self, name: str, model: str, server: wire.Server, *, native: bool) -> None:
        """`name` as in a recipe, `model` as the server calls it."""
        self.name = name
        self.native = native
        self._model = model
        self._server = server
        self._refused: set[str] = set()
        """Parameters that this model has refused."""

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        """Yield deltas, then one `Completion` (see `fragments.completion`).

        Raises `ProviderError`; a reply that broke off is never completed.
        """
        while True:
            body = self._body(request)
            try:
                return (yield from self._stream(body, position=len(request.messages)))
            except wire.Refusal as refusal:
                if not self._learn(refusal, body):
                    raise

    def price(self, usage: Usage) -> float | None:
        """US dollars of a call with that usage; None when the price is unknown."""
        from research.prices import cost_usd

        return cost_usd(self._server.url, self._model, usage)

    @cached_property
    def window(self) -> int:
        """Tokens of prompt and reply together, as far as the table of prices knows; 0: unknown."""
        from research.prices import window

        return window(self._server.url, self._model)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parameters that the service refused so far."""
        return tuple(sorted(self._refused))

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Any]:
        """The request as it is sent, without what was refused."""

    @abstractmethod
    def _stream(self, body: dict[str, Any], position: int) -> Iterator[Delta | Completion]:
        """One exchange.  Raises `wire.Refusal`, or another `ProviderError`."""

    @abstractmethod
    def _learn(self, refusal: wire.Refusal, body: dict[str, Any]) -> bool:
        """Whether the same request, written anew, may pass.  No body holds again what was refused: this ends."""
