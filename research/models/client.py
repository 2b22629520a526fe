"""The base of the clients of model services: send, drop rejected parameters and retry, and look up the price."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from research.errors import ProviderError
from research.models.endpoint import Endpoint
from research.models.failures import BadGeneration, NoTools, RequestRejected
from research.models.redacted import redacted
from research.models.service import Service
from research.models.usage import believed, unreadable
from research.types import Completion, Delta, Request, Usage

_MOST_TRIES = 50
"""Most forms of a request tried: each refusal teaches one thing, and a server could go on forever."""


class ServedModel(ABC):
    """One model of one server.

    Safe to share between threads.  Closing the iterator that `stream` returns closes the connection.
    """

    def __init__(self, name: str, model: str, service: Service, endpoint: Endpoint, *, native: bool) -> None:
        """`name` is the name in a recipe, `model` the server's name."""
        self.name = name
        self.native = native
        """Whether the model can be offered tools; False once its service has refused them."""
        self._model = model
        self._service = service
        self._endpoint = endpoint
        self._rejected: set[str] = set()
        """Parameters that this model has rejected."""

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        """Yield deltas, then one `Completion` (see `assembly.with_calls`).

        The key of the server is redacted.  Raises `ProviderError`, also for a reply that ends early: it never yields a
        partial `Completion`.
        """
        for _ in range(_MOST_TRIES):
            body = self._body(request)
            try:
                with unreadable(self._service.host):
                    pieces = redacted(self._stream(body, len(request.messages)), self._service.secret)
                    for piece in pieces:
                        yield believed(piece) if isinstance(piece, Completion) else piece
                return
            except BadGeneration as failed:
                # The service could not parse the model's text; our parser may, or asks the model again.
                meant = "tool_calls" if not failed.written or set("{<[") & set(failed.written) else "stop"
                yield Completion(failed.written, finish_reason=meant)
                return
            except RequestRejected as rejection:
                # Another thread may have learned it while this request was on its way.
                if not self._adapt(rejection, body) and self._body(request) == body:
                    self.native = self.native and not rejection.no_tools
                    raise
            except NoTools:
                self.native = False
                raise
        raise ProviderError(f"{self._service.host} refuses every form of the request")

    def price(self, usage: Usage) -> float | None:
        """Return the price of a call with this usage in US dollars; None if it is unknown."""
        from research.models.prices import cost_usd, stated_cost

        if self._endpoint.prices is not None:
            return stated_cost(self._endpoint.prices, usage)

        return cost_usd(self._service.url, self._model, usage)

    @cached_property
    def window(self) -> int:
        """Size of the context window in tokens, of the endpoint or from the price table; 0 if unknown."""
        if self._endpoint.window:
            return self._endpoint.window
        from research.models.prices import window

        return window(self._service.url, self._model)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parameters that the service has rejected so far, sorted."""
        return tuple(sorted(self._rejected))

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Any]:
        """Return the body to send, without the rejected parameters."""

    @abstractmethod
    def _stream(self, body: dict[str, Any], position: int) -> Iterator[Delta | Completion]:
        """Send one request and stream its reply.  Raises `RequestRejected`, or another `ProviderError`."""

    @abstractmethod
    def _adapt(self, rejection: RequestRejected, body: dict[str, Any]) -> bool:
        """Record what was rejected; return whether a new body of the request differs and may be accepted.

        A rejected parameter is never sent again, so the retries end.
        """
