"""The result of one pass over the evidence: the steps to take, or the findings of the answer."""

from __future__ import annotations

from itertools import chain
from typing import Any, Literal

from msgspec import Struct

from research.models.extractive.evidence import Fact
from research.models.extractive.question import Question, Target
from research.models.extractive.rankings import Bound, Ranking, Row
from research.models.extractive.table_plan import Plan
from research.models.extractive.table_reading import Rows


class Finding(Struct, frozen=True):
    """A fact that answers one part of the question."""

    subject: str
    target: Target
    fact: Fact
    item: str = ""
    """The item that is asked for, if the fact is a list: `Finland 709 km`."""


class Hindrance(Struct, frozen=True):
    """Why figures are stated, but not calculated with."""

    kind: Literal["same", "number", "units", "measures"]
    """The same figure twice, a line without a number, or two units or measures."""
    one: str = ""
    two: str = ""


class Derived(Struct, frozen=True):
    """A measure calculated from the two findings."""

    kind: str
    value: str


class Ranked(Struct, frozen=True):
    """What was found over all countries of a place."""

    ranking: Ranking
    label: str
    rows: tuple[Row, ...]
    """The countries asked for, in order; those that pass the threshold; for a sum or a mean, the members of a group."""
    count: int = 0
    """How many they are; more than the rows, if equal figures are not all listed."""
    before: tuple[Row, ...] = ()
    """The countries before the one at the rank asked for."""
    after: tuple[Row, ...] = ()
    """The next countries."""
    territories: tuple[Row, ...] = ()
    """Territories with a figure beyond the last country's, which are not ranked."""
    covered: tuple[Fact, ...] = ()
    """The lines that say how many countries of the place, or of each of its regions, have a figure."""
    without: tuple[str, ...] = ()
    """The members of a group that no list has a figure of."""
    heads: tuple[Fact, ...] = ()
    """The lines that state the sum or mean."""
    value: str = ""
    """The sum or mean."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The lines to cite."""
        rows = (*self.before, *self.rows, *self.after, *self.territories)
        heads = (*self.covered, *self.heads)
        return tuple(dict.fromkeys([*heads, *(row.fact for row in rows)]))


class TableAnswer(Struct, frozen=True):
    """What a query over a table returned, with what was asked for."""

    plan: Plan
    rows: Rows

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The lines to keep in a report."""
        return self.rows.facts[:1]


class Lead(Struct, frozen=True):
    """The country that a description in the question means, with the lines that say so."""

    name: str
    findings: tuple[Finding, ...] = ()
    """Lists of other countries, or the value that describes it; then the figures of all countries that it was chosen from."""
    ranked: Ranked | None = None

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The lines to cite."""
        return (*(self.ranked.facts if self.ranked else ()), *(finding.fact for finding in self.findings))


class Action(Struct, frozen=True):
    """A tool call to make, and the thought to state with it."""

    name: str
    arguments: dict[str, Any]
    thought: str


class Reading(Struct, frozen=True):
    """An answer from passages of prose."""

    best: tuple[Fact, ...]
    """The sentences that answer best, in descending order."""
    others: tuple[Fact, ...]
    """One sentence of each other document that is cited."""
    span: str = ""
    """The short answer: the only name, number or date in the first sentence, if one is asked for."""
    unknown: tuple[str, ...] = ()
    """Names of the question that no document contains."""
    stated: bool = True
    """Whether the sentences answer the question; if not, the documents only mention the things named."""
    likely: bool = False
    """Whether the first sentence probably answers a question that none certainly answers."""

    @property
    def quotes(self) -> tuple[Fact, ...]:
        """All cited sentences, the best first."""
        return (*self.best, *self.others)


class Verdict(Struct, frozen=True):
    """Either actions to take, or the findings, which are empty if there is no evidence."""

    question: Question
    actions: tuple[Action, ...] = ()
    findings: tuple[Finding, ...] = ()
    computed: bool = False
    """Whether the python tool has calculated with them."""
    chosen: str = ""
    """The member of the group, or the winner of the comparison."""
    group: tuple[Finding, ...] = ()
    """The list that the group was read from, and the figure of each member; for a change, that of each year."""
    missing: tuple[str, ...] = ()
    """Parts of the question that were searched and not found."""
    quotes: tuple[Fact, ...] = ()
    """For free-form questions: lines that together contain the question's words."""
    closest: tuple[Fact, ...] = ()
    """For a question without an answer: the facts that come nearest to it."""
    reading: Reading | None = None
    """The answer from prose."""
    hindrance: Hindrance | None = None
    """Why no calculation was made from the findings, although the question asks for one."""
    ranked: Ranked | None = None
    """The answer from comparisons of all countries."""
    derived: Derived | None = None
    """The measure calculated from the two findings."""
    led: tuple[Lead, ...] = ()
    """The countries that the question describes, in the order found; the findings are about the last one."""
    shared: tuple[str, ...] = ()
    """The items in the list of every member of the group, except the members `apart`, whose lists lack them."""
    apart: tuple[str, ...] = ()
    limit: Bound | None = None
    """The limit that the findings exceed or fall below; other members of the group do not."""
    holds: bool | None = None
    """The answer to a question for yes or no about an item of a list."""
    table: tuple[TableAnswer, ...] = ()
    """The answers from tables of the library, one for each part of the question."""
    doubt: tuple[str, ...] = ()
    """Columns or tables that the question does not tell apart."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that it states, each once."""
        told = [each.facts for each in (self.ranked, *self.led) if each]
        found = (each.fact for each in (*self.group, *self.findings))
        prose = self.reading.quotes if self.reading else self.quotes
        return tuple(dict.fromkeys((*prose, *found, *chain(*told))))

    @property
    def gaps(self) -> tuple[str, ...]:
        """The parts that a report with findings names as not found."""
        return self.missing if self.findings and (self.limit or not self.question.relation) else ()
