"""`Judges`: the verifiers of this installation, their thresholds, and their earlier verdicts."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Final

import msgspec

from research.citations.verification import CAREFUL, CROSS_ENCODER, MODEL, TRUSTED, Pair, Thresholds, Verifier
from research.errors import ConfigError
from research.types import Judgement


def _unavailable(name: str) -> Verifier:
    raise ConfigError(f"verifier {name!r} cannot be opened here")


class Judges:
    """What runs need of their judges, none of which is asked the same twice in a process.  Thread-safe."""

    MOST: Final = 20_000
    """Judgements that are remembered."""

    def __init__(
        self,
        open_verifier: Callable[[str], Verifier] = _unavailable,
        measured: Callable[[str], Thresholds | None] = lambda name: None,
    ) -> None:
        """`open_verifier` returns the verifier of a name; `measured` the thresholds of a judge that was calibrated."""
        self.open = open_verifier
        self._measured = measured
        self._said: dict[str, Judgement] = {}
        self._lock = threading.Lock()

    def thresholds(self, name: str) -> Thresholds:
        """Return the measured thresholds of a judge, or those of its kind."""
        usual = CAREFUL if name.startswith(CROSS_ENCODER) else TRUSTED if name.startswith(MODEL) else Thresholds()
        return self._measured(name) or usual

    def recall(self, judge: str, pair: Pair) -> Judgement | None:
        """Return what the judge said of exactly this claim and these passages, if it did."""
        return self._said.get(_digest(judge, pair))

    def remember(self, judge: str, pair: Pair, judgement: Judgement) -> None:
        """Record a judgement; the oldest gives way."""
        with self._lock:
            self._said[_digest(judge, pair)] = judgement
            if len(self._said) > self.MOST:
                del self._said[next(iter(self._said))]


def _digest(judge: str, pair: Pair) -> str:
    return hashlib.sha256(msgspec.json.encode([judge, pair.claim, pair.passages])).hexdigest()
