"""The stored rows of an evaluation: one for each question and recipe, in the store beside the runs.

A row is stored before its run starts, so that an evaluation that resumes after a crash finds the run and resumes it too.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Struct

from research.errors import ConfigError
from research.evaluation.scorers import Scores
from research.store import EVALUATED, KeyValue
from research.store.saved import readable


class Row(Struct, frozen=True, omit_defaults=True):
    """The result of one recipe on one question."""

    evaluation: str
    recipe: str
    """`Candidate.key`, which does not include the answer given to an oracle."""
    question: str
    """Id of the question."""
    asked: str
    """`Question.digest`."""
    run: str
    """Id of the run."""
    outcome: str = ""
    """Empty until the run has ended and is measured."""
    answer: str = ""
    """The beginning of the answer."""
    scores: Scores = Scores()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    """As in `RunView`: some token counts are estimates."""
    cost_usd: float | None = None
    """None if the price is unknown."""
    seconds: float = 0.0
    judge: str = ""
    """The model that judged the report; empty until then."""
    judge_usd: float | None = 0.0
    """Cost of judging; None if the price is unknown."""
    trial: int = 0
    """Which repetition of the question, from 0."""
    annotations: dict[str, str] = {}
    """By annotator, which is better, the report or what it was judged against: `report`, `reference` or `tie`."""
    seed: int | None = None
    """Seed sent to services that take one; None: not sent."""
    leaks: tuple[str, ...] = ()
    """Addresses of the sources, or names of the tools, whose results are a copy of the dataset (`leaks`)."""

    @property
    def key(self) -> str:
        trial = f"/{self.trial}" if self.trial else ""  # rows of earlier versions keep their key
        return f"{self.evaluation}/{self.recipe}/{self.asked}{trial}"

    @property
    def done(self) -> bool:
        return self.outcome != ""


class Mark(Struct, frozen=True):
    """The fields of a row that tell its progress, for decoding only these."""

    recipe: str
    asked: str
    trial: int = 0
    outcome: str = ""
    judge: str = ""

    @property
    def done(self) -> bool:
        return self.outcome != ""


class Records:
    """The rows of one evaluation."""

    def __init__(self, keeper: KeyValue, evaluation: str) -> None:
        """Raises `ConfigError` for a name that cannot be part of a tag."""
        name = " ".join(evaluation.split())
        if not 0 < len(name) <= 60 or "/" in name or not name.isprintable():
            raise ConfigError(f"evaluation name {evaluation[:80]!r}: use 1 to 60 printable characters without /")
        self.name = name
        self._keeper = keeper

    @property
    def tag(self) -> str:
        """The tag of the evaluation's runs."""
        return f"{EVALUATED}{self.name}"

    def plan(self) -> bytes | None:
        """Return the plan that `keep_plan` stored last."""
        return next(iter(self._keeper.values("evaluation", f"{self.name}/")), None)

    def keep_plan(self, body: bytes) -> None:
        """Store the plan, before anything runs, so that the evaluation can resume from the store alone."""
        self._keeper.put("evaluation", f"{self.name}/", body)

    def rows(self) -> dict[str, Row]:
        """Return the rows by key."""
        bodies = self._keeper.values("row", f"{self.name}/")
        return {row.key: row for row in readable(bodies, Row, "result")}

    def marks(self) -> list[Mark]:
        """Return the marks of all rows, which decode faster than the rows; for counting."""
        return readable(self._keeper.values("row", f"{self.name}/"), Mark, "result")

    def keep(self, row: Row) -> None:
        self._keeper.put("row", row.key, msgspec.json.encode(row))

    def forget(self, asked: Collection[str]) -> None:
        """Delete the rows of the questions with these digests; the runs stay."""
        for key, row in self.rows().items():
            if row.asked in asked:
                self._keeper.remove("row", key)

    def drop(self) -> None:
        """Delete the evaluation and all of its rows; the runs stay."""
        for key in self.rows():
            self._keeper.remove("row", key)
        self._keeper.remove("evaluation", f"{self.name}/")
