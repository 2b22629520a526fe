"""`Judges`: the verifiers of this installation, their thresholds, and what they said before."""

from __future__ import annotations

from collections.abc import Callable

from research.citations.verifiers import CAREFUL, CROSS_ENCODER, MODEL, TRUSTED, Thresholds, Verdicts, Verifier
from research.errors import ConfigError


def _unavailable(name: str) -> Verifier:
    raise ConfigError(f"verifier {name!r} cannot be opened here")


class Judges:
    """What a run needs of its judge."""

    def __init__(
        self,
        open_verifier: Callable[[str], Verifier] = _unavailable,
        measured: Callable[[str], Thresholds | None] = lambda name: None,
    ) -> None:
        """`open_verifier` returns the verifier of a name; `measured` the thresholds of a judge that was calibrated."""
        self.open = open_verifier
        self._measured = measured
        self.verdicts = Verdicts()

    def thresholds(self, name: str) -> Thresholds:
        """Return the measured thresholds of a judge, or those of its kind."""
        measured = self._measured(name)
        if measured is not None:
            return measured
        if name.startswith(CROSS_ENCODER):
            return CAREFUL
        return TRUSTED if name.startswith(MODEL) else Thresholds()
