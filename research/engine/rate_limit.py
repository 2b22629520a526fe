"""Rate limits on requests to models, shared by all processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from research import plugins
from research.errors import ConfigError
from research.store import Leases

SETTING = "WORKBENCH_RATE_LIMITS"


def parse_rates(text: str) -> dict[str, float]:
    """Return the requests per minute by kind of model, from text such as `openai=60,anthropic=30`.

    Raises `ConfigError`.
    """
    found: dict[str, float] = {}
    kinds = plugins.provider.names()
    for part in filter(None, (each.strip() for each in text.split(","))):
        kind, _, number = (each.strip() for each in part.partition("="))
        if kind not in kinds:
            raise ConfigError(f"{SETTING}: unknown kind of model {kind!r}; known: {', '.join(kinds)}")
        if kind in found:
            raise ConfigError(f"{SETTING}: {kind} has two limits; keep one")
        try:
            rate = float(number)
        except ValueError:
            rate = 0.0
        if not 0 < rate < float("inf"):
            raise ConfigError(
                f"{SETTING}: {part!r}: write KIND=NUMBER, where NUMBER is the requests per minute, above 0"
            )
        found[kind] = rate
    return found


class RateLimiter:
    """Tells callers how long to wait before a request: `limiter("openai:NAME")` reserves a turn, and returns seconds.

    Turns are stored in the store common to all users, which is opened for the first turn.
    """

    def __init__(self, rates: Mapping[str, float], store: Callable[[], Leases]) -> None:
        self._rates = rates
        self._store = store

    def __call__(self, model: str) -> float:
        kind = model.partition(":")[0]
        rate = self._rates.get(kind)
        return 0.0 if rate is None else self._store().take_turn(f"model:{kind}", rate)
