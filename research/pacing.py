"""How often each kind of model may be asked, by all processes together."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from research import registry
from research.errors import ConfigError
from research.store import Store

SETTING = "WORKBENCH_RATE_LIMITS"


def rates(text: str) -> dict[str, float]:
    """Requests a minute by kind of model, from `openai=60,anthropic=30`.  Raises `ConfigError`."""
    found: dict[str, float] = {}
    kinds = registry.provider.names()
    for part in filter(None, (each.strip() for each in text.split(","))):
        kind, _, number = (each.strip() for each in part.partition("="))
        if kind not in kinds:
            raise ConfigError(f"{SETTING}: unknown kind of model {kind!r}; known: {', '.join(kinds)}")
        if kind in found:
            raise ConfigError(f"{SETTING}: {kind} is limited twice")
        try:
            rate = float(number)
        except ValueError:
            rate = 0.0
        if not 0 < rate < float("inf"):
            raise ConfigError(f"{SETTING}: {part!r}: write KIND=NUMBER, a number of requests a minute above 0")
        found[kind] = rate
    return found


class Pacing:
    """Says how long to wait before a model is asked: `pacing("openai:NAME")` takes a turn, and gives seconds.

    Turns are kept in the store that all users have in common; it is opened when the first turn is taken.
    """

    def __init__(self, rates: Mapping[str, float], store: Callable[[], Store]) -> None:
        self._rates = rates
        self._store = store

    def __call__(self, model: str) -> float:
        kind = model.partition(":")[0]
        rate = self._rates.get(kind)
        return 0.0 if rate is None else self._store().pace(f"model:{kind}", rate)
