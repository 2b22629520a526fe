"""Rate limits on requests to models, shared by all processes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from research import plugins
from research._util.bounds import named_numbers
from research.store import Leases

SETTING = "WORKBENCH_RATE_LIMITS"


class Rate(Struct, frozen=True):
    """What an endpoint allows in a minute; 0: no limit."""

    requests: float = 0.0
    tokens: float = 0.0
    shared: bool = True
    """Whether all users of the workbench share it; otherwise it is the user's own."""


def parse_rates(text: str, known: Collection[str] = ()) -> dict[str, float]:
    """Return the requests per minute by kind of model or endpoint, from text such as `openai=60,anthropic=30`.

    `known`: the names that are accepted; empty: the kinds of models.  Raises `ConfigError`.
    """
    return named_numbers(text, SETTING, known or plugins.provider.names(), positive=True)


class RateLimiter:
    """Tells callers how long to wait before a request: `limiter("openai:NAME")` reserves a turn, and returns seconds.

    Turns are stored in the store common to all users, opened for the first turn.
    """

    def __init__(self, rates: Mapping[str, Rate], store: Callable[[], Leases], user: str = "") -> None:
        self._rates = rates
        self._store = store
        self._user = user

    def __call__(self, model: str, tokens: int = 0) -> float:
        """Reserve a request to the model with that many tokens; return the seconds to wait for it.

        The first request does not wait; later ones wait until the rate allows their tokens.
        """
        kind = model.partition(":")[0]
        rate = self._rates.get(kind)
        if rate is None:
            return 0.0
        key = f"model:{kind}" if rate.shared else f"model:{self._user}:{kind}"
        wait_s = self._store().take_turn(key, rate.requests) if rate.requests else 0.0
        if rate.tokens and tokens:
            wait_s = max(wait_s, self._store().take_turn(f"{key}:tokens", rate.tokens / tokens))
        return wait_s
