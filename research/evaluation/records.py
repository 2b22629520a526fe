"""What is kept of an evaluation: its plan, and one row for each question and recipe, in the store beside the runs.

A row is kept before its run begins, so that whoever goes on after a crash finds the run and goes on with it, too.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Struct

from research import decoding
from research.desk import Keeper
from research.errors import ConfigError
from research.evaluation.measures import Scores


class Row(Struct, frozen=True, omit_defaults=True):
    """One question asked of one recipe."""

    evaluation: str
    recipe: str
    """`Candidate.key`; of an oracle, without the answer it is told."""
    question: str
    """Its id."""
    asked: str
    """Digest of the question with its gold answers."""
    run: str
    """Id of the run."""
    outcome: str = ""
    """Empty until the run has ended and was measured."""
    answer: str = ""
    """Its beginning."""
    scores: Scores = Scores()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    """As in `RunView`."""
    cost_usd: float | None = None
    """None when the price is unknown."""
    seconds: float = 0.0
    judge: str = ""
    """The model that judged the report, once it has."""
    judge_usd: float | None = 0.0
    """What that took; None when its price is unknown."""

    @property
    def key(self) -> str:
        return f"{self.evaluation}/{self.recipe}/{self.asked}"

    @property
    def done(self) -> bool:
        return self.outcome != ""


class Mark(Struct, frozen=True):
    """What of a row says how far it is; the fields as there."""

    recipe: str
    asked: str
    outcome: str = ""
    judge: str = ""

    @property
    def done(self) -> bool:
        return self.outcome != ""


class Records:
    """The rows of one evaluation."""

    def __init__(self, keeper: Keeper, evaluation: str) -> None:
        """Raises `ConfigError` for a name that could not stand in a tag."""
        name = " ".join(evaluation.split())
        if not 0 < len(name) <= 60 or "/" in name or not name.isprintable():
            raise ConfigError(f"evaluation name {evaluation[:80]!r}: 1 to 60 characters without / are accepted")
        self.name = name
        self._keeper = keeper

    @property
    def tag(self) -> str:
        """What its runs are tagged with."""
        return f"eval:{self.name}"

    def begun(self) -> bytes | None:
        """What `begin` kept last."""
        return next(iter(self._keeper.kept("evaluation", f"{self.name}/")), None)

    def begin(self, body: bytes) -> None:
        """Keep what is to be done, before anything is: whoever finds the evaluation can go on with it."""
        self._keeper.keep("evaluation", f"{self.name}/", body)

    def rows(self) -> dict[str, Row]:
        """By key."""
        kept = self._keeper.kept("row", f"{self.name}/")
        return {row.key: row for row in (decoding.decode(body, Row) for body in kept)}

    def marks(self) -> list[Mark]:
        """Of every row, for who only counts them: a row says a lot more."""
        return [decoding.decode(body, Mark) for body in self._keeper.kept("row", f"{self.name}/")]

    def keep(self, row: Row) -> None:
        self._keeper.keep("row", row.key, msgspec.json.encode(row))

    def forget(self, asked: Collection[str]) -> None:
        """The rows of these questions, by their digests; the runs stay."""
        for key, row in self.rows().items():
            if row.asked in asked:
                self._keeper.drop("row", key)

    def drop(self) -> None:
        """Forget the evaluation with all of its rows; the runs stay."""
        for key in self.rows():
            self._keeper.drop("row", key)
        self._keeper.drop("evaluation", f"{self.name}/")
