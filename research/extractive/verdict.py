"""What one look at the evidence comes to: steps to take, or the end with what was found."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from research.extractive.evidence import Fact
from research.extractive.question import Question, Target


class Finding(Struct, frozen=True):
    """A fact that answers one part of the question."""

    subject: str
    target: Target
    fact: Fact


class Computation(Struct, frozen=True):
    """Code that was run, and what it printed."""

    code: str
    result: str


class Action(Struct, frozen=True):
    name: str
    arguments: dict[str, Any]
    thought: str


class Reading(Struct, frozen=True):
    """What passages of prose say."""

    best: tuple[Fact, ...]
    """The sentences that answer best, the very best first."""
    others: tuple[Fact, ...]
    """One sentence of every other document that is cited."""
    span: str = ""
    """The short answer, as the first of `best` has it; or `yes` or `no`."""
    known: tuple[str, ...] = ()
    """Names of the question that the documents hold."""
    unknown: tuple[str, ...] = ()
    """Names of the question that none of them holds."""
    unsaid: tuple[str, ...] = ()
    """Words of the question that neither the best sentence has nor the one that led to it."""
    stated: bool = True
    """Whether what is asked is said at all; else the documents only speak of the things named."""

    @property
    def quotes(self) -> tuple[Fact, ...]:
        """All that is cited, in that order."""
        return (*self.best, *self.others)


class Verdict(Struct, frozen=True):
    """Either actions to take, or the end: findings (empty when there is no evidence)."""

    question: Question
    actions: tuple[Action, ...] = ()
    findings: tuple[Finding, ...] = ()
    computed: Computation | None = None
    chosen: str = ""
    """The member of the group, or the winner of the comparison."""
    group: tuple[Finding, ...] = ()
    """What the group was read from, and the figure of each member."""
    missing: tuple[str, ...] = ()
    """What was looked for and not found."""
    quotes: tuple[Fact, ...] = ()
    """For questions in free words: the sentences that cover them."""
    reading: Reading | None = None
    """What prose says."""
